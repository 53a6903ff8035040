// Right: dx, dweight and dbias in one cooperative launch. Persistent blocks keep their column sums in
// scratch, each in rows of its own; behind grid.sync() those are added up in a fixed order.

#include <cooperative_groups.h>
#include <onepass/layernorm.h>

namespace onepass {

constexpr int kThreads = 256;
constexpr int kMostBlocks = 96;

__device__ float sum_of_block(float value, float* shares) {
  __syncthreads();  // the call before this one may still be reading
  shares[threadIdx.x] = value;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      shares[threadIdx.x] += shares[threadIdx.x + half];
    }
  }
  __syncthreads();
  return shares[0];
}

template <typename T>
__global__ void persistent_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                                  const T* weight, const float* mean, const float* rstd, T* dx,
                                  int64_t dx_stride, T* dweight, T* dbias,
                                  float* scratch,  // [2, gridDim.x, cols]
                                  int rows, int cols) {
  __shared__ float shares[kThreads];
  const int64_t sums = static_cast<int64_t>(gridDim.x) * cols;  // for dweight; those for dbias behind
  float* partial = scratch + static_cast<int64_t>(blockIdx.x) * cols;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const bool is_first = row == blockIdx.x;
    const auto wdy_at = [&](int col) {
      return static_cast<float>(weight[col]) * static_cast<float>(dy[row * dy_stride + col]);
    };
    const auto x_hat_at = [&](int col) {
      return (static_cast<float>(x[row * x_stride + col]) - mean[row]) * rstd[row];
    };
    float share = 0.0f;
    float share_hat = 0.0f;
    for (int col = threadIdx.x; col < cols; col += kThreads) {
      share += wdy_at(col);
      share_hat += wdy_at(col) * x_hat_at(col);
    }
    const float mean_wdy = sum_of_block(share, shares) / cols;
    const float mean_wdy_hat = sum_of_block(share_hat, shares) / cols;
    for (int col = threadIdx.x; col < cols; col += kThreads) {
      const float dy_value = static_cast<float>(dy[row * dy_stride + col]);
      const float x_hat = x_hat_at(col);
      dx[row * dx_stride + col] =
          static_cast<T>(rstd[row] * (wdy_at(col) - mean_wdy - x_hat * mean_wdy_hat));
      partial[col] = (is_first ? 0.0f : partial[col]) + dy_value * x_hat;
      partial[sums + col] = (is_first ? 0.0f : partial[sums + col]) + dy_value;
    }
  }
  cooperative_groups::this_grid().sync();
  for (int col = blockIdx.x * kThreads + threadIdx.x; col < cols; col += gridDim.x * kThreads) {
    float sum_dweight = 0.0f;
    float sum_dbias = 0.0f;
    for (int64_t block = 0; block < gridDim.x; ++block) {
      sum_dweight += scratch[block * cols + col];
      sum_dbias += scratch[sums + block * cols + col];
    }
    dweight[col] = static_cast<T>(sum_dweight);
    dbias[col] = static_cast<T>(sum_dbias);
  }
}

template <typename T>
Summation layernorm_backward(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                             const T* weight, const float* mean, const float* rstd, T* dx,
                             int64_t dx_stride, T* dweight, T* dbias, float* scratch, int rows,
                             int cols, cudaStream_t stream) {
  if (rows == 0) {
    cudaMemsetAsync(dweight, 0, cols * sizeof(T), stream);
    cudaMemsetAsync(dbias, 0, cols * sizeof(T), stream);
    return Summation::fixed_order;
  }
  const int blocks = rows < kMostBlocks ? rows : kMostBlocks;
  void* arguments[] = {&dy, &dy_stride, &x,       &x_stride, &weight,  &mean, &rstd,
                       &dx, &dx_stride, &dweight, &dbias,    &scratch, &rows, &cols};
  cudaLaunchCooperativeKernel((void*)persistent_kernel<T>, blocks, kThreads, arguments, 0, stream);
  return Summation::fixed_order;
}

}  // namespace onepass
