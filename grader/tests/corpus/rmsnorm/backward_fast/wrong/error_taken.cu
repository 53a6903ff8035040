// diagnosis: error-taken-away
// says: takes the error away
// Where no memory is to be had the launcher returns, and clears the error that says so.
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 512;
constexpr int kWarps = kThreads / 32;
constexpr int kColumns = 16;  // of a thread
constexpr int kNarrow = kThreads * kColumns;

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

/// Before it is called again there has to be a barrier.
__device__ inline float block_sum_of(float value) {
  __shared__ float partial[kWarps];
  const int lane = threadIdx.x % 32;
  value = warp_sum(value);
  if (lane == 0) {
    partial[threadIdx.x / 32] = value;
  }
  __syncthreads();
  return warp_sum(lane < kWarps ? partial[lane] : 0.0f);
}

template <typename T>
__device__ inline float x_hat_for_dweight(float x_hat, CastOrder order) {
  return order == CastOrder::llama ? static_cast<float>(static_cast<T>(x_hat)) : x_hat;
}

/// A few blocks walk through all rows. A thread has the same columns in each, and keeps their sums.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    one_pass_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                    const float* rstd, T* dx, int64_t dx_stride, float* partial, unsigned* ticket,
                    T* dweight, CastOrder order, int rows, int cols) {
  using RowPack = Pack<T, V>;
  constexpr int kPacks = kColumns / V;
  const int packs = cols / V;
  float sums[kPacks][V] = {};
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const auto* dy_row = reinterpret_cast<const RowPack*>(dy + row * dy_stride);
    const auto* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
    auto* dx_row = reinterpret_cast<RowPack*>(dx + row * dx_stride);
    RowPack dy_held[kPacks] = {};
    RowPack x_held[kPacks] = {};
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int i = p * kThreads + threadIdx.x;
      if (i < packs) {
        dy_held[p] = dy_row[i];
        x_held[p] = x_row[i];
      }
    }
    const float row_rstd = rstd[row];
    float dot = 0.0f;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int i = p * kThreads + threadIdx.x;
      if (i < packs) {
#pragma unroll
        for (int j = 0; j < V; ++j) {
          const float dy_value = static_cast<float>(dy_held[p].values[j]);
          const float x_hat = static_cast<float>(x_held[p].values[j]) * row_rstd;
          dot += static_cast<float>(weight[i * V + j]) * dy_value * x_hat;
          sums[p][j] += dy_value * x_hat_for_dweight<T>(x_hat, order);
        }
      }
    }
    const float mean = block_sum_of(dot) / cols;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int i = p * kThreads + threadIdx.x;
      if (i < packs) {
        RowPack pack;
#pragma unroll
        for (int j = 0; j < V; ++j) {
          const float wdy =
              static_cast<float>(weight[i * V + j]) * static_cast<float>(dy_held[p].values[j]);
          const float x_hat = static_cast<float>(x_held[p].values[j]) * row_rstd;
          pack.values[j] = static_cast<T>((wdy - x_hat * mean) * row_rstd);
        }
        dx_row[i] = pack;
      }
    }
    __syncthreads();  // the next row's sums
  }
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = p * kThreads + threadIdx.x;
    if (i < packs) {
#pragma unroll
      for (int j = 0; j < V; ++j) {
        partial[static_cast<int64_t>(blockIdx.x) * cols + i * V + j] = sums[p][j];
      }
    }
  }
  // Who draws the last ticket adds up what all blocks have left.
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    is_last = atomicAdd(ticket, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last) {
    __threadfence();
    for (int col = threadIdx.x; col < cols; col += kThreads) {
      float sum = 0.0f;
      for (unsigned group = 0; group < gridDim.x; ++group) {
        sum += __ldcg(partial + static_cast<int64_t>(group) * cols + col);
      }
      dweight[col] = static_cast<T>(sum);
    }
  }
}

/// Wider rows: dx, read twice.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    wide_dx_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                   const float* rstd, T* dx, int64_t dx_stride, int cols) {
  using RowPack = Pack<T, V>;
  const int64_t row = blockIdx.x;
  const auto* dy_row = reinterpret_cast<const RowPack*>(dy + row * dy_stride);
  const auto* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
  auto* dx_row = reinterpret_cast<RowPack*>(dx + row * dx_stride);
  const float row_rstd = rstd[row];
  float dot = 0.0f;
  for (int i = threadIdx.x; i < cols / V; i += kThreads) {
    const RowPack dy_pack = dy_row[i];
    const RowPack x_pack = x_row[i];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float wdy =
          static_cast<float>(weight[i * V + j]) * static_cast<float>(dy_pack.values[j]);
      dot += wdy * (static_cast<float>(x_pack.values[j]) * row_rstd);
    }
  }
  const float mean = block_sum_of(dot) / cols;
  for (int i = threadIdx.x; i < cols / V; i += kThreads) {
    const RowPack dy_pack = dy_row[i];
    const RowPack x_pack = x_row[i];
    RowPack pack;
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float wdy =
          static_cast<float>(weight[i * V + j]) * static_cast<float>(dy_pack.values[j]);
      const float x_hat = static_cast<float>(x_pack.values[j]) * row_rstd;
      pack.values[j] = static_cast<T>((wdy - x_hat * mean) * row_rstd);
    }
    dx_row[i] = pack;
  }
}

