// diagnosis: narrow-access
// There is no kernel with packs for a bias without a weight.
// LayerNorm forward after Apex' fast layer norm: the row in registers, and a kernel for each kind
// of layer: with weight and bias, with a weight alone, and without either.
#include <onepass/layernorm.h>

namespace onepass {

constexpr int kMaxThreads = 512;
constexpr int kHeldCols = 8192;

enum class Affine { none, weight, weight_and_bias, any };

template <typename T, int NUM>
struct alignas(sizeof(T) * NUM) Vec {
  T elt[NUM];
};

template <int kWhich>
__device__ inline float cta_sum(float val) {
  __shared__ float smem[kMaxThreads / 32];
  const int lane = threadIdx.x & 31;
  for (int mask = 16; mask > 0; mask >>= 1) val += __shfl_xor_sync(uint32_t(-1), val, mask);
  if (blockDim.x == 32) return val;
  if (lane == 0) smem[threadIdx.x >> 5] = val;
  __syncthreads();
  val = lane < static_cast<int>(blockDim.x >> 5) ? smem[lane] : 0.f;
  for (int mask = 16; mask > 0; mask >>= 1) val += __shfl_xor_sync(uint32_t(-1), val, mask);
  return val;
}

template <typename T, int NUM, Affine kAffine>
__device__ inline Vec<T, NUM> apply(const float (&hat)[NUM], const T* gamma, const T* beta, int i) {
  using V = Vec<T, NUM>;
  float z[NUM];
#pragma unroll
  for (int j = 0; j < NUM; ++j) z[j] = hat[j];
  if (kAffine == Affine::weight || kAffine == Affine::weight_and_bias ||
      (kAffine == Affine::any && gamma != nullptr)) {
    const V g = reinterpret_cast<const V*>(gamma)[i];
#pragma unroll
    for (int j = 0; j < NUM; ++j) z[j] *= static_cast<float>(g.elt[j]);
  }
  if (kAffine == Affine::weight_and_bias || (kAffine == Affine::any && beta != nullptr)) {
    const V b = reinterpret_cast<const V*>(beta)[i];
#pragma unroll
    for (int j = 0; j < NUM; ++j) z[j] += static_cast<float>(b.elt[j]);
  }
  V out;
#pragma unroll
  for (int j = 0; j < NUM; ++j) out.elt[j] = static_cast<T>(z[j]);
  return out;
}

/// LDGS loads a thread, which it keeps; 0: as many as there are, loaded in each walk.
template <typename T, int NUM, int LDGS, Affine kAffine>
__global__ void __launch_bounds__(kMaxThreads)
    ln_fwd_kernel(const T* x, int64_t x_stride, const T* gamma, const T* beta, T* z,
                  int64_t z_stride, float* mu, float* rs, int cols, float eps) {
  using V = Vec<T, NUM>;
  constexpr int kKeep = LDGS > 0 ? LDGS : 1;
  const int64_t row = blockIdx.x;
  const V* x_row = reinterpret_cast<const V*>(x + row * x_stride);
  V* z_row = reinterpret_cast<V*>(z + row * z_stride);
  const int n = cols / NUM;
  const int steps = LDGS > 0 ? LDGS : (n + static_cast<int>(blockDim.x) - 1) / blockDim.x;
  V data[kKeep];

  float sum = 0.f;
#pragma unroll(kKeep)
  for (int it = 0; it < steps; ++it) {
    const int i = it * blockDim.x + threadIdx.x;
    if (i < n) {
      const V v = x_row[i];
      if (LDGS > 0) data[LDGS > 0 ? it : 0] = v;
#pragma unroll
      for (int j = 0; j < NUM; ++j) sum += static_cast<float>(v.elt[j]);
    }
  }
  const float mean = cta_sum<0>(sum) / cols;

  float squares = 0.f;
#pragma unroll(kKeep)
  for (int it = 0; it < steps; ++it) {
    const int i = it * blockDim.x + threadIdx.x;
    if (i < n) {
      const V v = LDGS > 0 ? data[LDGS > 0 ? it : 0] : x_row[i];
#pragma unroll
      for (int j = 0; j < NUM; ++j) {
        const float d = static_cast<float>(v.elt[j]) - mean;
        squares += d * d;
      }
    }
  }
  const float rstd = rsqrtf(cta_sum<1>(squares) / cols + eps);
  if (threadIdx.x == 0) {
    mu[row] = mean;
    rs[row] = rstd;
  }

#pragma unroll(kKeep)
  for (int it = 0; it < steps; ++it) {
    const int i = it * blockDim.x + threadIdx.x;
    if (i < n) {
      const V v = LDGS > 0 ? data[LDGS > 0 ? it : 0] : x_row[i];
      float hat[NUM];
#pragma unroll
      for (int j = 0; j < NUM; ++j) hat[j] = (static_cast<float>(v.elt[j]) - mean) * rstd;
      z_row[i] = apply<T, NUM, kAffine>(hat, gamma, beta, i);
    }
  }
}

template <typename T, int NUM, Affine kAffine>
void launch(const T* x, int64_t x_stride, const T* gamma, const T* beta, T* z, int64_t z_stride,
            float* mu, float* rs, int rows, int cols, float eps, cudaStream_t stream) {
  constexpr int kLdgs = 16 / NUM;
  const int n = cols / NUM;
  const int warps = (n + 32 * kLdgs - 1) / (32 * kLdgs);
  if (cols <= kHeldCols) {
    ln_fwd_kernel<T, NUM, kLdgs, kAffine><<<rows, 32 * warps, 0, stream>>>(
        x, x_stride, gamma, beta, z, z_stride, mu, rs, cols, eps);
  } else {
    ln_fwd_kernel<T, NUM, 0, kAffine><<<rows, kMaxThreads, 0, stream>>>(
        x, x_stride, gamma, beta, z, z_stride, mu, rs, cols, eps);
  }
}

template <typename T>
void layernorm_forward_fast(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                            int64_t y_stride, float* mean, float* rstd, int rows, int cols,
                            float eps, cudaStream_t stream) {
  if (rows == 0) return;
  constexpr int NUM = 16 / sizeof(T);
  const uintptr_t bits = reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y) |
                         reinterpret_cast<uintptr_t>(weight) | reinterpret_cast<uintptr_t>(bias);
  const bool aligned =
      bits % 16 == 0 && x_stride % NUM == 0 && y_stride % NUM == 0 && cols % NUM == 0;
  auto fn = launch<T, 1, Affine::any>;
  if (aligned && weight != nullptr && bias != nullptr) {
    fn = launch<T, NUM, Affine::weight_and_bias>;
  } else if (aligned && weight != nullptr) {
    fn = launch<T, NUM, Affine::weight>;
  } else if (aligned && bias == nullptr) {
    fn = launch<T, NUM, Affine::none>;
  }
  fn(x, x_stride, weight, bias, y, y_stride, mean, rstd, rows, cols, eps, stream);
}

}  // namespace onepass
