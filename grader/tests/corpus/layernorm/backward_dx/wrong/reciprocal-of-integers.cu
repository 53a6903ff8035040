// diagnosis: none
// says: Every wrong element is 0: is a factor of it 0
// 1 / cols is a division of integers.
#include <onepass/layernorm.h>

namespace onepass {

constexpr int kBlock = 128;

template <typename T>
__global__ void grad_input_kernel(const T* dY, int64_t dY_s, const T* X, int64_t X_s,
                                  const T* gamma, const float* mean, const float* rstd, T* dX,
                                  int64_t dX_s, int N) {
  __shared__ float buf1[kBlock];
  __shared__ float buf2[kBlock];
  const int64_t i1 = blockIdx.x;
  const T* X_i = X + i1 * X_s;
  const T* dY_i = dY + i1 * dY_s;
  T* dX_i = dX + i1 * dX_s;
  const float mean_val = mean[i1];
  const float rstd_val = rstd[i1];
  float stats_x1 = 0.f, stats_x2 = 0.f;
  for (int l = threadIdx.x; l < N; l += kBlock) {
    const float gamma_val = gamma != nullptr ? static_cast<float>(gamma[l]) : 1.f;
    const float c_loss = static_cast<float>(dY_i[l]) * gamma_val;
    stats_x1 += c_loss;
    stats_x2 += c_loss * (static_cast<float>(X_i[l]) - mean_val) * rstd_val;
  }
  buf1[threadIdx.x] = stats_x1;
  buf2[threadIdx.x] = stats_x2;
  __syncthreads();
  for (int half = kBlock / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      buf1[threadIdx.x] += buf1[threadIdx.x + half];
      buf2[threadIdx.x] += buf2[threadIdx.x + half];
    }
    __syncthreads();
  }
  stats_x1 = buf1[0];
  stats_x2 = buf2[0];
  const float fH = N;
  const float term1 = (1 / N) * rstd_val;
  for (int l = threadIdx.x; l < N; l += kBlock) {
    const float gamma_val = gamma != nullptr ? static_cast<float>(gamma[l]) : 1.f;
    float f_grad_input = fH * gamma_val * static_cast<float>(dY_i[l]);
    f_grad_input -= (static_cast<float>(X_i[l]) - mean_val) * rstd_val * stats_x2;
    f_grad_input -= stats_x1;
    f_grad_input *= term1;
    dX_i[l] = static_cast<T>(f_grad_input);
  }
}

template <typename T>
void layernorm_backward_dx(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* mean, const float* rstd, T* dx,
                           int64_t dx_stride, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  grad_input_kernel<<<rows, kBlock, 0, stream>>>(dy, dy_stride, x, x_stride, weight, mean, rstd, dx,
                                                 dx_stride, cols);
}

}  // namespace onepass
