// Right: Welford's method, one warp a row: mean and squares in one walk, merged over the lanes.

#include <onepass/layernorm.h>

namespace onepass {

/// The value scaled and shifted by what its column has of weight and bias.
template <typename T>
__device__ T finish(float x_hat, const T* weight, const T* bias, int col) {
  const float scaled = weight != nullptr ? x_hat * static_cast<float>(weight[col]) : x_hat;
  return static_cast<T>(bias != nullptr ? scaled + static_cast<float>(bias[col]) : scaled);
}

/// How many numbers, their mean, and the sum of the squares of what is left of them.
struct Moments {
  float count, mean, squares;
};

/// The moments of both together.
__device__ Moments merged(Moments a, Moments b) {
  const float count = a.count + b.count;
  if (count == 0.0f) {
    return a;
  }
  const float delta = b.mean - a.mean;
  return {count, a.mean + delta * (b.count / count),
          a.squares + b.squares + delta * delta * (a.count * b.count / count)};
}

template <typename T>
__global__ void layernorm_kernel(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                                 int64_t y_stride, float* mean, float* rstd, int rows, int cols,
                                 float eps) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (row >= rows) {
    return;  // whole warps only
  }
  Moments moments = {0.0f, 0.0f, 0.0f};
  for (int col = lane; col < cols; col += 32) {
    const float value = static_cast<float>(x[row * x_stride + col]);
    moments.count += 1.0f;
    const float delta = value - moments.mean;
    moments.mean += delta / moments.count;
    moments.squares += delta * (value - moments.mean);
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    const Moments other = {__shfl_xor_sync(0xffffffffu, moments.count, offset),
                           __shfl_xor_sync(0xffffffffu, moments.mean, offset),
                           __shfl_xor_sync(0xffffffffu, moments.squares, offset)};
    // The lower lane's moments come first, so that both lanes get the same bits.
    moments = (lane & offset) == 0 ? merged(moments, other) : merged(other, moments);
  }
  const float row_rstd = rsqrtf(moments.squares / cols + eps);
  if (lane == 0) {
    mean[row] = moments.mean;
    rstd[row] = row_rstd;
  }
  for (int col = lane; col < cols; col += 32) {
    const float x_hat = (static_cast<float>(x[row * x_stride + col]) - moments.mean) * row_rstd;
    y[row * y_stride + col] = finish(x_hat, weight, bias, col);
  }
}

template <typename T>
void layernorm_forward(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                       int64_t y_stride, float* mean, float* rstd, int rows, int cols, float eps,
                       cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  layernorm_kernel<<<(rows - 1) / 4 + 1, 128, 0, stream>>>(x, x_stride, weight, bias, y, y_stride,
                                                           mean, rstd, rows, cols, eps);
}

}  // namespace onepass
