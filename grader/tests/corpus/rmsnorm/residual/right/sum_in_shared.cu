// Right: the rounded sum of up to 64 KB waits in shared memory; of a wider row it is loaded again.

#include <onepass/fast.h>
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 256;
constexpr int kMostShared = 64 * 1024;

template <typename T, int V>
__global__ void residual_kernel(const T* x, int64_t x_stride, const T* residual,
                                int64_t residual_stride, const T* weight, T* sum,
                                int64_t sum_stride, T* y, int64_t y_stride, float* rstd, int cols,
                                float eps, bool kept) {
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ float shares[kThreads];
  const int64_t row = blockIdx.x;
  using Unit = Pack<T, V>;
  const auto* x_row = reinterpret_cast<const Unit*>(x + row * x_stride);
  const auto* residual_row = reinterpret_cast<const Unit*>(residual + row * residual_stride);
  const auto* weights = reinterpret_cast<const Unit*>(weight);
  auto* sum_row = reinterpret_cast<Unit*>(sum + row * sum_stride);
  auto* y_row = reinterpret_cast<Unit*>(y + row * y_stride);
  Unit* row_sum = reinterpret_cast<Unit*>(memory);
  float share = 0.0f;
  for (int i = threadIdx.x; i < cols / V; i += kThreads) {
    const Unit a = x_row[i];
    const Unit b = residual_row[i];
    Unit rounded;
    for (int j = 0; j < V; ++j) {
      rounded.values[j] = static_cast<T>(value_of(a, j) + value_of(b, j));
    }
    sum_row[i] = rounded;
    if (kept) {
      row_sum[i] = rounded;
    }
    for (int j = 0; j < V; ++j) {
      share += value_of(rounded, j) * value_of(rounded, j);
    }
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
  for (int i = threadIdx.x; i < cols / V; i += kThreads) {
    const Unit unit = kept ? row_sum[i] : sum_row[i];
    const Unit factors = weights[i];
    Unit result;
    for (int j = 0; j < V; ++j) {
      result.values[j] = static_cast<T>(value_of(unit, j) * (scale * value_of(factors, j)));
    }
    y_row[i] = result;
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
  const auto bits = [](const T* tensor, int64_t stride) {
    return reinterpret_cast<uintptr_t>(tensor) | stride * sizeof(T);
  };
  const bool aligned = (bits(x, x_stride) | bits(residual, residual_stride) | bits(weight, cols) |
                        bits(sum, sum_stride) | bits(y, y_stride)) %
                           16 ==
                       0;
  with_pack_of<T>(aligned ? 16 : 1, [&](auto pack) {
    constexpr int V = pack.value;
    cudaFuncSetAttribute(residual_kernel<T, V>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         kMostShared);
    residual_kernel<T, V><<<rows, kThreads, kept ? bytes : 0, stream>>>(
        x, x_stride, residual, residual_stride, weight, sum, sum_stride, y, y_stride, rstd, cols,
        eps, kept);
  });
}

}  // namespace onepass
