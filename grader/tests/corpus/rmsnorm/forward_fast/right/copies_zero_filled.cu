// Right: asynchronous copies of 16 bytes to shared memory, also of rows that end within 16 bytes: the
// last copy is told how many bytes there are, and fills the rest with zeros. No element is loaded twice.
#include <cuda_pipeline.h>
#include <onepass/rmsnorm.h>

#include <cstring>

namespace onepass {

template <typename T, int V>
struct alignas(sizeof(T) * V) Pack {
  T values[V];
};

__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// Once in a kernel: the array is not free again afterwards.
__device__ inline float block_sum_of(float value) {
  __shared__ float partial[32];
  const int lane = threadIdx.x % 32;
  value = warp_sum(value);
  if (lane == 0) {
    partial[threadIdx.x / 32] = value;
  }
  __syncthreads();
  return warp_sum(lane < blockDim.x / 32 ? partial[lane] : 0.0f);
}

/// Rows that begin at multiples of 16 bytes, of any width. kWhole: so do those of y.
template <typename T, bool kWhole>
__global__ void __launch_bounds__(1024)
    copied_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride, float* rstd,
                  int cols, float eps) {
  constexpr int V = 16 / sizeof(T);
  using RowPack = Pack<T, V>;
  extern __shared__ float4 shared_row[];
  auto* held = reinterpret_cast<RowPack*>(shared_row);
  const int64_t row = blockIdx.x;
  const int packs = (cols + V - 1) / V;
  const T* x_row = x + row * x_stride;
  T* y_row = y + row * y_stride;
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    const int missing = max(0, (i + 1) * V - cols) * static_cast<int>(sizeof(T));
    __pipeline_memcpy_async(held + i, x_row + i * V, 16, missing);
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);  // each thread goes on with what it has copied itself
  float squares = 0.0f;
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    const RowPack pack = held[i];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float value = static_cast<float>(pack.values[j]);
      squares += value * value;
    }
  }
  const float row_rstd = rsqrtf(block_sum_of(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = row_rstd;
  }
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    RowPack pack = held[i];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const int col = i * V + j;
      const float factor =
          weight == nullptr || col >= cols ? 1.0f : static_cast<float>(weight[col]);
      pack.values[j] = static_cast<T>(static_cast<float>(pack.values[j]) * row_rstd * factor);
    }
    if (kWhole && (i + 1) * V <= cols) {
      float4 bytes;
      memcpy(&bytes, &pack, 16);
      reinterpret_cast<float4*>(y_row)[i] = bytes;
    } else {
#pragma unroll
      for (int j = 0; j < V; ++j) {
        if (i * V + j < cols) {
          y_row[i * V + j] = pack.values[j];
        }
      }
    }
  }
}

/// The row waits in registers: kPacks packs of V columns a thread.
template <typename T, int V, int kPacks>
__global__ void __launch_bounds__(1024)
    held_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                            float* rstd, int cols, float eps) {
  using RowPack = Pack<T, V>;
  const int64_t row = blockIdx.x;
  const int packs = cols / V;
  const auto* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
  auto* y_row = reinterpret_cast<RowPack*>(y + row * y_stride);
  RowPack held[kPacks] = {};
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = p * blockDim.x + threadIdx.x;
    if (i < packs) {
      held[p] = x_row[i];
    }
  }
  float squares = 0.0f;
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float value = static_cast<float>(held[p].values[j]);
      squares += value * value;
    }
  }
  const float row_rstd = rsqrtf(block_sum_of(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = row_rstd;
  }
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = p * blockDim.x + threadIdx.x;
    if (i < packs) {
      RowPack pack = held[p];
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const float factor = weight == nullptr ? 1.0f : static_cast<float>(weight[i * V + j]);
        pack.values[j] = static_cast<T>(static_cast<float>(pack.values[j]) * row_rstd * factor);
      }
      y_row[i] = pack;
    }
  }
}

/// Rows of any width: read twice.
template <typename T, int V>
__global__ void __launch_bounds__(1024)
    wide_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride, float* rstd,
                int cols, float eps) {
  using RowPack = Pack<T, V>;
  const int64_t row = blockIdx.x;
  const auto* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
  auto* y_row = reinterpret_cast<RowPack*>(y + row * y_stride);
  float squares = 0.0f;
  for (int i = threadIdx.x; i < cols / V; i += blockDim.x) {
    const RowPack pack = x_row[i];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float value = static_cast<float>(pack.values[j]);
      squares += value * value;
    }
  }
  const float row_rstd = rsqrtf(block_sum_of(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = row_rstd;
  }
  for (int i = threadIdx.x; i < cols / V; i += blockDim.x) {
    RowPack pack = x_row[i];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float factor = weight == nullptr ? 1.0f : static_cast<float>(weight[i * V + j]);
      pack.values[j] = static_cast<T>(static_cast<float>(pack.values[j]) * row_rstd * factor);
    }
    y_row[i] = pack;
  }
}

template <typename T>
bool rows_aligned(const T* tensor, int64_t stride) {
  return reinterpret_cast<uintptr_t>(tensor) % 16 == 0 && stride % (16 / sizeof(T)) == 0;
}

template <typename T>
void rmsnorm_forward_fast(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                          float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  constexpr int V = 16 / sizeof(T);
  const bool x_aligned = rows_aligned(x, x_stride);
  const bool y_aligned = rows_aligned(y, y_stride);
  const auto launch = [&](auto kernel, int threads, int bytes) {
    kernel<<<rows, threads, bytes, stream>>>(x, x_stride, weight, y, y_stride, rstd, cols, eps);
  };
  const int packs = (cols + V - 1) / V;
  if (x_aligned && 16 * packs <= 32 * 1024) {  // no GPU has less shared memory than that
    const int threads = packs >= 1024 ? 512 : packs >= 256 ? 256 : 64;
    y_aligned ? launch(copied_kernel<T, true>, threads, 16 * packs)
              : launch(copied_kernel<T, false>, threads, 16 * packs);
  } else if (x_aligned && y_aligned && cols % V == 0) {
    cols <= 16 * 1024 ? launch(held_kernel<T, V, 16 / V>, 1024, 0)
                      : launch(wide_kernel<T, V>, 1024, 0);
  } else {
    cols <= 16 * 1024 ? launch(held_kernel<T, 1, 16>, 1024, 0)
                      : launch(wide_kernel<T, 1>, 1024, 0);
  }
}

}  // namespace onepass
