// diagnosis: launch-failed
// not: narrow-access
// The row waits in dynamic shared memory; the kernel's limit is raised once, to what the first
// wide row needs, so a wider row later cannot be launched (state between calls).

#include <onepass/rmsnorm.h>

namespace onepass {

__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// Sum over the block, in every thread; may be called again and again.
__device__ inline float block_total(float value) {
  __shared__ float partial[32];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  value = warp_sum(value);
  if (lane == 0) {
    partial[warp] = value;
  }
  __syncthreads();
  const float total = warp_sum(lane < blockDim.x / 32 ? partial[lane] : 0.0f);
  __syncthreads();
  return total;
}

template <typename T, int V>
struct alignas(sizeof(T) * V) Pack {
  T values[V];
};

/// A block a row, which waits in shared memory.
template <typename T, int V>
__global__ void shared_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                            float* rstd, int rows, int cols, float eps) {
  extern __shared__ uint4 buffer[];
  auto* kept = reinterpret_cast<Pack<T, V>*>(buffer);
  const int64_t row = blockIdx.x;
  const auto* in = reinterpret_cast<const Pack<T, V>*>(x + row * x_stride);
  auto* y_packs = reinterpret_cast<Pack<T, V>*>(y + row * y_stride);
  float squares = 0.0f;
  for (int i = threadIdx.x; i < cols / V; i += blockDim.x) {
    const Pack<T, V> pack = in[i];
    kept[i] = pack;
    for (int j = 0; j < V; ++j) {
      squares += static_cast<float>(pack.values[j]) * static_cast<float>(pack.values[j]);
    }
  }
  const float r = rsqrtf(block_total(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = r;
  }
  for (int i = threadIdx.x; i < cols / V; i += blockDim.x) {
    const Pack<T, V> pack = kept[i];
    Pack<T, V> out;
    for (int j = 0; j < V; ++j) {
      const float w = weight == nullptr ? 1.0f : static_cast<float>(weight[i * V + j]);
      out.values[j] = static_cast<T>(static_cast<float>(pack.values[j]) * r * w);
    }
    y_packs[i] = out;
  }
}

/// A block a row of any width, read twice.
template <typename T, int V>
__global__ void wide_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                            float* rstd, int rows, int cols, float eps) {
  const int64_t row = blockIdx.x;
  const auto* in = reinterpret_cast<const Pack<T, V>*>(x + row * x_stride);
  auto* y_packs = reinterpret_cast<Pack<T, V>*>(y + row * y_stride);
  float squares = 0.0f;
  for (int i = threadIdx.x; i < cols / V; i += blockDim.x) {
    const Pack<T, V> pack = in[i];
    for (int j = 0; j < V; ++j) {
      squares += static_cast<float>(pack.values[j]) * static_cast<float>(pack.values[j]);
    }
  }
  const float r = rsqrtf(block_total(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = r;
  }
  for (int i = threadIdx.x; i < cols / V; i += blockDim.x) {
    const Pack<T, V> pack = in[i];
    Pack<T, V> out;
    for (int j = 0; j < V; ++j) {
      const float w = weight == nullptr ? 1.0f : static_cast<float>(weight[i * V + j]);
      out.values[j] = static_cast<T>(static_cast<float>(pack.values[j]) * r * w);
    }
    y_packs[i] = out;
  }
}

/// More than 48 KiB of shared memory have to be asked for, once a kernel.
template <typename T, int V>
void allow(int bytes) {
  static bool done = false;
  if (!done && bytes > 48 * 1024) {
    cudaFuncSetAttribute(shared_kernel<T, V>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    done = true;
  }
}

template <typename T>
void rmsnorm_forward_fast(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                          float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  constexpr int V = 16 / sizeof(T);
  const uintptr_t address = reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y) |
                            reinterpret_cast<uintptr_t>(weight);
  const bool aligned = address % 16 == 0 && x_stride % V == 0 && y_stride % V == 0 && cols % V == 0;
  const int bytes = static_cast<int>(cols * sizeof(T));
  if (bytes > 96 * 1024) {
    if (aligned) {
      wide_kernel<T, V><<<rows, 1024, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, rows, cols, eps);
    } else {
      wide_kernel<T, 1><<<rows, 1024, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, rows, cols, eps);
    }
  } else if (aligned) {
    allow<T, V>(bytes);
    shared_kernel<T, V><<<rows, 256, bytes, stream>>>(x, x_stride, weight, y, y_stride, rstd, rows, cols, eps);
  } else {
    allow<T, 1>(bytes);
    shared_kernel<T, 1><<<rows, 256, bytes, stream>>>(x, x_stride, weight, y, y_stride, rstd, rows, cols, eps);
  }
}

}  // namespace onepass
