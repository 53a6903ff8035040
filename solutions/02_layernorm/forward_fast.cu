// Exercise 2.5: LayerNorm at the speed of memory.
//
//     x, y          [rows, cols]  rows x_stride and y_stride elements apart, at any address
//     weight, bias  [cols]        each may be null: a layer without it
//     mean          [rows]        mean[r] = mean over c of x[r][c], in fp32
//     rstd          [rows]        rstd[r] = 1 / sqrt(mean over c of (x[r][c] - mean[r])^2 + eps)
//                                 y[r][c] = (x[r][c] - mean[r]) * rstd[r] * weight[c] + bias[c]
//
// The function of exercise 2.1, which walks over a row three times. Here the row is loaded once,
// and the walks are on the chip. The blocks are persistent: there are a few for each
// multiprocessor, and each takes many rows.
//   - Rows come through a ring in shared memory, by asynchronous copies. While one is summed, the
//     next ones are on their way.
//   - A thread has the same columns in every row, so it loads their weights and biases once.
//   - It moves 16 bytes at a time, a pack of neighbouring columns, where the rows are aligned.
//
// Grade it:   make -C build grade_layernorm
// Read first: docs/02_layernorm.md, "2.5 Forward, at the speed of memory"

#include <cuda_pipeline.h>
#include <onepass/layernorm.h>

namespace onepass {

constexpr int kMostThreads = 512;  // threads a block; also how many a multiprocessor gets
constexpr int kMostWarps = kMostThreads / 32;
constexpr int kMostStages = 4;  // rows of the ring

/// V neighbouring columns, copied, loaded and stored in one access.
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
/// 1 in turn: the two sums of a row have slots of their own. A warp that is ahead writes to the
/// other ones than those that a late warp may still be reading, so one barrier is enough.
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

/// Begins to copy a pack to shared memory. Before sm_80 this is a load and a store.
template <typename RowPack>
__device__ inline void begin_copy(RowPack* slot, const RowPack* source) {
  if constexpr (sizeof(RowPack) >= 4) {
    __pipeline_memcpy_async(slot, source, sizeof(RowPack));
  } else {
    *slot = *source;  // 2 bytes: too few for an asynchronous copy
  }
}

/// Begins to copy this thread's packs of a row, threadIdx.x, threadIdx.x + blockDim.x, ..., to a
/// stage of the ring.
template <int kPacks, typename RowPack, typename T>
__device__ inline void begin_row(RowPack* stage, const T* x_row, int packs) {
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = p * blockDim.x + threadIdx.x;
    if (i < packs) {
      begin_copy(stage + i, reinterpret_cast<const RowPack*>(x_row) + i);
    }
  }
}

