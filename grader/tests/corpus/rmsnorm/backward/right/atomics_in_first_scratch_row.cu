// Exercise 1.3: RMSNorm backward, in one kernel with atomics. Each block walks over a stretch of
// neighbouring rows. A warp has a row; the sums for dweight of 1,024 columns at a time are kept in
// shared memory, and added to the first row of scratch at the end.
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kWarps = 8;
constexpr int kThreads = 32 * kWarps;
constexpr int kTile = 1024;  // columns of a block's sums
constexpr int kMostBlocks = 512;

__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// Block (b, t) makes dx and dweight of the columns of tile t, in the rows of stretch b. For the sum
/// along a row each tile's block reads all of it.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    backward_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                    const float* rstd, T* dx, int64_t dx_stride, float* sums, CastOrder order,
                    int rows, int cols) {
  __shared__ float tile[kTile];
  const int lane = threadIdx.x % 32;
  const int first = blockIdx.y * kTile;
  const int count = min(kTile, cols - first);
  const int64_t begin = static_cast<int64_t>(rows) * blockIdx.x / gridDim.x;
  const int64_t end = static_cast<int64_t>(rows) * (blockIdx.x + 1) / gridDim.x;
  for (int c = threadIdx.x; c < kTile; c += kThreads) {
    tile[c] = 0.0f;
  }
  __syncthreads();
  for (int64_t row = begin + threadIdx.x / 32; row < end; row += kWarps) {
    const T* dy_row = dy + row * dy_stride;
    const T* x_row = x + row * x_stride;
    const float row_rstd = rstd[row];
    float dot = 0.0f;
    for (int col = lane; col < cols; col += 32) {
      dot += static_cast<float>(weight[col]) * static_cast<float>(dy_row[col]) *
             static_cast<float>(x_row[col]);
    }
    const float slope = warp_sum(dot) * row_rstd * row_rstd / cols;
    T* dx_row = dx + row * dx_stride;
    for (int c = lane; c < count; c += 32) {
      const int col = first + c;
      const float dy_value = static_cast<float>(dy_row[col]);
      const float x_value = static_cast<float>(x_row[col]);
      const float wdy = static_cast<float>(weight[col]) * dy_value;
      dx_row[col] = static_cast<T>((wdy - x_value * slope) * row_rstd);
      float x_hat = x_value * row_rstd;
      if (order == CastOrder::llama) {
        x_hat = static_cast<float>(static_cast<T>(x_hat));
      }
      atomicAdd(tile + c, dy_value * x_hat);
    }
  }
  __syncthreads();
  for (int c = threadIdx.x; c < count; c += kThreads) {
    atomicAdd(sums + first + c, tile[c]);
  }
}

template <typename T>
__global__ void round_kernel(const float* sums, T* dweight, int rows, int cols) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col < cols) {
    dweight[col] = static_cast<T>(rows == 0 ? 0.0f : sums[col]);  // of no rows there is no scratch
  }
}

template <typename T>
void rmsnorm_backward(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                      const float* rstd, T* dx, int64_t dx_stride, T* dweight, float* scratch,
                      CastOrder order, int rows, int cols, cudaStream_t stream) {
  if (rows > 0) {
    cudaMemsetAsync(scratch, 0, sizeof(float) * static_cast<size_t>(cols), stream);
    const dim3 grid(rows < kMostBlocks ? rows : kMostBlocks, (cols + kTile - 1) / kTile);
    backward_kernel<<<grid, kThreads, 0, stream>>>(dy, dy_stride, x, x_stride, weight, rstd, dx,
                                                   dx_stride, scratch, order, rows, cols);
  }
  round_kernel<<<(cols + 255) / 256, 256, 0, stream>>>(scratch, dweight, rows, cols);
}

}  // namespace onepass
