// Right: blocks that stay, each with two slots in shared memory for a row of dy and one of x. The next
// row is asked for by asynchronous copies before this one is computed. Rows that are not aligned for
// that, or wide, are read from where they are.

#include <cuda_pipeline.h>
#include <onepass/layernorm.h>

namespace onepass {

constexpr int kThreads = 256;
constexpr int kMostBytes = 8192;  // of a row in a slot

/// Both sums over all threads of the block, in each of them.
__device__ inline float2 over_block(float2 value) {
  __shared__ float2 shares[kThreads / 32];
  for (int offset = 16; offset > 0; offset /= 2) {
    value.x += __shfl_xor_sync(0xffffffffu, value.x, offset);
    value.y += __shfl_xor_sync(0xffffffffu, value.y, offset);
  }
  if (threadIdx.x % 32 == 0) {
    shares[threadIdx.x / 32] = value;
  }
  __syncthreads();
  value = shares[0];
  for (int warp = 1; warp < kThreads / 32; ++warp) {
    value.x += shares[warp].x;
    value.y += shares[warp].y;
  }
  return value;
}

template <typename T>
__global__ void dx_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                          const T* weight, const float* mean, const float* rstd, T* dx,
                          int64_t dx_stride, int rows, int cols, bool is_copied) {
  extern __shared__ __align__(16) unsigned char memory[];
  T* const slots = reinterpret_cast<T*>(memory);  // [2][dy and x][cols]
  constexpr int kPack = 16 / sizeof(T);
  const auto fetch = [&](int64_t row, int slot) {
    if (is_copied && row < rows) {
      T* const to = slots + 2 * slot * cols;
      for (int i = threadIdx.x * kPack; i < cols; i += kThreads * kPack) {
        __pipeline_memcpy_async(to + i, dy + row * dy_stride + i, 16);
        __pipeline_memcpy_async(to + cols + i, x + row * x_stride + i, 16);
      }
    }
    __pipeline_commit();  // where there is nothing to copy, an empty batch
  };
  int slot = 0;
  fetch(blockIdx.x, slot);
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x, slot ^= 1) {
    fetch(row + gridDim.x, slot ^ 1);
    __pipeline_wait_prior(1);  // this row's batch; the next one's goes on
    __syncthreads();
    const T* const dy_row = is_copied ? slots + 2 * slot * cols : dy + row * dy_stride;
    const T* const x_row = is_copied ? slots + (2 * slot + 1) * cols : x + row * x_stride;
    const auto wdy_at = [&](int col) {
      const float value = static_cast<float>(dy_row[col]);
      return weight != nullptr ? value * static_cast<float>(weight[col]) : value;
    };
    const auto x_hat_at = [&](int col) {
      return (static_cast<float>(x_row[col]) - mean[row]) * rstd[row];
    };
    float2 share = {0.0f, 0.0f};
    for (int col = threadIdx.x; col < cols; col += kThreads) {
      share.x += wdy_at(col);
      share.y += wdy_at(col) * x_hat_at(col);
    }
    const float2 sums = over_block(share);
    for (int col = threadIdx.x; col < cols; col += kThreads) {
      const float centred = wdy_at(col) - sums.x / cols - x_hat_at(col) * (sums.y / cols);
      dx[row * dx_stride + col] = static_cast<T>(centred * rstd[row]);
    }
    __syncthreads();  // all have read the slot, and the shares of the sums
  }
}

template <typename T>
bool is_aligned(const T* tensor, int64_t stride) {
  return reinterpret_cast<uintptr_t>(tensor) % 16 == 0 && stride * sizeof(T) % 16 == 0;
}

template <typename T>
void layernorm_backward_dx(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* mean, const float* rstd, T* dx,
                           int64_t dx_stride, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  const size_t row_bytes = cols * sizeof(T);
  const bool is_copied = is_aligned(dy, dy_stride) && is_aligned(x, x_stride) &&
                         row_bytes % 16 == 0 && row_bytes <= kMostBytes;
  dx_kernel<<<rows < 132 ? rows : 132, kThreads, is_copied ? 4 * row_bytes : 0, stream>>>(
      dy, dy_stride, x, x_stride, weight, mean, rstd, dx, dx_stride, rows, cols, is_copied);
}

}  // namespace onepass
