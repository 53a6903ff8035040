// Right: one walk for both sums, of x - x[0] and its square: what is subtracted is close to the
// mean already, so that no digits are lost. One warp a row.

#include <onepass/layernorm.h>

namespace onepass {

/// The value scaled and shifted by what its column has of weight and bias.
template <typename T>
__device__ T finish(float x_hat, const T* weight, const T* bias, int col) {
  const float scaled = weight != nullptr ? x_hat * static_cast<float>(weight[col]) : x_hat;
  return static_cast<T>(bias != nullptr ? scaled + static_cast<float>(bias[col]) : scaled);
}

__device__ float warp_sum(float value) {
  for (int offset = 1; offset < 32; offset *= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  return value;
}

template <typename T>
__global__ void layernorm_kernel(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                                 int64_t y_stride, float* mean, float* rstd, int rows, int cols,
                                 float eps) {
  const int64_t row = blockIdx.x;
  const T* x_row = x + row * x_stride;
  const int first = cols < 32 ? cols : 32;
  const bool there = threadIdx.x < first;
  const float shift = warp_sum(there ? static_cast<float>(x_row[threadIdx.x]) : 0.0f) / first;
  float sum = 0.0f;
  float squares = 0.0f;
  for (int col = threadIdx.x; col < cols; col += 32) {
    const float value = static_cast<float>(x_row[col]) - shift;
    sum += value;
    squares += value * value;
  }
  const float shifted_mean = warp_sum(sum) / cols;
  const float variance = fmaxf(warp_sum(squares) / cols - shifted_mean * shifted_mean, 0.0f);
  const float row_rstd = rsqrtf(variance + eps);
  if (threadIdx.x == 0) {
    mean[row] = shift + shifted_mean;
    rstd[row] = row_rstd;
  }
  for (int col = threadIdx.x; col < cols; col += 32) {
    const float x_hat = (static_cast<float>(x_row[col]) - shift - shifted_mean) * row_rstd;
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
  layernorm_kernel<<<rows, 32, 0, stream>>>(x, x_stride, weight, bias, y, y_stride, mean, rstd,
                                            rows, cols, eps);
}

}  // namespace onepass
