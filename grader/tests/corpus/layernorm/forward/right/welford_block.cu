// Right: Welford's method, a block a row. Lanes are merged with their neighbours first, warps one by
// one, and what has no elements is left out.

#include <onepass/layernorm.h>

namespace onepass {

constexpr int kThreads = 256;

/// How many numbers, their mean, and the sum of the squares of what is left of them.
struct Moments {
  float count, mean, squares;
};

__device__ inline Moments of_lanes(Moments a, Moments b) {
  const float share = b.count / (a.count + b.count);
  const float delta = b.mean - a.mean;
  return {a.count + b.count, a.mean + delta * share,
          a.squares + b.squares + delta * delta * a.count * share};
}

__device__ inline Moments of_warps(Moments a, Moments b) {
  const float share = b.count / (a.count + b.count);
  const float delta = b.mean - a.mean;
  return {a.count + b.count, a.mean + delta * share,
          a.squares + b.squares + delta * delta * a.count * share};
}

template <typename T>
__global__ void layernorm_kernel(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                                 int64_t y_stride, float* mean, float* rstd, int cols, float eps) {
  __shared__ Moments slots[kThreads / 32];
  const T* x_row = x + blockIdx.x * x_stride;
  T* y_row = y + blockIdx.x * y_stride;
  Moments own = {0.0f, 0.0f, 0.0f};
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float delta = static_cast<float>(x_row[col]) - own.mean;
    own.count += 1.0f;
    own.mean += delta / own.count;
    own.squares += delta * (static_cast<float>(x_row[col]) - own.mean);
  }
  for (int offset = 1; offset < 32; offset *= 2) {
    const Moments other = {__shfl_down_sync(0xffffffffu, own.count, offset),
                           __shfl_down_sync(0xffffffffu, own.mean, offset),
                           __shfl_down_sync(0xffffffffu, own.squares, offset)};
    if (threadIdx.x % 32 + offset < 32 && other.count > 0.0f) {
      own = of_lanes(own, other);
    }
  }
  if (threadIdx.x % 32 == 0) {
    slots[threadIdx.x / 32] = own;
  }
  __syncthreads();
  Moments all = slots[0];
  for (int warp = 1; warp < kThreads / 32; ++warp) {
    if (slots[warp].count > 0.0f) {
      all = of_warps(all, slots[warp]);
    }
  }
  const float row_rstd = rsqrtf(all.squares / cols + eps);
  if (threadIdx.x == 0) {
    mean[blockIdx.x] = all.mean;
    rstd[blockIdx.x] = row_rstd;
  }
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    float value = (static_cast<float>(x_row[col]) - all.mean) * row_rstd;
    value *= weight != nullptr ? static_cast<float>(weight[col]) : 1.0f;
    value += bias != nullptr ? static_cast<float>(bias[col]) : 0.0f;
    y_row[col] = static_cast<T>(value);
  }
}

template <typename T>
void layernorm_forward(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                       int64_t y_stride, float* mean, float* rstd, int rows, int cols, float eps,
                       cudaStream_t stream) {
  if (rows > 0) {
    layernorm_kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, weight, bias, y, y_stride, mean,
                                                    rstd, cols, eps);
  }
}

}  // namespace onepass
