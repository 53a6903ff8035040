// Right: cub::BlockReduce by raking; thread 0 hands its result on through shared memory.

#include <onepass/rmsnorm.h>

#include <cub/cub.cuh>

namespace onepass {

constexpr int kThreads = 256;

template <typename T>
__global__ void rmsnorm_kernel(const T* __restrict__ x, int64_t x_stride,
                               const T* __restrict__ weight, T* __restrict__ y, int64_t y_stride,
                               float* __restrict__ rstd, int cols, float eps) {
  using BlockReduce = cub::BlockReduce<float, kThreads, cub::BLOCK_REDUCE_RAKING>;
  __shared__ typename BlockReduce::TempStorage temp;
  __shared__ float shared_rstd;
  const int64_t row = blockIdx.x;
  float squares = 0.0f;
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float value = static_cast<float>(x[row * x_stride + col]);
    squares += value * value;
  }
  squares = BlockReduce(temp).Reduce(squares, [](float a, float b) { return a + b; });
  if (threadIdx.x == 0) {
    shared_rstd = rsqrtf(squares / cols + eps);
    rstd[row] = shared_rstd;
  }
  __syncthreads();
  const float row_rstd = shared_rstd;
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float value = static_cast<float>(x[row * x_stride + col]);
    y[row * y_stride + col] = static_cast<T>(value * row_rstd * static_cast<float>(weight[col]));
  }
}

template <typename T>
void rmsnorm_forward(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                     float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows > 0) {
    rmsnorm_kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, cols,
                                                  eps);
  }
}

}  // namespace onepass
