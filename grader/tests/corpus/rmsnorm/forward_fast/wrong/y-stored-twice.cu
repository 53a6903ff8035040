// diagnosis: slower-than-a-copy
// check: speed
// says: The next step: y is stored 2 times over: store each element once
// needs: cpu
// Right, but for packs; y is made 0 before it is stored.
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 256;
constexpr int kHeld = 32;

template <typename T>
__global__ void k(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                  float* rstd, int cols, float eps) {
  __shared__ float partial[kThreads];
  const int64_t row = blockIdx.x;
  const T* xr = x + row * x_stride;
  T* yr = y + row * y_stride;
  float held[kHeld];
  float sum = 0.0f;
  const bool fits = cols <= kHeld * kThreads;
  for (int i = 0; threadIdx.x + i * kThreads < cols; ++i) {
    const float v = static_cast<float>(xr[threadIdx.x + i * kThreads]);
    if (fits) held[i] = v;
    sum += v * v;
  }
  partial[threadIdx.x] = sum;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
  }
  __syncthreads();
  const float r = rsqrtf(partial[0] / cols + eps);
  if (threadIdx.x == 0) rstd[row] = r;
  for (int i = 0; threadIdx.x + i * kThreads < cols; ++i) {
    float v = r * (fits ? held[i] : static_cast<float>(xr[threadIdx.x + i * kThreads]));
    const T out = static_cast<T>(
        weight == nullptr ? v : v * static_cast<float>(weight[threadIdx.x + i * kThreads]));
    *reinterpret_cast<volatile short*>(yr + threadIdx.x + i * kThreads) = 0;  // not left out
    yr[threadIdx.x + i * kThreads] = out;
  }
}

template <typename T>
void rmsnorm_forward_fast(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                          float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows > 0)
    k<T><<<rows, kThreads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, cols, eps);
}

}  // namespace onepass
