// diagnosis: missing-fence
// says: without a __threadfence() before the atomic
// A lock of a group of sums, and a flag whether there are any: two words that both blocks change.
// There is no __threadfence() before the lock is given back.

#include <onepass/layernorm.h>

namespace onepass {

// After Triton's tutorial: a block a row; rows of partial sums that blocks share, each with a lock
// and a flag that says whether there is something in it.
constexpr int kThreads = 256;
constexpr int kMostGroups = 64;

template <typename T>
__global__ void add_row_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                               const float* mean, const float* rstd, float* partial_dweight,
                               float* partial_dbias, int* locks, int* used, int groups, int cols) {
  __shared__ bool is_first;
  const int64_t row = blockIdx.x;
  const int group = static_cast<int>(row % groups);
  const float row_mean = mean[row];
  const float row_rstd = rstd[row];
  float* sums_dweight = partial_dweight + static_cast<int64_t>(group) * cols;
  float* sums_dbias = partial_dbias + static_cast<int64_t>(group) * cols;

  if (threadIdx.x == 0) {
    while (atomicCAS(&locks[group], 0, 1) != 0) {
    }
    __threadfence();
    is_first = atomicExch(&used[group], 1) == 0;
  }
  __syncthreads();
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float dy_value = static_cast<float>(dy[row * dy_stride + col]);
    const float x_hat = (static_cast<float>(x[row * x_stride + col]) - row_mean) * row_rstd;
    sums_dweight[col] = (is_first ? 0.0f : sums_dweight[col]) + dy_value * x_hat;
    sums_dbias[col] = (is_first ? 0.0f : sums_dbias[col]) + dy_value;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicExch(&locks[group], 0);
  }
}

template <typename T>
__global__ void add_groups_kernel(const float* partial_dweight, const float* partial_dbias,
                                  T* dweight, T* dbias, int groups, int cols) {
  const int col = blockIdx.x * kThreads + threadIdx.x;
  if (col >= cols) {
    return;
  }
  float dw = 0.0f;
  float db = 0.0f;
  for (int group = 0; group < groups; ++group) {
    dw += partial_dweight[static_cast<int64_t>(group) * cols + col];
    db += partial_dbias[static_cast<int64_t>(group) * cols + col];
  }
  dweight[col] = static_cast<T>(dw);
  dbias[col] = static_cast<T>(db);
}

template <typename T>
Summation layernorm_backward_dweight_dbias(const T* dy, int64_t dy_stride, const T* x,
                                           int64_t x_stride, const float* mean, const float* rstd,
                                           T* dweight, T* dbias, float* scratch, int rows, int cols,
                                           cudaStream_t stream) {
  const int groups = rows < kMostGroups ? rows : kMostGroups;
  const int64_t sums = static_cast<int64_t>(groups) * cols;
  float* partial_dweight = scratch;
  float* partial_dbias = scratch + sums;
  int* locks = reinterpret_cast<int*>(scratch + 2 * sums);  // [groups]
  int* used = locks + groups;                               // [groups]
  if (rows > 0) {
    cudaMemsetAsync(locks, 0, 2 * groups * sizeof(int), stream);
    add_row_kernel<<<rows, kThreads, 0, stream>>>(dy, dy_stride, x, x_stride, mean, rstd,
                                                  partial_dweight, partial_dbias, locks, used,
                                                  groups, cols);
  }
  add_groups_kernel<<<(cols + kThreads - 1) / kThreads, kThreads, 0, stream>>>(
      partial_dweight, partial_dbias, dweight, dbias, groups, cols);
  return Summation::any_order;
}

}  // namespace onepass
