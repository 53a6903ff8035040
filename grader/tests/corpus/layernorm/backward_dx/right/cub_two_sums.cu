// Right: two sums by cub::BlockReduce, one after the other in one storage.

#include <onepass/layernorm.h>

#include <cub/cub.cuh>

namespace onepass {

constexpr int kThreads = 256;

template <typename T>
__global__ void backward_dx_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                                   const T* weight, const float* mean, const float* rstd, T* dx,
                                   int64_t dx_stride, int cols) {
  using BlockReduce = cub::BlockReduce<float, kThreads, cub::BLOCK_REDUCE_WARP_REDUCTIONS>;
  __shared__ typename BlockReduce::TempStorage temp;
  __shared__ float mean_wdy, mean_wdy_hat;
  const int64_t row = blockIdx.x;
  const auto wdy_at = [=](int col) {
    const float dy_here = static_cast<float>(dy[row * dy_stride + col]);
    return weight == nullptr ? dy_here : dy_here * static_cast<float>(weight[col]);
  };
  const auto hat_at = [=](int col) {
    return (static_cast<float>(x[row * x_stride + col]) - mean[row]) * rstd[row];
  };
  float wdy = 0.0f, wdy_hat = 0.0f;
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    wdy += wdy_at(col);
    wdy_hat += wdy_at(col) * hat_at(col);
  }
  wdy = BlockReduce(temp).Sum(wdy);
  __syncthreads();
  wdy_hat = BlockReduce(temp).Sum(wdy_hat);
  if (threadIdx.x == 0) {
    mean_wdy = wdy / cols;
    mean_wdy_hat = wdy_hat / cols;
  }
  __syncthreads();
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    dx[row * dx_stride + col] =
        static_cast<T>((wdy_at(col) - mean_wdy - hat_at(col) * mean_wdy_hat) * rstd[row]);
  }
}

template <typename T>
void layernorm_backward_dx(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* mean, const float* rstd, T* dx,
                           int64_t dx_stride, int rows, int cols, cudaStream_t stream) {
  if (rows > 0) {
    backward_dx_kernel<<<rows, kThreads, 0, stream>>>(dy, dy_stride, x, x_stride, weight, mean,
                                                      rstd, dx, dx_stride, cols);
  }
}

}  // namespace onepass
