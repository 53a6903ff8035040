// diagnosis: none
// check: large means
// One pass about a shift, which two large elements of three move far from the mean.
// Exercise 2.1: one walk for both statistics, about a shift that is near the mean: the median of
// the row's first, middle and last element, which a single outlier does not move.
#include <onepass/layernorm.h>

namespace onepass {

constexpr int kThreads = 256;

/// The sum of `value` over the 32 lanes of a warp, in every lane.
__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

__device__ inline float2 block_sums(float2 value) {
  __shared__ float2 partial[kThreads / 32];
  const int lane = threadIdx.x % 32;
  value = make_float2(warp_sum(value.x), warp_sum(value.y));
  if (lane == 0) {
    partial[threadIdx.x / 32] = value;
  }
  __syncthreads();
  value = lane < kThreads / 32 ? partial[lane] : make_float2(0.0f, 0.0f);
  return make_float2(warp_sum(value.x), warp_sum(value.y));
}

template <typename T>
__global__ void shifted_kernel(const T* __restrict__ x, int64_t x_stride,
                               const T* __restrict__ weight, const T* __restrict__ bias,
                               T* __restrict__ y, int64_t y_stride, float* __restrict__ mean,
                               float* __restrict__ rstd, int cols, float eps) {
  const int64_t row = blockIdx.x;
  const T* x_row = x + row * x_stride;
  T* y_row = y + row * y_stride;
  const float a = static_cast<float>(x_row[0]);
  const float b = static_cast<float>(x_row[cols / 2]);
  const float c = static_cast<float>(x_row[cols - 1]);
  const float shift = fmaxf(fminf(a, b), fminf(fmaxf(a, b), c));
  float2 sums = make_float2(0.0f, 0.0f);
#pragma unroll 8
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float d = static_cast<float>(x_row[col]) - shift;
    sums.x += d;
    sums.y += d * d;
  }
  sums = block_sums(sums);
  const float off = sums.x / cols;
  const float row_mean = shift + off;
  const float row_rstd = rsqrtf((sums.y / cols - off * off) + eps);
  if (threadIdx.x == 0) {
    mean[row] = row_mean;
    rstd[row] = row_rstd;
  }
#pragma unroll 8
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    float value = (static_cast<float>(x_row[col]) - row_mean) * row_rstd;
    if (weight != nullptr) {
      value *= static_cast<float>(weight[col]);
    }
    if (bias != nullptr) {
      value += static_cast<float>(bias[col]);
    }
    y_row[col] = static_cast<T>(value);
  }
}

template <typename T>
void layernorm_forward(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                       int64_t y_stride, float* mean, float* rstd, int rows, int cols, float eps,
                       cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  shifted_kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, weight, bias, y, y_stride, mean, rstd,
                                                cols, eps);
}

}  // namespace onepass
