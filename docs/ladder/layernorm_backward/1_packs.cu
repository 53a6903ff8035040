// LayerNorm backward, version 1: packs. A thread loads and stores 16 bytes at a time, and keeps its
// packs of a row in registers until dx, dweight and dbias have had their share: each element of dy
// and x is loaded once. Where rows are not aligned for that, a pack is a single column.
// Registers have room for 8,192 columns a row, or 4,096 single ones. Wider rows are loaded three
// times.
//
// Version 0, exercise 2.4, goes column by column, and walks over a row three times. Version 2 asks
// for the next row before this one is summed.

#include <onepass/layernorm.h>

namespace onepass {

constexpr int kMostThreads = 512;  // threads a block
constexpr int kMostWarps = kMostThreads / 32;

/// V neighbouring columns, loaded and stored in one access.
template <typename T, int V>
struct alignas(sizeof(T) * V) Pack {
  T values[V];
};

/// The two sums over a row that dx needs.
struct RowSums {
  float wdy;      // of wdy = weight * dy
  float wdy_hat;  // of wdy * x̂
};

/// The sum of `value` over the 32 lanes of a warp, in every lane (exercise 1.1).
__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// Both sums over all threads of the block, in every thread (exercise 2.2). Called for one row
/// after another: `parity` alternates between 0 and 1, so that a warp that is ahead writes to other
/// slots than those that a late warp may still be reading.
__device__ inline RowSums block_sums_of(RowSums sums, int parity) {
  __shared__ RowSums partial[2][kMostWarps];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warps = blockDim.x / 32;
  sums = {warp_sum(sums.wdy), warp_sum(sums.wdy_hat)};
  if (lane == 0) {
    partial[parity][warp] = sums;
  }
  __syncthreads();
  sums = lane < warps ? partial[parity][lane] : RowSums{0.0f, 0.0f};
  return {warp_sum(sums.wdy), warp_sum(sums.wdy_hat)};
}

/// Pack p of this thread's share of a row; zeros past the row's end.
template <typename T, int V>
__device__ inline Pack<T, V> load_pack(const T* row, int p, int cols) {
  const int i = p * blockDim.x + threadIdx.x;
  if (i < cols / V) {
    return reinterpret_cast<const Pack<T, V>*>(row)[i];
  }
  Pack<T, V> zeros;
  for (int j = 0; j < V; ++j) {
    zeros.values[j] = static_cast<T>(0.0f);
  }
  return zeros;
}

/// Stores the sums of a pack's V columns, pack i of a row of partial sums, 16 bytes at a time.
template <int V>
__device__ inline void store_sums(float* partial_row, int i, const float (&sums)[V]) {
  constexpr int kEach = V < 4 ? V : 4;
  for (int j = 0; j < V; j += kEach) {
    Pack<float, kEach> pack;
    for (int k = 0; k < kEach; ++k) {
      pack.values[k] = sums[j + k];
    }
    reinterpret_cast<Pack<float, kEach>*>(partial_row)[(i * V + j) / kEach] = pack;
  }
}

/// What one thread holds of a row: kPacks packs each of dy and x.
template <typename T, int V, int kPacks>
struct RowShare {
  Pack<T, V> dy[kPacks];
  Pack<T, V> x[kPacks];
};

template <typename T, int V, int kPacks>
__device__ inline RowShare<T, V, kPacks> load_share(const T* dy_row, const T* x_row, int cols) {
  RowShare<T, V, kPacks> share;
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    share.dy[p] = load_pack<T, V>(dy_row, p, cols);
    share.x[p] = load_pack<T, V>(x_row, p, cols);
  }
  return share;
}

// How many columns a thread may have: up to 16, its registers hold their weights and this row; up
// to 32, only their sums. Beyond, the compiler keeps the sums in memory, in loops that it does not
// unroll.
constexpr int kColumnsHeld = 16;
constexpr int kColumnsSummed = 32;

