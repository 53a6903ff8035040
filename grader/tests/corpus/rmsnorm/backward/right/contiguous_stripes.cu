// Right: each block has a stripe of neighbouring rows. The sums for dweight grow in the block's own
// row of scratch, where each thread adds to its own columns; a thread a column adds up the blocks.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 256;
constexpr int kMostBlocks = 48;

template <typename T>
__global__ void stripe_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                              const T* weight, const float* rstd, T* dx, int64_t dx_stride,
                              float* partial, CastOrder order, int rows, int cols) {
  __shared__ float slots[kThreads / 32];
  const int lane = threadIdx.x % 32;
  float* sums = partial + static_cast<int64_t>(blockIdx.x) * cols;
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    sums[col] = 0.0f;
  }
  const int64_t each = (static_cast<int64_t>(rows) + gridDim.x - 1) / gridDim.x;
  const int64_t begin = blockIdx.x * each;
  const int64_t end = begin + each < rows ? begin + each : rows;
  for (int64_t row = begin; row < end; ++row) {
    const T* dy_row = dy + row * dy_stride;
    const T* x_row = x + row * x_stride;
    const float scale = rstd[row];
    float sum = 0.0f;
    for (int col = threadIdx.x; col < cols; col += kThreads) {
      const float dy_value = static_cast<float>(dy_row[col]);
      const float x_hat = static_cast<float>(x_row[col]) * scale;
      sum += static_cast<float>(weight[col]) * dy_value * x_hat;
      sums[col] += dy_value *
                   (order == CastOrder::llama ? static_cast<float>(static_cast<T>(x_hat)) : x_hat);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
      sum += __shfl_down_sync(0xffffffffu, sum, offset);
    }
    if (lane == 0) {
      slots[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    sum = 0.0f;
    for (int warp = 0; warp < kThreads / 32; ++warp) {
      sum += slots[warp];
    }
    const float mean = sum / cols;
    for (int col = threadIdx.x; col < cols; col += kThreads) {
      const float wdy = static_cast<float>(weight[col]) * static_cast<float>(dy_row[col]);
      const float x_hat = static_cast<float>(x_row[col]) * scale;
      dx[row * dx_stride + col] = static_cast<T>(scale * (wdy - x_hat * mean));
    }
    __syncthreads();  // the slots are written again for the next row
  }
}

template <typename T>
__global__ void sum_kernel(const float* partial, T* dweight, int blocks, int cols) {
  const int col = blockIdx.x * kThreads + threadIdx.x;
  if (col < cols) {
    float sum = 0.0f;
    for (int block = 0; block < blocks; ++block) {
      sum += partial[static_cast<int64_t>(block) * cols + col];
    }
    dweight[col] = static_cast<T>(sum);
  }
}

template <typename T>
void rmsnorm_backward(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                      const float* rstd, T* dx, int64_t dx_stride, T* dweight, float* scratch,
                      CastOrder order, int rows, int cols, cudaStream_t stream) {
  const int blocks = rows < kMostBlocks ? rows : kMostBlocks;
  if (blocks > 0) {
    stripe_kernel<<<blocks, kThreads, 0, stream>>>(dy, dy_stride, x, x_stride, weight, rstd, dx,
                                                   dx_stride, scratch, order, rows, cols);
  }
  sum_kernel<<<(cols + kThreads - 1) / kThreads, kThreads, 0, stream>>>(scratch, dweight, blocks,
                                                                        cols);
}

}  // namespace onepass
