// Right: rows of up to 128 columns share a warp, two a warp, with sums over 16 lanes; all others
// take a block, whose threads keep their share in registers and the rest in shared memory.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 256;
constexpr int kHeld = 4;              // vectors a thread in registers
constexpr int kMostBytes = 64 << 10;  // of shared memory for the rest

template <typename T, int V>
struct alignas(sizeof(T) * V) Vector {
  T values[V];
};

template <typename T, int V>
__device__ inline float squares(const Vector<T, V>& unit) {
  float sum = 0.0f;
  for (int j = 0; j < V; ++j) {
    sum += static_cast<float>(unit.values[j]) * static_cast<float>(unit.values[j]);
  }
  return sum;
}

template <typename T, int V>
__device__ inline Vector<T, V> scaled(const Vector<T, V>& unit, float scale,
                                      const Vector<T, V>* weights, int64_t i) {
  Vector<T, V> result;
  for (int j = 0; j < V; ++j) {
    const float weight = weights == nullptr ? 1.0f : static_cast<float>(weights[i].values[j]);
    result.values[j] = static_cast<T>(static_cast<float>(unit.values[j]) * scale * weight);
  }
  return result;
}

template <typename T, int V>
__global__ void pair_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                            float* rstd, int rows, int cols, float eps) {
  constexpr int kEach = 128 / 16 / V;  // vectors of a lane
  using Unit = Vector<T, V>;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * 2 + threadIdx.y;
  const int lane = threadIdx.x;  // 0 to 15
  Unit held[kEach > 0 ? kEach : 1] = {};
  float sum = 0.0f;
  for (int u = 0, i = lane; row < rows && i < cols / V; ++u, i += 16) {
    held[u] = reinterpret_cast<const Unit*>(x + row * x_stride)[i];
    sum += squares(held[u]);
  }
  for (int offset = 8; offset > 0; offset /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, offset, 16);
  }
  const float scale = rsqrtf(sum / cols + eps);
  if (row < rows && lane == 0) {
    rstd[row] = scale;
  }
  for (int u = 0, i = lane; row < rows && i < cols / V; ++u, i += 16) {
    reinterpret_cast<Unit*>(y + row * y_stride)[i] =
        scaled(held[u], scale, reinterpret_cast<const Unit*>(weight), i);
  }
}

template <typename T, int V>
__global__ void block_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                             float* rstd, int cols, float eps, int kept) {
  using Unit = Vector<T, V>;
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ float total;
  Unit* rest = reinterpret_cast<Unit*>(memory);  // [kept]
  const int64_t row = blockIdx.x;
  const Unit* source = reinterpret_cast<const Unit*>(x + row * x_stride);
  Unit held[kHeld];
  if (threadIdx.x == 0) {
    total = 0.0f;
  }
  float sum = 0.0f;
  int u = 0;
  for (int i = threadIdx.x; i < cols / V; i += kThreads, ++u) {
    const Unit unit = source[i];
    sum += squares(unit);
    if (u < kHeld) {
      held[u] = unit;
    } else if (i - kHeld * kThreads < kept) {
      rest[i - kHeld * kThreads] = unit;
    }
  }
  __syncthreads();
  atomicAdd(&total, sum);
  __syncthreads();
  const float scale = rsqrtf(total / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = scale;
  }
  u = 0;
  for (int i = threadIdx.x; i < cols / V; i += kThreads, ++u) {
    const int in_rest = i - kHeld * kThreads;
    const Unit unit = u < kHeld ? held[u] : in_rest < kept ? rest[in_rest] : source[i];
    reinterpret_cast<Unit*>(y + row * y_stride)[i] =
        scaled(unit, scale, reinterpret_cast<const Unit*>(weight), i);
  }
}

template <typename T, int V>
void launch(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride, float* rstd,
            int rows, int cols, float eps, cudaStream_t stream) {
  if (cols <= 128) {
    const int blocks = rows / 2 + rows % 2;
    pair_kernel<T, V><<<blocks, dim3(16, 2), 0, stream>>>(x, x_stride, weight, y, y_stride, rstd,
                                                          rows, cols, eps);
    return;
  }
  const int beyond = cols / V - kHeld * kThreads;
  const int room = kMostBytes / static_cast<int>(sizeof(Vector<T, V>));
  const int kept = beyond < 0 ? 0 : beyond < room ? beyond : room;
  cudaFuncSetAttribute(block_kernel<T, V>, cudaFuncAttributeMaxDynamicSharedMemorySize, kMostBytes);
  block_kernel<T, V><<<rows, kThreads, kept * sizeof(Vector<T, V>), stream>>>(
      x, x_stride, weight, y, y_stride, rstd, cols, eps, kept);
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
  if (addresses % 16 == 0 && x_stride % V == 0 && y_stride % V == 0 && cols % V == 0) {
    launch<T, V>(x, x_stride, weight, y, y_stride, rstd, rows, cols, eps, stream);
  } else {
    launch<T, 1>(x, x_stride, weight, y, y_stride, rstd, rows, cols, eps, stream);
  }
}

}  // namespace onepass
