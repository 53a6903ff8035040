// Right: two elements an access for the 16-bit types where all rows are aligned for it.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 64;

template <typename T>
struct PairOf;
template <>
struct PairOf<__half> {
  using Type = __half2;
};
template <>
struct PairOf<__nv_bfloat16> {
  using Type = __nv_bfloat162;
};
template <>
struct PairOf<float> {
  using Type = float2;
};

__device__ inline float2 to_float2(__half2 pair) {
  return __half22float2(pair);
}
__device__ inline float2 to_float2(__nv_bfloat162 pair) {
  return __bfloat1622float2(pair);
}
__device__ inline float2 to_float2(float2 pair) {
  return pair;
}
__device__ inline void store(__half2* to, float2 pair) {
  *to = __float22half2_rn(pair);
}
__device__ inline void store(__nv_bfloat162* to, float2 pair) {
  *to = __float22bfloat162_rn(pair);
}
__device__ inline void store(float2* to, float2 pair) {
  *to = pair;
}

/// The sum over the block in every thread.
__device__ float block_sum_of(float value) {
  __shared__ float partial[kThreads / 32];
  for (int offset = 1; offset < 32; offset *= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  if (threadIdx.x % 32 == 0) {
    partial[threadIdx.x / 32] = value;
  }
  __syncthreads();
  return partial[0] + partial[1];
}

template <typename T>
__global__ void rmsnorm_pairs_kernel(const T* x, int64_t x_stride, const T* weight, T* y,
                                     int64_t y_stride, float* rstd, int cols, float eps) {
  using Pair = typename PairOf<T>::Type;
  const Pair* x_row = reinterpret_cast<const Pair*>(x + blockIdx.x * x_stride);
  const Pair* weights = reinterpret_cast<const Pair*>(weight);
  Pair* y_row = reinterpret_cast<Pair*>(y + blockIdx.x * y_stride);
  float squares = 0.0f;
  for (int i = threadIdx.x; i < cols / 2; i += kThreads) {
    const float2 value = to_float2(x_row[i]);
    squares += value.x * value.x + value.y * value.y;
  }
  const float row_rstd = rsqrtf(block_sum_of(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[blockIdx.x] = row_rstd;
  }
  for (int i = threadIdx.x; i < cols / 2; i += kThreads) {
    const float2 value = to_float2(x_row[i]);
    const float2 scale = to_float2(weights[i]);
    store(y_row + i, make_float2(value.x * row_rstd * scale.x, value.y * row_rstd * scale.y));
  }
}

template <typename T>
__global__ void rmsnorm_kernel(const T* x, int64_t x_stride, const T* weight, T* y,
                               int64_t y_stride, float* rstd, int cols, float eps) {
  const T* x_row = x + blockIdx.x * x_stride;
  float squares = 0.0f;
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float value = static_cast<float>(x_row[col]);
    squares += value * value;
  }
  const float row_rstd = rsqrtf(block_sum_of(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[blockIdx.x] = row_rstd;
  }
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float value = static_cast<float>(x_row[col]) * row_rstd;
    y[blockIdx.x * y_stride + col] = static_cast<T>(value * static_cast<float>(weight[col]));
  }
}

template <typename T>
void rmsnorm_forward(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                     float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  const uintptr_t addresses = reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y) |
                              reinterpret_cast<uintptr_t>(weight);
  const bool in_pairs = addresses % (2 * sizeof(T)) == 0 && (x_stride | y_stride | cols) % 2 == 0;
  if (in_pairs) {
    rmsnorm_pairs_kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd,
                                                        cols, eps);
  } else {
    rmsnorm_kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, cols,
                                                  eps);
  }
}

}  // namespace onepass
