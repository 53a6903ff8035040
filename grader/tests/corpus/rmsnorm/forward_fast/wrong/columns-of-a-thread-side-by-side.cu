// diagnosis: slower-than-a-copy
// check: speed
// says: The next step: reads x: 32 sectors a request where 2 would do
// needs: cpu
// Right, but for packs; x is loaded once, and neighbouring lanes are many columns apart.
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
  const int each = (cols + kThreads - 1) / kThreads;  // columns of a thread
  const bool fits = each <= kHeld;
  for (int i = 0; i < each && threadIdx.x * each + i < cols; ++i) {
    const float v = static_cast<float>(xr[threadIdx.x * each + i]);
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
  for (int i = 0; i < each && threadIdx.x * each + i < cols; ++i) {
    float v = r * (fits ? held[i] : static_cast<float>(xr[threadIdx.x * each + i]));
    const T out = static_cast<T>(
        weight == nullptr ? v : v * static_cast<float>(weight[threadIdx.x * each + i]));
    yr[threadIdx.x * each + i] = out;
  }
}

template <typename T>
void rmsnorm_forward_fast(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                          float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows > 0)
    k<T><<<rows, kThreads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, cols, eps);
}

}  // namespace onepass