template <typename T, int V, int kPacks>
__global__ void __launch_bounds__(kMostThreads)
    layernorm_backward_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                              const T* weight, const float* mean, const float* rstd, T* dx,
                              int64_t dx_stride,
                              float* partial_dweight,  // [gridDim.x, cols]
                              float* partial_dbias,    // [gridDim.x, cols]
                              int rows, int cols) {
  constexpr bool kHeld = V * kPacks <= kColumnsHeld;
  constexpr int kHeldPacks = kHeld ? kPacks : 1;
  constexpr int kUnroll = V * kPacks <= kColumnsSummed ? kPacks : 1;
  float sum_dweight[kPacks][V] = {};  // over this block's rows
  float sum_dbias[kPacks][V] = {};

  int64_t row = blockIdx.x;
  Pack<T, V> weights[kHeldPacks] = {};
  RowShare<T, V, kHeldPacks> share{};
  if (kHeld) {
#pragma unroll
    for (int p = 0; p < kHeldPacks; ++p) {
      weights[p] = load_pack<T, V>(weight, p, cols);
    }
  }
  // Pack p of this thread's columns.
  const auto weights_at = [&](int p) {
    return kHeld ? weights[p] : load_pack<T, V>(weight, p, cols);
  };
  const auto dy_at = [&](int p) {
    return kHeld ? share.dy[p] : load_pack<T, V>(dy + row * dy_stride, p, cols);
  };
  const auto x_at = [&](int p) {
    return kHeld ? share.x[p] : load_pack<T, V>(x + row * x_stride, p, cols);
  };

  for (int parity = 0; row < rows; row += gridDim.x, parity ^= 1) {
    const float row_mean = mean[row];
    const float row_rstd = rstd[row];
    if (kHeld) {
      share = load_share<T, V, kHeldPacks>(dy + row * dy_stride, x + row * x_stride, cols);
    }

    RowSums sums = {0.0f, 0.0f};
#pragma unroll kUnroll
    for (int p = 0; p < kPacks; ++p) {
      const Pack<T, V> weights = weights_at(p);
      const Pack<T, V> dy_pack = dy_at(p);
      const Pack<T, V> x_pack = x_at(p);
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const float wdy =
            static_cast<float>(weights.values[j]) * static_cast<float>(dy_pack.values[j]);
        const float x_hat = (static_cast<float>(x_pack.values[j]) - row_mean) * row_rstd;
        sums.wdy += wdy;
        sums.wdy_hat += wdy * x_hat;
      }
    }
    sums = block_sums_of(sums, parity);
    const float mean_wdy = sums.wdy / cols;
    const float mean_wdy_hat = sums.wdy_hat / cols;
    Pack<T, V>* dx_row = reinterpret_cast<Pack<T, V>*>(dx + row * dx_stride);
#pragma unroll kUnroll
    for (int p = 0; p < kPacks; ++p) {
      const Pack<T, V> weights = weights_at(p);
      const Pack<T, V> dy_pack = dy_at(p);
      const Pack<T, V> x_pack = x_at(p);
      Pack<T, V> dx_pack;
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const float wdy =
            static_cast<float>(weights.values[j]) * static_cast<float>(dy_pack.values[j]);
        const float x_hat = (static_cast<float>(x_pack.values[j]) - row_mean) * row_rstd;
        dx_pack.values[j] = static_cast<T>((wdy - mean_wdy - x_hat * mean_wdy_hat) * row_rstd);
      }
      const int i = p * blockDim.x + threadIdx.x;
      if (i < cols / V) {
        dx_row[i] = dx_pack;
      }
    }

#pragma unroll kUnroll
    for (int p = 0; p < kPacks; ++p) {
      const Pack<T, V> dy_pack = dy_at(p);
      const Pack<T, V> x_pack = x_at(p);
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const float dy_value = static_cast<float>(dy_pack.values[j]);
        const float x_hat = (static_cast<float>(x_pack.values[j]) - row_mean) * row_rstd;
        sum_dweight[p][j] += dy_value * x_hat;
        sum_dbias[p][j] += dy_value;
      }
    }
  }

#pragma unroll kUnroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = p * blockDim.x + threadIdx.x;
    if (i < cols / V) {
      store_sums(partial_dweight + static_cast<int64_t>(blockIdx.x) * cols, i, sum_dweight[p]);
      store_sums(partial_dbias + static_cast<int64_t>(blockIdx.x) * cols, i, sum_dbias[p]);
    }
  }
}

constexpr int kSumCols = 32;    // columns of a block of sum_blocks_kernel
constexpr int kSumSlices = 16;  // its threads for each of them

