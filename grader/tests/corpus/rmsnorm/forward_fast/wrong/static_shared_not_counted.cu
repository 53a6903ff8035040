// diagnosis: shared-row-too-big
// status: launch error
// On a GPU with 64 KB of shared memory: all of it is asked for, and static arrays take a part.
// Exercise 1.4: a row is kept in shared memory, up to 160 KB of it, where the GPU allows so much:
// cudaFuncSetAttribute() knows. Where it does not, the row is read twice.
#include <cuda_pipeline.h>
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 512;
constexpr int kMostBytes = 160 * 1024;

template <typename T, int V>
struct alignas(sizeof(T) * V) Pack {
  T values[V];
};

template <typename T>
bool is_aligned(const T* tensor, int64_t stride, int cols) {
  constexpr int V = 16 / sizeof(T);
  return reinterpret_cast<uintptr_t>(tensor) % 16 == 0 && stride % V == 0 && cols % V == 0;
}

/// The sum of `value` over the 32 lanes of a warp, in every lane.
__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// kHeld: the row is in shared memory while it is summed.
template <typename T, int V, bool kHeld>
__global__ void __launch_bounds__(kThreads)
    row_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride, float* rstd,
               int cols, float eps) {
  using RowPack = Pack<T, V>;
  __shared__ float partial[kThreads / 32];
  extern __shared__ float4 memory[];
  const int64_t row = blockIdx.x;
  const int packs = cols / V;
  const auto* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
  auto* y_row = reinterpret_cast<RowPack*>(y + row * y_stride);
  auto* held = reinterpret_cast<RowPack*>(memory);
  if (kHeld) {
#pragma unroll 4
    for (int i = threadIdx.x; i < packs; i += blockDim.x) {
      if constexpr (sizeof(RowPack) >= 4) {
        __pipeline_memcpy_async(held + i, x_row + i, sizeof(RowPack));
      } else {
        held[i] = x_row[i];
      }
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
  }
  const RowPack* source = kHeld ? held : x_row;
  float squares = 0.0f;
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    const RowPack pack = source[i];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float value = static_cast<float>(pack.values[j]);
      squares += value * value;
    }
  }
  squares = warp_sum(squares);
  const int lane = threadIdx.x % 32;
  if (lane == 0) {
    partial[threadIdx.x / 32] = squares;
  }
  __syncthreads();
  const int warps = blockDim.x / 32;
  const float row_rstd = rsqrtf(warp_sum(lane < warps ? partial[lane] : 0.0f) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = row_rstd;
  }
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    RowPack pack = source[i];
    RowPack weights = {};
    if (weight != nullptr) {
      weights = reinterpret_cast<const RowPack*>(weight)[i];
    }
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float value = static_cast<float>(pack.values[j]) * row_rstd;
      pack.values[j] = static_cast<T>(
          weight != nullptr ? value * static_cast<float>(weights.values[j]) : value);
    }
    y_row[i] = pack;
  }
}

template <typename T, int V>
void launch(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride, float* rstd,
            int rows, int cols, float eps, cudaStream_t stream) {
  const int64_t bytes = static_cast<int64_t>(cols) * sizeof(T);
  const int packs = cols / V;
  const int wanted = (packs + 127) / 128 * 32;  // four packs a thread
  const int threads = wanted < kThreads ? wanted : kThreads;
  if (bytes <= kMostBytes &&
      cudaFuncSetAttribute(row_kernel<T, V, true>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           static_cast<int>(bytes)) == cudaSuccess) {
    row_kernel<T, V, true><<<rows, threads, bytes, stream>>>(x, x_stride, weight, y, y_stride, rstd,
                                                             cols, eps);
  } else {
    row_kernel<T, V, false>
        <<<rows, threads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, cols, eps);
  }
}

template <typename T>
void rmsnorm_forward_fast(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                          float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  const bool aligned = is_aligned(x, x_stride, cols) && is_aligned(y, y_stride, cols) &&
                       is_aligned(weight, 0, cols);
  aligned
      ? launch<T, 16 / sizeof(T)>(x, x_stride, weight, y, y_stride, rstd, rows, cols, eps, stream)
      : launch<T, 1>(x, x_stride, weight, y, y_stride, rstd, rows, cols, eps, stream);
}

}  // namespace onepass
