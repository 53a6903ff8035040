// LayerNorm forward, version 1: packs. A thread loads and stores 16 bytes at a time, so that as
// many threads have more bytes under way. Where rows are not aligned for that, a pack is a single
// column.
//
// Version 0, exercise 2.1, goes column by column. Version 2 keeps the row on the chip.

#include <onepass/layernorm.h>

namespace onepass {

constexpr int kThreads = 256;  // threads a block
constexpr int kWarps = kThreads / 32;

/// V neighbouring columns, loaded and stored in one access.
template <typename T, int V>
struct alignas(sizeof(T) * V) Pack {
  T values[V];
};

/// The sum of `value` over the 32 lanes of a warp, in every lane (exercise 1.1).
__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// The sum of `value` over all threads of the block, in every thread (exercise 1.1). It may be
/// called again and again: its first barrier waits for those who still read the last call's slots.
__device__ inline float block_sum_of(float value) {
  __shared__ float partial[kWarps];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  value = warp_sum(value);
  __syncthreads();
  if (lane == 0) {
    partial[warp] = value;
  }
  __syncthreads();
  return warp_sum(lane < kWarps ? partial[lane] : 0.0f);
}

template <typename T, int V>
__global__ void layernorm_forward_kernel(const T* x, int64_t x_stride, const T* weight,
                                         const T* bias, T* y, int64_t y_stride, float* mean,
                                         float* rstd, int cols, float eps) {
  using RowPack = Pack<T, V>;
  const int64_t row = blockIdx.x;
  const int packs = cols / V;  // packs a row; cols is a multiple of V
  const RowPack* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);  // [packs]
  RowPack* y_row = reinterpret_cast<RowPack*>(y + row * y_stride);              // [packs]
  const RowPack* weight_row = reinterpret_cast<const RowPack*>(weight);         // [packs] or null
  const RowPack* bias_row = reinterpret_cast<const RowPack*>(bias);             // [packs] or null

  float sum = 0.0f;
  for (int i = threadIdx.x; i < packs; i += kThreads) {
    const RowPack pack = x_row[i];
    for (int j = 0; j < V; ++j) {
      sum += static_cast<float>(pack.values[j]);
    }
  }
  const float row_mean = block_sum_of(sum) / cols;
  if (threadIdx.x == 0) {
    mean[row] = row_mean;
  }

  float squares = 0.0f;
  for (int i = threadIdx.x; i < packs; i += kThreads) {
    const RowPack pack = x_row[i];
    for (int j = 0; j < V; ++j) {
      const float centred = static_cast<float>(pack.values[j]) - row_mean;
      squares += centred * centred;
    }
  }
  const float row_rstd = rsqrtf(block_sum_of(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = row_rstd;
  }

  for (int i = threadIdx.x; i < packs; i += kThreads) {
    const RowPack pack = x_row[i];
    float result[V];
    for (int j = 0; j < V; ++j) {
      result[j] = (static_cast<float>(pack.values[j]) - row_mean) * row_rstd;
    }
    if (weight_row != nullptr) {
      const RowPack weights = weight_row[i];
      for (int j = 0; j < V; ++j) {
        result[j] *= static_cast<float>(weights.values[j]);
      }
    }
    if (bias_row != nullptr) {
      const RowPack biases = bias_row[i];
      for (int j = 0; j < V; ++j) {
        result[j] += static_cast<float>(biases.values[j]);
      }
    }
    RowPack stored;
    for (int j = 0; j < V; ++j) {
      stored.values[j] = static_cast<T>(result[j]);
    }
    y_row[i] = stored;
  }
}

/// Can every row of a tensor be read in accesses of `bytes` bytes? Null counts as aligned.
template <typename T>
bool is_aligned(const T* tensor, int64_t stride, int cols, int bytes) {
  const auto address = reinterpret_cast<uintptr_t>(tensor);
  const int elements = bytes / static_cast<int>(sizeof(T));
  return address % bytes == 0 && stride % elements == 0 && cols % elements == 0;
}

template <typename T>
void layernorm_forward_fast(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                            int64_t y_stride, float* mean, float* rstd, int rows, int cols,
                            float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;  // a grid of no blocks is a launch error
  }
  const bool aligned = is_aligned(x, x_stride, cols, 16) && is_aligned(y, y_stride, cols, 16) &&
                       is_aligned(weight, 0, cols, 16) && is_aligned(bias, 0, cols, 16);
  if (aligned) {
    constexpr int V = 16 / sizeof(T);
    layernorm_forward_kernel<T, V><<<rows, kThreads, 0, stream>>>(x, x_stride, weight, bias, y,
                                                                  y_stride, mean, rstd, cols, eps);
  } else {
    layernorm_forward_kernel<T, 1><<<rows, kThreads, 0, stream>>>(x, x_stride, weight, bias, y,
                                                                  y_stride, mean, rstd, cols, eps);
  }
}

}  // namespace onepass
