// Right: right/locks.cu with the locks as cuda::atomic_ref, which acquire and release.

#include <onepass/layernorm.h>

#include <cuda/atomic>

namespace onepass {

constexpr int kGroups = 8;

/// One block a row, and a group for every kGroups-th row. A group has a row of totals for each of
/// the two sums, a lock, and a count of rows: the first to come writes, the others add.
template <typename T>
__global__ void add_rows_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                                const float* mean, const float* rstd, float* totals, int* locks,
                                int* counts, int groups, int cols) {
  const int64_t row = blockIdx.x;
  const int group = static_cast<int>(row % groups);
  float* total_dweight = totals + static_cast<int64_t>(group) * cols;
  float* total_dbias = totals + static_cast<int64_t>(groups + group) * cols;
  if (threadIdx.x == 0) {  // one thread of a warp spins, so that none holds up the holder
    cuda::atomic_ref<int, cuda::thread_scope_device> lock(locks[group]);
    int open = 0;
    while (!lock.compare_exchange_weak(open, 1, cuda::memory_order_acquire)) {
      open = 0;  // the exchange has left there what it found
    }
  }
  __syncthreads();
  const bool first = counts[group] == 0;
  for (int col = threadIdx.x; col < cols; col += blockDim.x) {
    const float dy_value = static_cast<float>(dy[row * dy_stride + col]);
    const float x_hat = (static_cast<float>(x[row * x_stride + col]) - mean[row]) * rstd[row];
    total_dweight[col] = dy_value * x_hat + (first ? 0.0f : total_dweight[col]);
    total_dbias[col] = dy_value + (first ? 0.0f : total_dbias[col]);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    counts[group] = 1;
    cuda::atomic_ref<int, cuda::thread_scope_device> lock(locks[group]);
    lock.store(0, cuda::memory_order_release);
  }
}

template <typename T>
__global__ void sum_groups_kernel(const float* totals, T* dweight, T* dbias, int groups, int cols) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col < cols) {
    float sum_dweight = 0.0f;
    float sum_dbias = 0.0f;
    for (int group = 0; group < groups; ++group) {
      sum_dweight += totals[static_cast<int64_t>(group) * cols + col];
      sum_dbias += totals[static_cast<int64_t>(groups + group) * cols + col];
    }
    dweight[col] = static_cast<T>(sum_dweight);
    dbias[col] = static_cast<T>(sum_dbias);
  }
}

template <typename T>
Summation layernorm_backward_dweight_dbias(const T* dy, int64_t dy_stride, const T* x,
                                           int64_t x_stride, const float* mean, const float* rstd,
                                           T* dweight, T* dbias, float* scratch, int rows, int cols,
                                           cudaStream_t stream) {
  const int groups = rows < kGroups ? rows : kGroups;
  int* locks = reinterpret_cast<int*>(scratch + 2 * static_cast<int64_t>(groups) * cols);
  if (rows > 0) {
    cudaMemsetAsync(locks, 0, 2 * groups * sizeof(int), stream);
    add_rows_kernel<<<rows, 128, 0, stream>>>(dy, dy_stride, x, x_stride, mean, rstd, scratch,
                                              locks, locks + groups, groups, cols);
  }
  sum_groups_kernel<<<(cols + 127) / 128, 128, 0, stream>>>(scratch, dweight, dbias, groups, cols);
  return Summation::any_order;
}

}  // namespace onepass