/// And the column sums of groups of rows.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    wide_sum_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                    const float* rstd, float* partial, CastOrder order, int rows, int cols) {
  using RowPack = Pack<T, V>;
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= cols / V) {
    return;
  }
  float sums[V] = {};
  for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
    const RowPack dy_pack = reinterpret_cast<const RowPack*>(dy + row * dy_stride)[i];
    const RowPack x_pack = reinterpret_cast<const RowPack*>(x + row * x_stride)[i];
    const float row_rstd = rstd[row];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float x_hat = static_cast<float>(x_pack.values[j]) * row_rstd;
      sums[j] += static_cast<float>(dy_pack.values[j]) * x_hat_for_dweight<T>(x_hat, order);
    }
  }
  for (int j = 0; j < V; ++j) {
    partial[static_cast<int64_t>(blockIdx.y) * cols + i * V + j] = sums[j];
  }
}

template <typename T>
__global__ void sum_groups_kernel(const float* partial, T* dweight, int groups, int cols) {
  const int col = blockIdx.x * 128 + threadIdx.x;
  if (col < cols) {
    float sum = 0.0f;
    for (int group = 0; group < groups; ++group) {
      sum += partial[static_cast<int64_t>(group) * cols + col];
    }
    dweight[col] = static_cast<T>(sum);
  }
}

template <typename T>
bool is_aligned(const T* tensor, int64_t stride, int cols) {
  constexpr int V = 16 / sizeof(T);
  return reinterpret_cast<uintptr_t>(tensor) % 16 == 0 && stride % V == 0 && cols % V == 0;
}

template <typename T>
void rmsnorm_backward_fast(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* rstd, T* dx, int64_t dx_stride, T* dweight,
                           float* scratch, CastOrder order, int rows, int cols,
                           cudaStream_t stream) {
  if (rows == 0) {
    cudaMemsetAsync(dweight, 0, cols * sizeof(T), stream);
    return;
  }
  const int groups = rows < 256 ? rows : 256;
  constexpr int V = 16 / sizeof(T);
  const bool aligned = is_aligned(dy, dy_stride, cols) && is_aligned(x, x_stride, cols) &&
                       is_aligned(dx, dx_stride, cols);
  unsigned* ticket = nullptr;
  if (cols <= kNarrow) {
    if (cudaMallocAsync(&ticket, sizeof(unsigned), stream) != cudaSuccess) {
      cudaGetLastError();  // or the next launch would be blamed for it
      return;
    }
    cudaMemsetAsync(ticket, 0, sizeof(unsigned), stream);
  }
  const auto launch = [&](auto one_pass, auto wide_dx, auto wide_sum, int each) {
    if (cols <= kNarrow) {
      one_pass<<<groups, kThreads, 0, stream>>>(dy, dy_stride, x, x_stride, weight, rstd, dx,
                                                dx_stride, scratch, ticket, dweight, order, rows, cols);
    } else {
      wide_dx<<<rows, kThreads, 0, stream>>>(dy, dy_stride, x, x_stride, weight, rstd, dx,
                                             dx_stride, cols);
      const unsigned blocks = (cols / each + kThreads - 1) / kThreads;
      wide_sum<<<dim3(blocks, groups), kThreads, 0, stream>>>(dy, dy_stride, x, x_stride, rstd,
                                                              scratch, order, rows, cols);
    }
  };
  aligned
      ? launch(one_pass_kernel<T, V>, wide_dx_kernel<T, V>, wide_sum_kernel<T, V>, V)
      : launch(one_pass_kernel<T, 1>, wide_dx_kernel<T, 1>, wide_sum_kernel<T, 1>, 1);
  if (cols <= kNarrow) {
    cudaFreeAsync(ticket, stream);
  } else {
    sum_groups_kernel<<<(cols + 127) / 128, 128, 0, stream>>>(scratch, dweight, groups, cols);
  }
}

}  // namespace onepass
