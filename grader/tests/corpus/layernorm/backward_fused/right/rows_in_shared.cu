// Right: persistent blocks of 1024 threads, of which each keeps wdy and x_hat of its row in dynamic
// shared memory where they fit; column sums straight into the block's rows of scratch.

#include <onepass/layernorm.h>

namespace onepass {

constexpr int kThreads = 1024;
constexpr int kMostHeld = 4096;  // columns in shared memory

/// Both sums over the block, in every thread.
__device__ inline float2 block_sums_of(float2 value) {
  __shared__ float2 partial[32];
  for (int offset = 16; offset > 0; offset /= 2) {
    value.x += __shfl_xor_sync(0xffffffffu, value.x, offset);
    value.y += __shfl_xor_sync(0xffffffffu, value.y, offset);
  }
  __syncthreads();  // the last row's have been read
  if (threadIdx.x % 32 == 0) {
    partial[threadIdx.x / 32] = value;
  }
  __syncthreads();
  float2 sums = make_float2(0.0f, 0.0f);
  for (int warp = 0; warp < 32; ++warp) {
    sums.x += partial[warp].x;
    sums.y += partial[warp].y;
  }
  return sums;
}

template <typename T>
__global__ void rows_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                            const T* weight, const float* mean, const float* rstd, T* dx,
                            int64_t dx_stride, float* sums, int rows, int cols) {
  extern __shared__ float held[];  // wdy and x_hat of a row, [2, cols]
  const bool holds = cols <= kMostHeld;
  float* sum_dweight = sums + static_cast<int64_t>(blockIdx.x) * cols;
  float* sum_dbias = sums + static_cast<int64_t>(gridDim.x + blockIdx.x) * cols;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const bool first = row == blockIdx.x;
    const auto dy_at = [&](int col) { return static_cast<float>(dy[row * dy_stride + col]); };
    const auto x_hat_at = [&](int col) {
      return (static_cast<float>(x[row * x_stride + col]) - mean[row]) * rstd[row];
    };
    float2 share = make_float2(0.0f, 0.0f);
    for (int col = threadIdx.x; col < cols; col += kThreads) {
      const float x_hat = x_hat_at(col);
      const float wdy = dy_at(col) * static_cast<float>(weight[col]);
      if (holds) {
        held[col] = wdy;
        held[cols + col] = x_hat;
      }
      share.x += wdy;
      share.y += wdy * x_hat;
      sum_dweight[col] = dy_at(col) * x_hat + (first ? 0.0f : sum_dweight[col]);
      sum_dbias[col] = dy_at(col) + (first ? 0.0f : sum_dbias[col]);
    }
    const float2 total = block_sums_of(share);
    for (int col = threadIdx.x; col < cols; col += kThreads) {
      const float wdy = holds ? held[col] : dy_at(col) * static_cast<float>(weight[col]);
      const float x_hat = holds ? held[cols + col] : x_hat_at(col);
      dx[row * dx_stride + col] =
          static_cast<T>(rstd[row] * (wdy - (total.x + x_hat * total.y) / cols));
    }
  }
}

template <typename T>
__global__ void blocks_kernel(const float* sums, T* dweight, T* dbias, int blocks, int cols) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col >= cols) {
    return;
  }
  float sum_dweight = 0.0f;
  float sum_dbias = 0.0f;
  for (int block = 0; block < blocks; ++block) {
    sum_dweight += sums[static_cast<int64_t>(block) * cols + col];
    sum_dbias += sums[static_cast<int64_t>(blocks + block) * cols + col];
  }
  dweight[col] = static_cast<T>(sum_dweight);
  dbias[col] = static_cast<T>(sum_dbias);
}

template <typename T>
Summation layernorm_backward(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                             const T* weight, const float* mean, const float* rstd, T* dx,
                             int64_t dx_stride, T* dweight, T* dbias, float* scratch, int rows,
                             int cols, cudaStream_t stream) {
  const int blocks = rows < 24 ? rows : 24;
  if (rows > 0) {
    const size_t bytes = cols <= kMostHeld ? 2 * cols * sizeof(float) : 0;
    rows_kernel<<<blocks, kThreads, bytes, stream>>>(dy, dy_stride, x, x_stride, weight, mean, rstd,
                                                     dx, dx_stride, scratch, rows, cols);
  }
  blocks_kernel<<<(cols + 127) / 128, 128, 0, stream>>>(scratch, dweight, dbias, blocks, cols);
  return Summation::fixed_order;
}

}  // namespace onepass
