// Right: dx and dweight in one cooperative launch. Persistent blocks keep their terms of dweight in
// scratch, each in a row of its own; behind grid.sync() the rows are added up in a fixed order.

#include <cooperative_groups.h>
#include <onepass/rmsnorm.h>

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
                                  const T* weight, const float* rstd, T* dx, int64_t dx_stride,
                                  T* dweight, float* scratch,  // [gridDim.x, cols]
                                  CastOrder order, int rows, int cols) {
  __shared__ float shares[kThreads];
  float* partial = scratch + static_cast<int64_t>(blockIdx.x) * cols;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* dy_row = dy + row * dy_stride;
    const T* x_row = x + row * x_stride;
    const float scale = rstd[row];
    float share = 0.0f;
    for (int col = threadIdx.x; col < cols; col += kThreads) {
      share += static_cast<float>(weight[col]) * static_cast<float>(dy_row[col]) *
               (static_cast<float>(x_row[col]) * scale);
    }
    const float mean = sum_of_block(share, shares) / cols;
    for (int col = threadIdx.x; col < cols; col += kThreads) {
      const float dy_value = static_cast<float>(dy_row[col]);
      const float x_hat = static_cast<float>(x_row[col]) * scale;
      const float wdy = static_cast<float>(weight[col]) * dy_value;
      dx[row * dx_stride + col] = static_cast<T>(scale * (wdy - x_hat * mean));
      const float counted =
          order == CastOrder::llama ? static_cast<float>(static_cast<T>(x_hat)) : x_hat;
      partial[col] = (row == blockIdx.x ? 0.0f : partial[col]) + dy_value * counted;
    }
  }
  cooperative_groups::this_grid().sync();
  for (int col = blockIdx.x * kThreads + threadIdx.x; col < cols; col += gridDim.x * kThreads) {
    float sum = 0.0f;
    for (int64_t block = 0; block < gridDim.x; ++block) {
      sum += scratch[block * cols + col];
    }
    dweight[col] = static_cast<T>(sum);
  }
}

template <typename T>
void rmsnorm_backward(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                      const float* rstd, T* dx, int64_t dx_stride, T* dweight, float* scratch,
                      CastOrder order, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) {
    cudaMemsetAsync(dweight, 0, cols * sizeof(T), stream);
    return;
  }
  const int blocks = rows < kMostBlocks ? rows : kMostBlocks;
  void* arguments[] = {&dy, &dy_stride, &x,       &x_stride, &weight, &rstd, &dx,
                       &dx_stride, &dweight, &scratch, &order, &rows, &cols};
  cudaLaunchCooperativeKernel((void*)persistent_kernel<T>, blocks, kThreads, arguments, 0, stream);
}

}  // namespace onepass
