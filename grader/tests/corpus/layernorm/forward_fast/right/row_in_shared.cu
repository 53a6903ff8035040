// Right: a block a row, which is copied to shared memory, as packs, and read from there three times.
// Another thread sums a pack than has copied it. Rows that do not fit are read from global memory
// each time.

#include <onepass/layernorm.h>

namespace onepass {

constexpr int kThreads = 128;
constexpr int kMostShared = 32 * 1024;

template <typename T, int V>
struct alignas(sizeof(T) * V) Pack {
  T values[V];
};

__device__ float sum_of_block(float value, float* slots) {
  for (int step = 1; step < 32; step *= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, step);
  }
  __syncthreads();  // also: the row has been copied, and the last sum read
  slots[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0.0f;
  for (int warp = 0; warp < kThreads / 32; ++warp) {
    sum += slots[warp];
  }
  return sum;
}

template <typename T, int V, bool kInShared>
__global__ void row_kernel(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                           int64_t y_stride, float* mean, float* rstd, int cols, float eps) {
  using RowPack = Pack<T, V>;
  extern __shared__ float4 shared_row[];
  __shared__ float slots[kThreads / 32];
  const int packs = cols / V;
  const int64_t row = blockIdx.x;
  const RowPack* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
  RowPack* y_row = reinterpret_cast<RowPack*>(y + row * y_stride);
  RowPack* held = reinterpret_cast<RowPack*>(shared_row);
  float sum = 0.0f;
  for (int i = threadIdx.x; i < packs; i += kThreads) {
    const RowPack x_pack = x_row[i];
    if (kInShared) {
      held[i] = x_pack;
    }
    for (int j = 0; j < V; ++j) {
      sum += static_cast<float>(x_pack.values[j]);
    }
  }
  const float centre = sum_of_block(sum, slots) / cols;
  float squares = 0.0f;
  for (int i = packs - 1 - static_cast<int>(threadIdx.x); i >= 0; i -= kThreads) {
    const RowPack x_pack = kInShared ? held[i] : x_row[i];
    for (int j = 0; j < V; ++j) {
      const float left = static_cast<float>(x_pack.values[j]) - centre;
      squares += left * left;
    }
  }
  const float scale = 1.0f / sqrtf(sum_of_block(squares, slots) / cols + eps);
  for (int i = packs - 1 - static_cast<int>(threadIdx.x); i >= 0; i -= kThreads) {
    const RowPack x_pack = kInShared ? held[i] : x_row[i];
    RowPack weights{};
    RowPack biases{};
    if (weight != nullptr) {
      weights = reinterpret_cast<const RowPack*>(weight)[i];
    }
    if (bias != nullptr) {
      biases = reinterpret_cast<const RowPack*>(bias)[i];
    }
    RowPack y_pack;
    for (int j = 0; j < V; ++j) {
      float value = (static_cast<float>(x_pack.values[j]) - centre) * scale;
      value *= weight != nullptr ? static_cast<float>(weights.values[j]) : 1.0f;
      value += bias != nullptr ? static_cast<float>(biases.values[j]) : 0.0f;
      y_pack.values[j] = static_cast<T>(value);
    }
    y_row[i] = y_pack;
  }
  if (threadIdx.x == 0) {
    mean[row] = centre;
    rstd[row] = scale;
  }
}

template <typename T, int V>
void launch(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y, int64_t y_stride,
            float* mean, float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  const int bytes = cols * static_cast<int>(sizeof(T));
  if (bytes <= kMostShared) {
    row_kernel<T, V, true><<<rows, kThreads, bytes, stream>>>(x, x_stride, weight, bias, y,
                                                              y_stride, mean, rstd, cols, eps);
  } else {
    row_kernel<T, V, false><<<rows, kThreads, 0, stream>>>(x, x_stride, weight, bias, y, y_stride,
                                                           mean, rstd, cols, eps);
  }
}

template <typename T>
bool fits(const T* tensor, int64_t stride) {
  return reinterpret_cast<uintptr_t>(tensor) % 16 == 0 && stride * sizeof(T) % 16 == 0;
}

template <typename T>
void layernorm_forward_fast(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                            int64_t y_stride, float* mean, float* rstd, int rows, int cols,
                            float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  if (fits(x, x_stride) && fits(weight, cols) && fits(bias, cols) && fits(y, y_stride)) {
    launch<T, 16 / sizeof(T)>(x, x_stride, weight, bias, y, y_stride, mean, rstd, rows, cols, eps,
                              stream);
  } else {
    launch<T, 1>(x, x_stride, weight, bias, y, y_stride, mean, rstd, rows, cols, eps, stream);
  }
}

}  // namespace onepass
