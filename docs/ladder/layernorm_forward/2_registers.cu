// LayerNorm forward, version 2: the row in registers. A block loads its row once, and all three
// walks find it in the registers of its threads. A row that is too wide for them is loaded three
// times, as in version 1.
//
// Version 1 loads every row three times. In version 3 it is shared memory that holds the
// row, and there is room for more blocks.

#include <onepass/layernorm.h>

namespace onepass {

constexpr int kMostThreads = 512;  // threads a block
constexpr int kMostWarps = kMostThreads / 32;

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

/// The sum of `value` over all threads of the block, in every thread (exercise 1.1). `sum` is 0 and
/// 1 in turn: the two sums of a row have slots of their own.
__device__ inline float block_sum_of(float value, int sum) {
  __shared__ float partial[2][kMostWarps];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warps = blockDim.x / 32;
  value = warp_sum(value);
  if (lane == 0) {
    partial[sum][warp] = value;
  }
  __syncthreads();
  return warp_sum(lane < warps ? partial[sum][lane] : 0.0f);
}

/// Pack i of weight or bias; where there is none, of what changes nothing.
template <typename RowPack, typename T>
__device__ inline RowPack pack_or(const T* values, int i, float otherwise) {
  if (values != nullptr) {
    return reinterpret_cast<const RowPack*>(values)[i];
  }
  RowPack pack;
  for (T& value : pack.values) {
    value = static_cast<T>(otherwise);
  }
  return pack;
}

/// One block a row. kHeld: its threads hold kPacks packs each of it.
template <typename T, int V, int kPacks, bool kHeld>
__global__ void __launch_bounds__(kMostThreads)
    row_kernel(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y, int64_t y_stride,
               float* mean, float* rstd, int cols, float eps) {
  using RowPack = Pack<T, V>;
  const int64_t row = blockIdx.x;
  const int packs = cols / V;                                                   // of the row
  const int most = kHeld ? kPacks : (packs + kMostThreads - 1) / kMostThreads;  // of a thread
  const RowPack* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
  RowPack* y_row = reinterpret_cast<RowPack*>(y + row * y_stride);
  RowPack held[kPacks];

  float sum = 0.0f;
#pragma unroll
  for (int p = 0; p < most; ++p) {
    const int i = p * blockDim.x + threadIdx.x;
    if (i < packs) {
      const RowPack x_pack = x_row[i];
      if (kHeld) {
        held[p] = x_pack;
      }
#pragma unroll
      for (int j = 0; j < V; ++j) {
        sum += static_cast<float>(x_pack.values[j]);
      }
    }
  }
  const float row_mean = block_sum_of(sum, 0) / cols;

  float squares = 0.0f;
#pragma unroll
  for (int p = 0; p < most; ++p) {
    const int i = p * blockDim.x + threadIdx.x;
    if (i < packs) {
      const RowPack x_pack = kHeld ? held[p] : x_row[i];
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const float centred = static_cast<float>(x_pack.values[j]) - row_mean;
        squares += centred * centred;
      }
    }
  }
  const float row_rstd = rsqrtf(block_sum_of(squares, 1) / cols + eps);
  if (threadIdx.x == 0) {
    mean[row] = row_mean;
    rstd[row] = row_rstd;
  }

#pragma unroll
  for (int p = 0; p < most; ++p) {
    const int i = p * blockDim.x + threadIdx.x;
    if (i < packs) {
      const RowPack x_pack = kHeld ? held[p] : x_row[i];
      const RowPack weight_pack = pack_or<RowPack>(weight, i, 1.0f);
      const RowPack bias_pack = pack_or<RowPack>(bias, i, 0.0f);
      RowPack y_pack;
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const float x_hat = (static_cast<float>(x_pack.values[j]) - row_mean) * row_rstd;
        y_pack.values[j] = static_cast<T>(x_hat * static_cast<float>(weight_pack.values[j]) +
                                          static_cast<float>(bias_pack.values[j]));
      }
      y_row[i] = y_pack;
    }
  }
}

/// Can every row of a tensor be accessed in packs of 16 bytes? Null counts as aligned.
template <typename T>
bool is_aligned(const T* tensor, int64_t stride, int cols) {
  constexpr int V = 16 / sizeof(T);
  return reinterpret_cast<uintptr_t>(tensor) % 16 == 0 && stride % V == 0 && cols % V == 0;
}

template <typename T, int V>
void launch(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y, int64_t y_stride,
            float* mean, float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  constexpr int kColumns = 16;  // that a thread holds
  const int warps = (cols + 32 * kColumns - 1) / (32 * kColumns);
  if (warps <= kMostWarps) {
    row_kernel<T, V, kColumns / V, true><<<rows, 32 * warps, 0, stream>>>(
        x, x_stride, weight, bias, y, y_stride, mean, rstd, cols, eps);
  } else {
    row_kernel<T, V, 1, false><<<rows, kMostThreads, 0, stream>>>(x, x_stride, weight, bias, y,
                                                                  y_stride, mean, rstd, cols, eps);
  }
}

template <typename T>
void layernorm_forward_fast(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                            int64_t y_stride, float* mean, float* rstd, int rows, int cols,
                            float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;  // a grid of no blocks is a launch error
  }
  const bool aligned = is_aligned(x, x_stride, cols) && is_aligned(weight, 0, cols) &&
                       is_aligned(bias, 0, cols) && is_aligned(y, y_stride, cols);
  const auto launcher = aligned ? launch<T, 16 / sizeof(T)> : launch<T, 1>;
  launcher(x, x_stride, weight, bias, y, y_stride, mean, rstd, rows, cols, eps, stream);
}

}  // namespace onepass
