// Right: the last block of a strip of columns to arrive adds up what all have left in scratch,
// group by group, by volatile loads. Where scratch has no room for the counters, the pool has.

#include <onepass/layernorm.h>

namespace onepass {

constexpr int kThreads = 256;
constexpr int kGroups = 128;

template <typename T>
__global__ void __launch_bounds__(kThreads)
    sum_columns_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                       const float* mean, const float* rstd, T* dweight, T* dbias,
                       volatile float* partial, unsigned* counters, int rows, int cols) {
  __shared__ bool is_last;
  const int col = blockIdx.x * kThreads + threadIdx.x;
  const int group = blockIdx.y;
  const int groups = gridDim.y;
  float sum_w = 0.0f, sum_b = 0.0f;
  if (col < cols) {
#pragma unroll 4
    for (int64_t row = group; row < rows; row += groups) {
      const float d = static_cast<float>(dy[row * dy_stride + col]);
      sum_w += d * ((static_cast<float>(x[row * x_stride + col]) - mean[row]) * rstd[row]);
      sum_b += d;
    }
    partial[static_cast<int64_t>(2 * group) * cols + col] = sum_w;
    partial[static_cast<int64_t>(2 * group + 1) * cols + col] = sum_b;
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    is_last = atomicAdd(counters + blockIdx.x, 1u) + 1 == static_cast<unsigned>(groups);
    __threadfence();
  }
  __syncthreads();
  if (!is_last || col >= cols) return;
  sum_w = 0.0f;
  sum_b = 0.0f;
  for (int g = 0; g < groups; ++g) {  // in their order, whoever is last
    sum_w += partial[static_cast<int64_t>(2 * g) * cols + col];
    sum_b += partial[static_cast<int64_t>(2 * g + 1) * cols + col];
  }
  dweight[col] = static_cast<T>(sum_w);
  dbias[col] = static_cast<T>(sum_b);
}

template <typename T>
__global__ void zero_kernel(T* dweight, T* dbias, int cols) {
  const int col = blockIdx.x * kThreads + threadIdx.x;
  if (col < cols) {
    dweight[col] = static_cast<T>(0.0f);
    dbias[col] = static_cast<T>(0.0f);
  }
}

template <typename T>
Summation layernorm_backward_dweight_dbias(const T* dy, int64_t dy_stride, const T* x,
                                           int64_t x_stride, const float* mean, const float* rstd,
                                           T* dweight, T* dbias, float* scratch, int rows, int cols,
                                           cudaStream_t stream) {
  const int strips = (cols + kThreads - 1) / kThreads;
  if (rows == 0) {
    zero_kernel<<<strips, kThreads, 0, stream>>>(dweight, dbias, cols);
    return Summation::fixed_order;
  }
  const int groups = rows < kGroups ? rows : kGroups;
  // 2 * groups counters fit behind the partial sums. Where there are more strips than that, the
  // stream's pool gives them.
  auto* counters = reinterpret_cast<unsigned*>(scratch + 2 * static_cast<int64_t>(groups) * cols);
  const bool fits = strips <= 2 * groups;
  if (!fits && cudaMallocAsync(&counters, strips * sizeof(unsigned), stream) != cudaSuccess) {
    return Summation::fixed_order;
  }
  cudaMemsetAsync(counters, 0, strips * sizeof(unsigned), stream);
  sum_columns_kernel<<<dim3(strips, groups), kThreads, 0, stream>>>(
      dy, dy_stride, x, x_stride, mean, rstd, dweight, dbias, scratch, counters, rows, cols);
  if (!fits) cudaFreeAsync(counters, stream);
  return Summation::fixed_order;
}

}  // namespace onepass
