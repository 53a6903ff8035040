// diagnosis: shared-row-too-big
// status: launch error
// On a GPU with less shared memory: what a block may ask for is what there is less its static arrays.
// Exercise 1.5: the residual, and RMSNorm of the sum. A block of 1,024 threads a row, column by
// column. The sum is kept as floats: 16 columns a thread in registers, and what is behind these in
// shared memory, as far as the GPU has it. Else the thread reads back what it has stored.
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 1024;
constexpr int kHeld = 16;
constexpr int kInRegisters = kHeld * kThreads;

__device__ inline float block_sum_of(float value) {
  __shared__ float partial[kThreads / 32];
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  if (threadIdx.x % 32 == 0) {
    partial[threadIdx.x / 32] = value;
  }
  __syncthreads();
  value = partial[threadIdx.x % 32];
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

template <typename T, bool kKept>
__global__ void __launch_bounds__(kThreads)
    residual_kernel(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                    const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                    float* rstd, int cols, float eps) {
  extern __shared__ float kept[];  // [cols - kInRegisters]
  const int64_t row = blockIdx.x;
  x += row * x_stride;
  residual += row * residual_stride;
  sum += row * sum_stride;
  y += row * y_stride;
  float held[kHeld];
  float squares = 0.0f;
#pragma unroll
  for (int k = 0; k < kHeld; ++k) {
    const int col = k * kThreads + threadIdx.x;
    held[k] = 0.0f;
    if (col < cols) {
      held[k] = static_cast<float>(
          static_cast<T>(static_cast<float>(x[col]) + static_cast<float>(residual[col])));
      squares += held[k] * held[k];
    }
  }
  for (int col = kInRegisters + threadIdx.x; col < cols; col += kThreads) {
    const T rounded = static_cast<T>(static_cast<float>(x[col]) + static_cast<float>(residual[col]));
    const float value = static_cast<float>(rounded);
    squares += value * value;
    sum[col] = rounded;
    if (kKept) {
      kept[col - kInRegisters] = value;
    }
  }
  const float scale = rsqrtf(block_sum_of(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = scale;
  }
#pragma unroll
  for (int k = 0; k < kHeld; ++k) {
    const int col = k * kThreads + threadIdx.x;
    if (col < cols) {
      sum[col] = static_cast<T>(held[k]);  // exact: it was rounded before
      y[col] = static_cast<T>(held[k] * scale * static_cast<float>(weight[col]));
    }
  }
  for (int col = kInRegisters + threadIdx.x; col < cols; col += kThreads) {
    const float value = kKept ? kept[col - kInRegisters] : static_cast<float>(sum[col]);
    y[col] = static_cast<T>(value * scale * static_cast<float>(weight[col]));
  }
}

inline int most_shared_memory() {
  static const int most = [] {
    int device = 0, value = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    return value;
  }();
  return most;
}

template <typename T>
void rmsnorm_residual(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                      const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                      float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  int bytes = cols > kInRegisters ? (cols - kInRegisters) * static_cast<int>(sizeof(float)) : 0;
  auto kernel = residual_kernel<T, true>;
  if (bytes > most_shared_memory()) {
    kernel = residual_kernel<T, false>;
    bytes = 0;
  } else if (bytes > 0) {
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  }
  kernel<<<rows, kThreads, bytes, stream>>>(x, x_stride, residual, residual_stride, weight, sum,
                                            sum_stride, y, y_stride, rstd, cols, eps);
}

}  // namespace onepass
