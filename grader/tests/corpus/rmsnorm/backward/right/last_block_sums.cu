// Right: one kernel. Each block stores its sums for dweight and counts itself in; the block that
// comes last adds up those of all. The counter is behind the sums: fewer blocks than there are
// rows leave room for it.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 192;
constexpr int kMostBlocks = 64;

template <typename T>
__global__ void backward_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                                const T* weight, const float* rstd, T* dx, int64_t dx_stride,
                                T* dweight, float* partial, unsigned* blocks_done,
                                CastOrder order, int rows, int cols) {
  __shared__ float slots[kThreads / 32];
  __shared__ bool last;
  float* sums = partial + static_cast<int64_t>(blockIdx.x) * cols;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float scale = rstd[row];
    float sum = 0.0f;
    for (int col = threadIdx.x; col < cols; col += kThreads) {
      const float x_hat = static_cast<float>(x[row * x_stride + col]) * scale;
      const float dy_value = static_cast<float>(dy[row * dy_stride + col]);
      sum += static_cast<float>(weight[col]) * dy_value * x_hat;
      const float counted =
          order == CastOrder::llama ? static_cast<float>(static_cast<T>(x_hat)) : x_hat;
      const float before = row == blockIdx.x ? 0.0f : sums[col];
      sums[col] = before + dy_value * counted;
    }
    for (int offset = 16; offset > 0; offset /= 2) {
      sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    }
    __syncthreads();  // all have read the last row's slots
    if (threadIdx.x % 32 == 0) {
      slots[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    float mean = 0.0f;
    for (int warp = 0; warp < kThreads / 32; ++warp) {
      mean += slots[warp] / cols;
    }
    for (int col = threadIdx.x; col < cols; col += kThreads) {
      const float x_hat = static_cast<float>(x[row * x_stride + col]) * scale;
      const float wdy =
          static_cast<float>(weight[col]) * static_cast<float>(dy[row * dy_stride + col]);
      dx[row * dx_stride + col] = static_cast<T>(scale * wdy - scale * mean * x_hat);
    }
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = gridDim.x == 1 || atomicAdd(blocks_done, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) {
    return;
  }
  __threadfence();
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    float sum = 0.0f;
    for (unsigned block = 0; block < gridDim.x; ++block) {
      sum += __ldcg(&partial[static_cast<int64_t>(block) * cols + col]);
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
  const int pairs = (rows - 1) / 2 + 1;
  const int blocks = pairs < kMostBlocks ? pairs : kMostBlocks;
  auto* blocks_done = reinterpret_cast<unsigned*>(scratch + static_cast<int64_t>(blocks) * cols);
  if (blocks > 1) {
    cudaMemsetAsync(blocks_done, 0, sizeof(unsigned), stream);
  }
  backward_kernel<<<blocks, kThreads, 0, stream>>>(dy, dy_stride, x, x_stride, weight, rstd, dx,
                                                   dx_stride, dweight, scratch, blocks_done, order,
                                                   rows, cols);
}

}  // namespace onepass
