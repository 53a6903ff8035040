// Right: 16 bytes an access where x, y and weight all allow it, else element by element.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 256;

__device__ inline bool on_16_bytes(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % 16 == 0;
}

template <typename T>
__global__ void rmsnorm_kernel(const T* x, int64_t x_stride, const T* weight, T* y,
                               int64_t y_stride, float* rstd, int cols, float eps) {
  constexpr int kVector = 16 / sizeof(T);
  __shared__ float partial[kThreads / 32];
  const T* x_row = x + blockIdx.x * x_stride;
  T* y_row = y + blockIdx.x * y_stride;
  const bool aligned = on_16_bytes(x_row) && on_16_bytes(y_row) && on_16_bytes(weight);
  const int vectors = aligned ? cols / kVector : 0;
  float squares = 0.0f;
  for (int i = threadIdx.x; i < vectors; i += kThreads) {
    const uint4 raw = reinterpret_cast<const uint4*>(x_row)[i];
    const T* values = reinterpret_cast<const T*>(&raw);
    for (int k = 0; k < kVector; ++k) {
      const float value = static_cast<float>(values[k]);
      squares += value * value;
    }
  }
  for (int col = vectors * kVector + threadIdx.x; col < cols; col += kThreads) {
    const float value = static_cast<float>(x_row[col]);
    squares += value * value;
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    squares += __shfl_xor_sync(0xffffffffu, squares, offset);
  }
  if (threadIdx.x % 32 == 0) {
    partial[threadIdx.x / 32] = squares;
  }
  __syncthreads();
  float total = 0.0f;
  for (int warp = 0; warp < kThreads / 32; ++warp) {
    total += partial[warp];
  }
  const float row_rstd = rsqrtf(total / cols + eps);
  if (threadIdx.x == 0) {
    rstd[blockIdx.x] = row_rstd;
  }
  for (int i = threadIdx.x; i < vectors; i += kThreads) {
    const uint4 raw = reinterpret_cast<const uint4*>(x_row)[i];
    const uint4 raw_weight = __ldg(reinterpret_cast<const uint4*>(weight) + i);
    const T* values = reinterpret_cast<const T*>(&raw);
    const T* weights = reinterpret_cast<const T*>(&raw_weight);
    uint4 raw_result;
    T* results = reinterpret_cast<T*>(&raw_result);
    for (int k = 0; k < kVector; ++k) {
      const float value = static_cast<float>(values[k]) * row_rstd;
      results[k] = static_cast<T>(value * static_cast<float>(weights[k]));
    }
    reinterpret_cast<uint4*>(y_row)[i] = raw_result;
  }
  for (int col = vectors * kVector + threadIdx.x; col < cols; col += kThreads) {
    const float value = static_cast<float>(x_row[col]) * row_rstd;
    y_row[col] = static_cast<T>(value * static_cast<float>(weight[col]));
  }
}

template <typename T>
void rmsnorm_forward(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                     float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  rmsnorm_kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, cols, eps);
}

}  // namespace onepass
