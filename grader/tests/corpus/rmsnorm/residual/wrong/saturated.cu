// diagnosis: result-saturated
// check: shapes drawn
// A finite sum beyond fp16 is kept at its largest number.
#include <onepass/rmsnorm.h>

#include <type_traits>

namespace onepass {

__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// Once in a kernel: the array is not free again afterwards.
__device__ inline float block_sum_of(float value) {
  __shared__ float partial[32];
  const int lane = threadIdx.x % 32;
  value = warp_sum(value);
  if (lane == 0) {
    partial[threadIdx.x / 32] = value;
  }
  __syncthreads();
  return warp_sum(lane < blockDim.x / 32 ? partial[lane] : 0.0f);
}

/// The rounded sum of two numbers. Infinities and NaN of the inputs go through; finite numbers stay
/// finite.
template <typename T>
__device__ inline T sum_of(T a, T b) {
  const float x = static_cast<float>(a);
  const float y = static_cast<float>(b);
  float sum = x + y;
  if constexpr (std::is_same_v<T, __half>) {
    if (isfinite(x) && isfinite(y)) {
      sum = fminf(fmaxf(sum, -65504.0f), 65504.0f);
    }
  }
  return static_cast<T>(sum);
}

/// The sum waits in registers, kEach columns a thread.
template <typename T, int kEach>
__global__ void __launch_bounds__(1024)
    held_kernel(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride, float* rstd,
                int cols, float eps) {
  const int64_t row = blockIdx.x;
  const T* x_row = x + row * x_stride;
  const T* residual_row = residual + row * residual_stride;
  T* sum_row = sum + row * sum_stride;
  T* y_row = y + row * y_stride;
  T held[kEach];
  float squares = 0.0f;
#pragma unroll
  for (int p = 0; p < kEach; ++p) {
    const int col = p * blockDim.x + threadIdx.x;
    if (col < cols) {
      held[p] = sum_of(x_row[col], residual_row[col]);
      const float value = static_cast<float>(held[p]);
      squares += value * value;
      sum_row[col] = held[p];
    }
  }
  const float row_rstd = rsqrtf(block_sum_of(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = row_rstd;
  }
#pragma unroll
  for (int p = 0; p < kEach; ++p) {
    const int col = p * blockDim.x + threadIdx.x;
    if (col < cols) {
      y_row[col] = static_cast<T>(static_cast<float>(held[p]) * row_rstd *
                                  static_cast<float>(weight[col]));
    }
  }
}

/// Wider rows: two passes.
template <typename T>
__global__ void __launch_bounds__(1024)
    wide_kernel(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride, float* rstd,
                int cols, float eps) {
  const int64_t row = blockIdx.x;
  const T* x_row = x + row * x_stride;
  const T* residual_row = residual + row * residual_stride;
  T* sum_row = sum + row * sum_stride;
  T* y_row = y + row * y_stride;
  float squares = 0.0f;
  for (int col = threadIdx.x; col < cols; col += blockDim.x) {
    const T total = sum_of(x_row[col], residual_row[col]);
    const float value = static_cast<float>(total);
    squares += value * value;
    sum_row[col] = total;
  }
  const float row_rstd = rsqrtf(block_sum_of(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = row_rstd;
  }
  for (int col = threadIdx.x; col < cols; col += blockDim.x) {
    const T total = sum_row[col];  // this thread has written it
    y_row[col] =
        static_cast<T>(static_cast<float>(total) * row_rstd * static_cast<float>(weight[col]));
  }
}

template <typename T>
void rmsnorm_residual(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                      const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                      float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  const int threads = cols >= 8192 ? 1024 : cols >= 1024 ? 512 : 128;
  const auto kernel = cols <= 4 * threads    ? held_kernel<T, 4>
                      : cols <= 16 * threads ? held_kernel<T, 16>
                                             : wide_kernel<T>;
  kernel<<<rows, threads, 0, stream>>>(x, x_stride, residual, residual_stride, weight, sum,
                                       sum_stride, y, y_stride, rstd, cols, eps);
}

}  // namespace onepass