template <typename T, int V, int kPacks>
__global__ void __launch_bounds__(kMostThreads)
    ring_kernel(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                int64_t y_stride, float* mean, float* rstd, int rows, int cols, float eps,
                int stages) {
  using RowPack = Pack<T, V>;
  const int packs = cols / V;              // of a row
  extern __shared__ float4 ring_memory[];  // [stages][packs], aligned to 16 bytes
  RowPack* ring = reinterpret_cast<RowPack*>(ring_memory);
  RowPack weights[kPacks] = {};  // of this thread's columns
  RowPack biases[kPacks] = {};
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = p * blockDim.x + threadIdx.x;
    if (i < packs) {
      weights[p] = pack_or<RowPack>(weight, i, 1.0f);
      biases[p] = pack_or<RowPack>(bias, i, 0.0f);
    }
  }

  // TODO 1: fill the ring. Of this block's rows, blockIdx.x, blockIdx.x + gridDim.x, ..., begin to
  // copy the first `stages`, if they are below rows: begin_row<kPacks>(ring + stage * packs, its
  // row of x, packs). Behind each __pipeline_commit(): a row is a batch. Commit also where there is
  // no row, for the batches are counted.
  // [solution 1]
  for (int stage = 0; stage < stages; ++stage) {
    const int64_t row = blockIdx.x + static_cast<int64_t>(stage) * gridDim.x;
    if (row < rows) {
      begin_row<kPacks>(ring + stage * packs, x + row * x_stride, packs);
    }
    __pipeline_commit();
  }
  // [end]
  int stage = 0;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const RowPack* x_row = ring + stage * packs;  // [packs]
    float row_mean = 0.0f;
    float row_rstd = 0.0f;

    // TODO 1, the statistics. Wait until this row has landed: __pipeline_wait_prior() for all
    // batches but the last stages - 1. Find row_mean and row_rstd as in 2.1, in two walks over this
    // thread's packs of x_row, those i that begin_row() has copied. The sum for the mean is
    // block_sum_of()'s sum 0, that of the squares sum 1. Let one thread save both results.
    // [solution 1]
    __pipeline_wait_prior(stages - 1);
    float sum = 0.0f;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int i = p * blockDim.x + threadIdx.x;
      if (i < packs) {
        const RowPack x_pack = x_row[i];
#pragma unroll
        for (int j = 0; j < V; ++j) {
          sum += static_cast<float>(x_pack.values[j]);
        }
      }
    }
    row_mean = block_sum_of(sum, 0) / cols;
    float squares = 0.0f;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int i = p * blockDim.x + threadIdx.x;
      if (i < packs) {
        const RowPack x_pack = x_row[i];
#pragma unroll
        for (int j = 0; j < V; ++j) {
          const float centred = static_cast<float>(x_pack.values[j]) - row_mean;
          squares += centred * centred;
        }
      }
    }
    row_rstd = rsqrtf(block_sum_of(squares, 1) / cols + eps);
    if (threadIdx.x == 0) {
      mean[row] = row_mean;
      rstd[row] = row_rstd;
    }
    // [end]

    // TODO 2: y. Walk over the packs of x_row once more, and store those of y: (value - mean) *
    // rstd, times weights[p], plus biases[p], as floats, each converted to T at the very end.
    // [solution 2]
    RowPack* y_row = reinterpret_cast<RowPack*>(y + row * y_stride);
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int i = p * blockDim.x + threadIdx.x;
      if (i < packs) {
        const RowPack x_pack = x_row[i];
        RowPack y_pack;
#pragma unroll
        for (int j = 0; j < V; ++j) {
          const float x_hat = (static_cast<float>(x_pack.values[j]) - row_mean) * row_rstd;
          y_pack.values[j] = static_cast<T>(x_hat * static_cast<float>(weights[p].values[j]) +
                                            static_cast<float>(biases[p].values[j]));
        }
        y_row[i] = y_pack;
      }
    }
    // [end]

    // TODO 1, refill: nobody needs this row any more. Begin to copy that which is `stages` steps
    // further to its place, if there is one, and commit in any case. No barrier is needed, for each
    // thread reads only what it has copied itself.
    // [solution 1]
    const int64_t later = row + static_cast<int64_t>(stages) * gridDim.x;
    if (later < rows) {
      begin_row<kPacks>(ring + stage * packs, x + later * x_stride, packs);
    }
    __pipeline_commit();
    // [end]
    stage = stage + 1 < stages ? stage + 1 : 0;
  }
}