/// Adds up the blocks' sums, in fixed order. Thread (c, s) takes blocks s, s + kSumSlices, ... of
/// column c of its 32; the slices meet in shared memory.
template <typename T>
__global__ void sum_blocks_kernel(const float* partial_dweight,  // [blocks, cols]
                                  const float* partial_dbias,    // [blocks, cols]
                                  T* dweight, T* dbias, int blocks, int cols) {
  __shared__ float slice_dweight[kSumSlices][kSumCols];
  __shared__ float slice_dbias[kSumSlices][kSumCols];
  const int slice = threadIdx.y;
  const int col = blockIdx.x * kSumCols + threadIdx.x;
  float sum_dweight = 0.0f;
  float sum_dbias = 0.0f;
  if (col < cols) {
    for (int block = slice; block < blocks; block += kSumSlices) {
      sum_dweight += partial_dweight[static_cast<int64_t>(block) * cols + col];
      sum_dbias += partial_dbias[static_cast<int64_t>(block) * cols + col];
    }
  }
  slice_dweight[slice][threadIdx.x] = sum_dweight;
  slice_dbias[slice][threadIdx.x] = sum_dbias;
  __syncthreads();
  if (slice == 0 && col < cols) {
    for (int other = 1; other < kSumSlices; ++other) {
      sum_dweight += slice_dweight[other][threadIdx.x];
      sum_dbias += slice_dbias[other][threadIdx.x];
    }
    dweight[col] = static_cast<T>(sum_dweight);
    dbias[col] = static_cast<T>(sum_dbias);
  }
}

/// A kernel for rows of some width, and how many columns a thread of it holds.
template <typename T>
struct Variant {
  void (*kernel)(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                 const float* mean, const float* rstd, T* dx, int64_t dx_stride,
                 float* partial_dweight, float* partial_dbias, int rows, int cols);
  int columns;
};

/// The narrowest that is wide enough.
template <typename T>
Variant<T> variant_for(int cols, bool aligned) {
  constexpr int V = 16 / sizeof(T);
  if (!aligned) {
    return cols <= 8 * kMostThreads ? Variant<T>{layernorm_backward_kernel<T, 1, 8>, 8}
                                    : Variant<T>{layernorm_backward_kernel<T, 1, 128>, 128};
  }
  if (cols <= 16 * kMostThreads) {
    return {layernorm_backward_kernel<T, V, 16 / V>, 16};
  }
  if (cols <= 32 * kMostThreads) {
    return {layernorm_backward_kernel<T, V, 32 / V>, 32};
  }
  return {layernorm_backward_kernel<T, V, 128 / V>, 128};
}

/// Can every row of a tensor be read in accesses of 16 bytes?
template <typename T>
bool is_aligned(const T* tensor, int64_t stride, int cols) {
  constexpr int V = 16 / sizeof(T);
  return reinterpret_cast<uintptr_t>(tensor) % 16 == 0 && stride % V == 0 && cols % V == 0;
}

/// Enough blocks for kMostThreads threads on every multiprocessor: more would bring little, and
/// each leaves a row of sums to be added up. No more than there are rows, or room in scratch.
inline int blocks_for(int threads, int rows) {
  int device = 0;
  int multiprocessors = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  const int blocks = multiprocessors * (kMostThreads / threads);
  return blocks < layernorm_groups(rows) ? blocks : layernorm_groups(rows);
}

template <typename T>
Summation layernorm_backward_fast(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                                  const T* weight, const float* mean, const float* rstd, T* dx,
                                  int64_t dx_stride, T* dweight, T* dbias, float* scratch, int rows,
                                  int cols, cudaStream_t stream) {
  const bool aligned = is_aligned(dy, dy_stride, cols) && is_aligned(x, x_stride, cols) &&
                       is_aligned(weight, 0, cols) && is_aligned(dx, dx_stride, cols);
  const Variant<T> variant = variant_for<T>(cols, aligned);
  const int warps = (cols + 32 * variant.columns - 1) / (32 * variant.columns);
  const int threads = 32 * warps;
  const int blocks = rows == 0 ? 0 : blocks_for(threads, rows);
  float* partial_dweight = scratch;                                      // [blocks, cols]
  float* partial_dbias = scratch + static_cast<int64_t>(blocks) * cols;  // [blocks, cols]
  if (blocks > 0) {
    variant.kernel<<<blocks, threads, 0, stream>>>(dy, dy_stride, x, x_stride, weight, mean, rstd,
                                                   dx, dx_stride, partial_dweight, partial_dbias,
                                                   rows, cols);
  }

  sum_blocks_kernel<<<(cols + kSumCols - 1) / kSumCols, dim3(kSumCols, kSumSlices), 0, stream>>>(
      partial_dweight, partial_dbias, dweight, dbias, blocks, cols);
  return Summation::fixed_order;
}

}  // namespace onepass
