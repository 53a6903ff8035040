// diagnosis: index-overflow
// status: device error
// A warp walks over the rows in int: near 2^31 of them the next row is beyond what it can count.

#include <onepass/layernorm.h>
// Persistent warps, each of which walks through the rows (as llm.c's layernorm_backward does).
namespace onepass {

constexpr int kWarps = 8;

__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

template <typename T>
__device__ inline float weight_at(const T* weight, int col) {
  return weight != nullptr ? static_cast<float>(weight[col]) : 1.0f;
}

template <typename T>
__global__ void layernorm_backward_dx_kernel(const T* __restrict__ dy, int64_t dy_stride,
                                             const T* __restrict__ x, int64_t x_stride,
                                             const T* __restrict__ weight,
                                             const float* __restrict__ mean,
                                             const float* __restrict__ rstd, T* __restrict__ dx,
                                             int64_t dx_stride, int rows, int cols) {
  const int warps = gridDim.x * kWarps;
  const int lane = threadIdx.x % 32;
  for (int idx = blockIdx.x * kWarps + threadIdx.x / 32; idx < rows; idx += warps) {
    const int64_t row = idx;
    const T* dy_row = dy + row * dy_stride;
    const T* x_row = x + row * x_stride;
    T* dx_row = dx + row * dx_stride;
    const float row_mean = mean[row];
    const float row_rstd = rstd[row];
    float2 sums = make_float2(0.0f, 0.0f);
    for (int col = lane; col < cols; col += 32) {
      const float wdy = weight_at(weight, col) * static_cast<float>(dy_row[col]);
      sums.x += wdy;
      sums.y += wdy * ((static_cast<float>(x_row[col]) - row_mean) * row_rstd);
    }
    sums = make_float2(warp_sum(sums.x), warp_sum(sums.y));
    const float mean_wdy = sums.x / cols;
    const float mean_wdy_hat = sums.y / cols;
    for (int col = lane; col < cols; col += 32) {
      const float wdy = weight_at(weight, col) * static_cast<float>(dy_row[col]);
      const float x_hat = (static_cast<float>(x_row[col]) - row_mean) * row_rstd;
      dx_row[col] = static_cast<T>((wdy - mean_wdy - x_hat * mean_wdy_hat) * row_rstd);
    }
  }
}

template <typename T>
void layernorm_backward_dx(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* mean, const float* rstd, T* dx,
                           int64_t dx_stride, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  constexpr int kMostBlocks = 132 * 8;
  const int wanted = (rows - 1) / kWarps + 1;
  const int blocks = wanted < kMostBlocks ? wanted : kMostBlocks;
  layernorm_backward_dx_kernel<<<blocks, 32 * kWarps, 0, stream>>>(
      dy, dy_stride, x, x_stride, weight, mean, rstd, dx, dx_stride, rows, cols);
}

}  // namespace onepass