/// Rows that do not fit into the ring, or whose weights do not fit into registers: one block a row,
/// which is read three times, as in 2.1, but with packs.
template <typename T, int V>
__global__ void __launch_bounds__(kMostThreads)
    wide_kernel(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                int64_t y_stride, float* mean, float* rstd, int cols, float eps) {
  using RowPack = Pack<T, V>;
  const int64_t row = blockIdx.x;
  const RowPack* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
  RowPack* y_row = reinterpret_cast<RowPack*>(y + row * y_stride);
  // TODO 4: a wide row: as in 2.1, but pack by pack, of which there are cols / V. pack_or() gives
  // those of weight and bias, as above.
  // [solution 4]
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols / V; i += blockDim.x) {
    const RowPack x_pack = x_row[i];
    for (int j = 0; j < V; ++j) {
      sum += static_cast<float>(x_pack.values[j]);
    }
  }
  const float row_mean = block_sum_of(sum, 0) / cols;
  float squares = 0.0f;
  for (int i = threadIdx.x; i < cols / V; i += blockDim.x) {
    const RowPack x_pack = x_row[i];
    for (int j = 0; j < V; ++j) {
      const float centred = static_cast<float>(x_pack.values[j]) - row_mean;
      squares += centred * centred;
    }
  }
  const float row_rstd = rsqrtf(block_sum_of(squares, 1) / cols + eps);
  if (threadIdx.x == 0) {
    mean[row] = row_mean;
    rstd[row] = row_rstd;
  }
  for (int i = threadIdx.x; i < cols / V; i += blockDim.x) {
    const RowPack x_pack = x_row[i];
    const RowPack weight_pack = pack_or<RowPack>(weight, i, 1.0f);
    const RowPack bias_pack = pack_or<RowPack>(bias, i, 0.0f);
    RowPack y_pack;
    for (int j = 0; j < V; ++j) {
      const float x_hat = (static_cast<float>(x_pack.values[j]) - row_mean) * row_rstd;
      y_pack.values[j] = static_cast<T>(x_hat * static_cast<float>(weight_pack.values[j]) +
                                        static_cast<float>(bias_pack.values[j]));
    }
    y_row[i] = y_pack;
  }
  // [end]
}

/// Can every row of a tensor be accessed in packs of 16 bytes? Null counts as aligned.
template <typename T>
bool is_aligned(const T* tensor, int64_t stride, int cols) {
  constexpr int V = 16 / sizeof(T);
  // TODO 3: say when, as in 1.4.
  // [solution 3]
  if (reinterpret_cast<uintptr_t>(tensor) % 16 == 0 && stride % V == 0 && cols % V == 0) {
    return true;
  }
  // [end]
  return false;
}

inline int attribute(cudaDeviceAttr which) {
  int device = 0;
  int value = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&value, which, device);
  return value;
}

/// How many rows the ring of a block may have, if `blocks` blocks share a multiprocessor. Of the
/// shared memory 2 KB a block are for the slots of block_sum_of(), and for CUDA itself.
inline int stages_for(int blocks, int64_t row_bytes) {
  const int64_t room = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) / blocks - 2048;
  const int64_t stages = room / row_bytes;
  return stages < kMostStages ? static_cast<int>(stages) : kMostStages;
}

template <typename T, int V>
void launch(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y, int64_t y_stride,
            float* mean, float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  constexpr int kFew = 16;                  // columns a thread
  constexpr int kMany = V > 1 ? 32 : kFew;  // one by one they take more registers than there are
  const int columns = cols <= kFew * kMostThreads ? kFew : kMany;
  const int warps = (cols + 32 * columns - 1) / (32 * columns);
  const int64_t row_bytes = static_cast<int64_t>(cols) * sizeof(T);
  const int each = warps <= kMostWarps ? kMostWarps / warps : 1;  // blocks of a multiprocessor
  const int stages = stages_for(each, row_bytes);
  if (warps <= kMostWarps && stages > 0) {
    const auto kernel =
        columns == kFew ? ring_kernel<T, V, kFew / V> : ring_kernel<T, V, kMany / V>;
    const int most = attribute(cudaDevAttrMultiProcessorCount) * each;
    const int blocks = most < rows ? most : rows;
    const int ring_bytes = static_cast<int>(stages * row_bytes);
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, ring_bytes);
    kernel<<<blocks, 32 * warps, ring_bytes, stream>>>(x, x_stride, weight, bias, y, y_stride, mean,
                                                       rstd, rows, cols, eps, stages);
  } else {
    wide_kernel<T, V><<<rows, kMostThreads, 0, stream>>>(x, x_stride, weight, bias, y, y_stride,
                                                         mean, rstd, cols, eps);
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
