// slow: all rows in few blocks
// Right: as many blocks as keep the GPU busy walk over the rows with a stride; each thread keeps
// its weights in registers from row to row.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 512;
constexpr int kMostBlocks = 24;

template <typename T, int V>
struct alignas(sizeof(T) * V) Vector {
  T values[V];
};

template <typename T, int V, int kUnits>
__global__ void persistent_kernel(const T* x, int64_t x_stride, const T* weight, T* y,
                                  int64_t y_stride, float* rstd, int rows, int cols, float eps) {
  using Unit = Vector<T, V>;
  __shared__ float slots[2][kThreads / 32];
  const int units = cols / V;
  Unit weights[kUnits] = {};
  for (int u = 0; u < kUnits; ++u) {
    const int i = u * kThreads + threadIdx.x;
    for (int j = 0; j < V; ++j) {
      weights[u].values[j] = static_cast<T>(1.0f);
    }
    if (i < units && weight != nullptr) {
      weights[u] = reinterpret_cast<const Unit*>(weight)[i];
    }
  }
  int parity = 0;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    Unit held[kUnits] = {};
    float sum = 0.0f;
    for (int u = 0; u < kUnits; ++u) {
      const int i = u * kThreads + threadIdx.x;
      if (i < units) {
        held[u] = reinterpret_cast<const Unit*>(x + row * x_stride)[i];
      }
      for (int j = 0; j < V; ++j) {
        sum += static_cast<float>(held[u].values[j]) * static_cast<float>(held[u].values[j]);
      }
    }
    for (int offset = 16; offset > 0; offset /= 2) {
      sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    }
    if (threadIdx.x % 32 == 0) {
      slots[parity][threadIdx.x / 32] = sum;
    }
    __syncthreads();
    sum = threadIdx.x % 32 < kThreads / 32 ? slots[parity][threadIdx.x % 32] : 0.0f;
    for (int offset = 16; offset > 0; offset /= 2) {
      sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    }
    const float scale = rsqrtf(sum / cols + eps);
    if (threadIdx.x == 0) {
      rstd[row] = scale;
    }
    for (int u = 0; u < kUnits; ++u) {
      const int i = u * kThreads + threadIdx.x;
      if (i < units) {
        for (int j = 0; j < V; ++j) {
          held[u].values[j] = static_cast<T>(static_cast<float>(held[u].values[j]) * scale *
                                             static_cast<float>(weights[u].values[j]));
        }
        reinterpret_cast<Unit*>(y + row * y_stride)[i] = held[u];
      }
    }
    parity ^= 1;
  }
}

/// Any width: a warp a row, which reads it twice.
template <typename T, int V>
__global__ void warp_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                            float* rstd, int cols, float eps) {
  using Unit = Vector<T, V>;
  const int64_t row = blockIdx.x;
  const auto* units = reinterpret_cast<const Unit*>(x + row * x_stride);
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols / V; i += 32) {
    const Unit unit = units[i];
    for (int j = 0; j < V; ++j) {
      sum += static_cast<float>(unit.values[j]) * static_cast<float>(unit.values[j]);
    }
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  }
  const float scale = rsqrtf(sum / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = scale;
  }
  for (int i = threadIdx.x; i < cols / V; i += 32) {
    Unit unit = units[i];
    for (int j = 0; j < V; ++j) {
      unit.values[j] =
          static_cast<T>(static_cast<float>(unit.values[j]) * scale *
                         (weight ? static_cast<float>(weight[i * V + j]) : 1.0f));
    }
    reinterpret_cast<Unit*>(y + row * y_stride)[i] = unit;
  }
}

template <typename T>
void rmsnorm_forward_fast(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                          float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  constexpr int V = 16 / sizeof(T);
  if (rows == 0) {
    return;
  }
  const uintptr_t addresses = reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y) |
                              reinterpret_cast<uintptr_t>(weight);
  const bool aligned =
      addresses % 16 == 0 && x_stride % V == 0 && y_stride % V == 0 && cols % V == 0;
  if (cols > 16384) {
    const auto kernel = aligned ? warp_kernel<T, V> : warp_kernel<T, 1>;
    kernel<<<rows, 32, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, cols, eps);
    return;
  }
  const auto kernel = aligned ? persistent_kernel<T, V, 32 / V> : persistent_kernel<T, 1, 32>;
  const int blocks = rows < kMostBlocks ? rows : kMostBlocks;
  kernel<<<blocks, kThreads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, rows, cols, eps);
}

}  // namespace onepass
