// diagnosis: none
// says: Where residual is 0 everywhere the same call is right: look at how residual enters.
// y is made of x, and not of the sum.
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kPer = 16;

__device__ inline float row_total(float v) {
  for (int o = 1; o < 32; o *= 2) v += __shfl_xor_sync(0xffffffffu, v, o);
  if (blockDim.x == 32) return v;
  __shared__ float by_warp[32];
  if (threadIdx.x % 32 == 0) by_warp[threadIdx.x / 32] = v;
  __syncthreads();
  float t = 0.0f;
  for (int w = 0; w < blockDim.x / 32; ++w) t += by_warp[w];
  return t;
}

/// blockDim.x threads have a row, and blockDim.y rows a block.
template <typename T>
__global__ void __launch_bounds__(1024)
    add_norm(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
             const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride, float* rstd,
             int rows, int cols, float eps) {
  const int64_t row = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;  // only where a row is a warp's
  T x_held[kPer], sum_held[kPer];
#pragma unroll
  for (int k = 0; k < kPer; ++k) {
    const int c = threadIdx.x + k * blockDim.x;
    x_held[k] = c < cols ? x[row * x_stride + c] : T(0.0f);
    const T other = c < cols ? residual[row * residual_stride + c] : T(0.0f);
    sum_held[k] = T(float(x_held[k]) + float(other));
  }
  float s = 0.0f;
#pragma unroll
  for (int k = 0; k < kPer; ++k) s += float(sum_held[k]) * float(sum_held[k]);
  const float r = rsqrtf(row_total(s) / cols + eps);
  if (threadIdx.x == 0) rstd[row] = r;
#pragma unroll
  for (int k = 0; k < kPer; ++k) {
    const int c = threadIdx.x + k * blockDim.x;
    if (c < cols) {
      sum[row * sum_stride + c] = sum_held[k];
      y[row * y_stride + c] = T(float(x_held[k]) * r * float(weight[c]));
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(1024)
    add_norm_wide(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                  const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride, float* rstd,
                  int rows, int cols, float eps) {
  const int64_t row = blockIdx.x;
  T* sum_row = sum + row * sum_stride;
  float s = 0.0f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    const T z = T(float(x[row * x_stride + c]) + float(residual[row * residual_stride + c]));
    sum_row[c] = z;
    s += float(z) * float(z);
  }
  const float r = rsqrtf(row_total(s) / cols + eps);
  if (threadIdx.x == 0) rstd[row] = r;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    y[row * y_stride + c] = T(float(sum_row[c]) * r * float(weight[c]));
  }
}

template <typename T>
void rmsnorm_residual(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                      const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                      float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) return;
  const bool warp = cols <= 32 * kPer;
  const int threads = warp ? 32 : cols <= 4096 ? 256 : 1024;
  const int each = warp ? 8 : 1;
  const unsigned blocks = static_cast<unsigned>(((int64_t)rows + each - 1) / each);
  auto kernel = cols <= 1024 * kPer ? add_norm<T> : add_norm_wide<T>;
  kernel<<<blocks, dim3(threads, each), 0, stream>>>(x, x_stride, residual, residual_stride, weight,
                                                     sum, sum_stride, y, y_stride, rstd, rows, cols,
                                                     eps);
}

}  // namespace onepass
