// Right: the rounded sum of up to 64 KB waits in shared memory; of a wider row it is loaded again.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 256;
constexpr int kMostShared = 64 * 1024;

template <typename T>
__global__ void residual_kernel(const T* x, int64_t x_stride, const T* residual,
                                int64_t residual_stride, const T* weight, T* sum,
                                int64_t sum_stride, T* y, int64_t y_stride, float* rstd, int cols,
                                float eps, bool kept) {
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ float shares[kThreads];
  T* row_sum = reinterpret_cast<T*>(memory);
  const int64_t row = blockIdx.x;
  float share = 0.0f;
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float exact = static_cast<float>(x[row * x_stride + col]) +
                        static_cast<float>(residual[row * residual_stride + col]);
    const T rounded = static_cast<T>(exact);
    sum[row * sum_stride + col] = rounded;
    if (kept) {
      row_sum[col] = rounded;
    }
    share += static_cast<float>(rounded) * static_cast<float>(rounded);
  }
  shares[threadIdx.x] = share;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      shares[threadIdx.x] += shares[threadIdx.x + half];
    }
  }
  __syncthreads();
  const float scale = rsqrtf(shares[0] / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = scale;
  }
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const T value = kept ? row_sum[col] : sum[row * sum_stride + col];
    y[row * y_stride + col] =
        static_cast<T>(static_cast<float>(value) * (scale * static_cast<float>(weight[col])));
  }
}

template <typename T>
void rmsnorm_residual(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                      const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                      float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  const int bytes = cols * static_cast<int>(sizeof(T));
  const bool kept = bytes <= kMostShared;
  cudaFuncSetAttribute(residual_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       kMostShared);
  residual_kernel<<<rows, kThreads, kept ? bytes : 0, stream>>>(
      x, x_stride, residual, residual_stride, weight, sum, sum_stride, y, y_stride, rstd, cols, eps,
      kept);
}

}  // namespace onepass
