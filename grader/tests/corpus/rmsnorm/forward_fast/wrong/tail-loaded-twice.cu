// diagnosis: loaded-twice
// Packs where rows are aligned, and the columns after the last whole pack one by one by the last
// warp, read again for y: x is loaded twice there, though cols is below 16,384.

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

/// A block a row: packs, then the last few columns one by one.
template <typename T, int V>
__global__ void tail_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                            float* rstd, int rows, int cols, float eps) {
  constexpr int kEach = 16 / V;
  const int64_t row = blockIdx.x;
  const T* in = x + row * x_stride;
  T* out = y + row * y_stride;
  const int packs = cols / V;
  Pack<T, V> held[kEach] = {};
  float squares = 0.0f;
  for (int k = 0; k < kEach; ++k) {
    const int i = threadIdx.x + k * blockDim.x;
    if (i < packs) {
      held[k] = reinterpret_cast<const Pack<T, V>*>(in)[i];
    }
    for (int j = 0; j < V; ++j) {
      squares += static_cast<float>(held[k].values[j]) * static_cast<float>(held[k].values[j]);
    }
  }
  const int last = packs * V + threadIdx.x;
  if (last < cols) {
    const float value = static_cast<float>(in[last]);
    squares += value * value;
  }
  const float r = rsqrtf(block_total(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = r;
  }
  for (int k = 0; k < kEach; ++k) {
    const int i = threadIdx.x + k * blockDim.x;
    if (i < packs) {
      Pack<T, V> pack;
      for (int j = 0; j < V; ++j) {
        const float w = weight == nullptr ? 1.0f : static_cast<float>(weight[i * V + j]);
        pack.values[j] = static_cast<T>(static_cast<float>(held[k].values[j]) * r * w);
      }
      reinterpret_cast<Pack<T, V>*>(out)[i] = pack;
    }
  }
  if (last < cols) {
    const float w = weight == nullptr ? 1.0f : static_cast<float>(weight[last]);
    out[last] = static_cast<T>(static_cast<float>(in[last]) * r * w);
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

template <typename T>
void rmsnorm_forward_fast(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                          float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  constexpr int V = 16 / sizeof(T);
  const uintptr_t address = reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y) |
                            reinterpret_cast<uintptr_t>(weight);
  const bool rows_aligned = address % 16 == 0 && x_stride % V == 0 && y_stride % V == 0;
  const int threads = cols > 1024 * 16 ? 1024 : (cols + 16 * 32 - 1) / (16 * 32) * 32;
  if (cols > 1024 * 16) {
    if (rows_aligned && cols % V == 0) {
      wide_kernel<T, V><<<rows, threads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, rows, cols, eps);
    } else {
      wide_kernel<T, 1><<<rows, threads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, rows, cols, eps);
    }
  } else if (rows_aligned) {
    tail_kernel<T, V><<<rows, threads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, rows, cols, eps);
  } else {
    tail_kernel<T, 1><<<rows, threads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, rows, cols, eps);
  }
}

}  // namespace onepass
