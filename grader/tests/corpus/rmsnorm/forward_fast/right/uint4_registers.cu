// Right: 16 bytes are held as a uint4 and unpacked where they are used. Weights are loaded before
// the reduction. One kernel whose registers hold 64 columns a thread; wider rows and rows that are
// not aligned go another way.

#include <cstring>

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kUnits = 8;

__device__ inline float block_sum(float value) {
  __shared__ float slots[32];
  __shared__ float total;
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_down_sync(0xffffffffu, value, offset);
  }
  if (threadIdx.x % 32 == 0) {
    slots[threadIdx.x / 32] = value;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    float sum = 0.0f;
    for (int warp = 0; warp < blockDim.x / 32; ++warp) {
      sum += slots[warp];
    }
    total = sum;
  }
  __syncthreads();
  return total;
}

template <typename T>
__global__ void __launch_bounds__(1024)
    held_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride, float* rstd,
                int cols, float eps) {
  constexpr int V = 16 / sizeof(T);
  const int64_t row = blockIdx.x;
  uint4 held[kUnits];
  uint4 factors[kUnits] = {};
  float sum = 0.0f;
  for (int u = 0; u < kUnits; ++u) {
    const int i = u * blockDim.x + threadIdx.x;
    if (i < cols / V) {
      held[u] = __ldcs(reinterpret_cast<const uint4*>(x + row * x_stride) + i);
      if (weight != nullptr) {
        factors[u] = __ldg(reinterpret_cast<const uint4*>(weight) + i);
      }
      T values[V];
      std::memcpy(values, &held[u], 16);
      for (int j = 0; j < V; ++j) {
        sum += static_cast<float>(values[j]) * static_cast<float>(values[j]);
      }
    }
  }
  const float scale = rsqrtf(block_sum(sum) / cols + eps);
  for (int u = 0; u < kUnits; ++u) {
    const int i = u * blockDim.x + threadIdx.x;
    if (i < cols / V) {
      T values[V];
      T weights[V];
      std::memcpy(values, &held[u], 16);
      std::memcpy(weights, &factors[u], 16);
      for (int j = 0; j < V; ++j) {
        const float factor = weight == nullptr ? 1.0f : static_cast<float>(weights[j]);
        values[j] = static_cast<T>(static_cast<float>(values[j]) * scale * factor);
      }
      uint4 result;
      std::memcpy(&result, values, 16);
      __stcs(reinterpret_cast<uint4*>(y + row * y_stride) + i, result);
    }
  }
  if (threadIdx.x == 0) {
    rstd[row] = scale;
  }
}

/// A thread's columns in an array of fp32: 32 at most, and the row is read again beyond.
template <typename T, int V>
__global__ void any_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                           float* rstd, int cols, float eps) {
  struct alignas(V * sizeof(T)) Unit {
    T values[V];
  };
  constexpr int kHeld = 32 / V;
  const int64_t row = blockIdx.x;
  const auto* units = reinterpret_cast<const Unit*>(x + row * x_stride);
  Unit held[kHeld];
  float sum = 0.0f;
  int n = 0;
  for (int i = threadIdx.x; i < cols / V; i += blockDim.x, ++n) {
    const Unit unit = units[i];
    if (n < kHeld) {
      held[n] = unit;
    }
    for (int j = 0; j < V; ++j) {
      sum += static_cast<float>(unit.values[j]) * static_cast<float>(unit.values[j]);
    }
  }
  const float scale = rsqrtf(block_sum(sum) / cols + eps);
  n = 0;
  for (int i = threadIdx.x; i < cols / V; i += blockDim.x, ++n) {
    Unit unit = n < kHeld ? held[n] : units[i];
    for (int j = 0; j < V; ++j) {
      unit.values[j] =
          static_cast<T>(static_cast<float>(unit.values[j]) * scale *
                         (weight ? static_cast<float>(weight[i * V + j]) : 1.0f));
    }
    reinterpret_cast<Unit*>(y + row * y_stride)[i] = unit;
  }
  if (threadIdx.x == 0) {
    rstd[row] = scale;
  }
}

template <typename T>
void rmsnorm_forward_fast(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                          float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  constexpr int V = 16 / sizeof(T);
  if (rows == 0) {
    return;
  }
  const auto aligned = [cols](const T* tensor, int64_t stride) {
    return reinterpret_cast<uintptr_t>(tensor) % 16 == 0 && stride % V == 0 && cols % V == 0;
  };
  const bool all_aligned = aligned(x, x_stride) && aligned(y, y_stride) && aligned(weight, 0);
  if (all_aligned && cols <= V * kUnits * 1024) {
    const int warps = (cols + 32 * V * kUnits - 1) / (32 * V * kUnits);
    held_kernel<<<rows, 32 * warps, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, cols, eps);
  } else {
    const auto kernel = all_aligned ? any_kernel<T, V> : any_kernel<T, 1>;
    kernel<<<rows, 512, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, cols, eps);
  }
}

}  // namespace onepass
