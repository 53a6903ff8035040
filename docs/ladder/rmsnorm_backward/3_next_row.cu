// RMSNorm backward, version 3: the next row on its way. Before a row is summed, a thread loads its
// packs of the next one to registers; so memory works while the block adds up. What a thread holds
// of a row is loaded once. It costs registers: two rows, the weights and the sums. From 16 columns
// a thread on there are none left, and rows are loaded again where they are needed.
//
// Version 2 waits for each row. Version 4, solutions/01_rmsnorm/backward_fast.cu, has the next rows
// in shared memory.

#include <onepass/rmsnorm.h>

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

/// The sum of `value` over all threads of the block, in every thread (exercise 1.1). Called for one
/// row after another: `parity` alternates between 0 and 1, so that a warp that is ahead writes to
/// other slots than those that a late warp may still be reading.
__device__ inline float block_sum_of(float value, int parity) {
  __shared__ float partial[2][kMostWarps];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warps = blockDim.x / 32;
  value = warp_sum(value);
  if (lane == 0) {
    partial[parity][warp] = value;
  }
  __syncthreads();
  return warp_sum(lane < warps ? partial[parity][lane] : 0.0f);
}

/// Pack p of this thread's share of a row, which is packs threadIdx.x, threadIdx.x + blockDim.x,
/// ...; zeros past the row's end.
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

/// x̂ as it counts in dweight.
template <typename T>
__device__ inline float x_hat_for_dweight(float x_hat, CastOrder order) {
  if (order == CastOrder::llama) {
    x_hat = static_cast<float>(static_cast<T>(x_hat));
  }
  return x_hat;
}

// How many columns a thread may have: up to 16, its registers hold their weights, this row and the
// next; up to 32, only their sums for dweight. Beyond, the compiler keeps the sums in memory, in
// loops that it does not unroll.
constexpr int kColumnsHeld = 16;
constexpr int kColumnsSummed = 32;

template <typename T, int V, int kPacks>
__global__ void __launch_bounds__(kMostThreads)
    rmsnorm_backward_fast_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                                 const T* weight, const float* rstd, T* dx, int64_t dx_stride,
                                 float* partial,  // [gridDim.x, cols]
                                 CastOrder order, int rows, int cols) {
  constexpr bool kHeld = V * kPacks <= kColumnsHeld;
  constexpr int kHeldPacks = kHeld ? kPacks : 1;
  constexpr int kUnroll = V * kPacks <= kColumnsSummed ? kPacks : 1;
  float sum_dweight[kPacks][V] = {};  // over this block's rows

  int64_t row = blockIdx.x;
  Pack<T, V> weights[kHeldPacks] = {};
  RowShare<T, V, kHeldPacks> share{}, next_share{};
  if (kHeld) {
#pragma unroll
    for (int p = 0; p < kHeldPacks; ++p) {
      weights[p] = load_pack<T, V>(weight, p, cols);
    }
    next_share = load_share<T, V, kHeldPacks>(dy + row * dy_stride, x + row * x_stride, cols);
  }
  float next_rstd = rstd[row];
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
    const float row_rstd = next_rstd;
    if (kHeld) {
      share = next_share;
    }
    const int64_t next = row + gridDim.x;
    if (next < rows) {  // ask for the next row now: it travels while this one is summed
      next_rstd = rstd[next];
      if (kHeld) {
        next_share = load_share<T, V, kHeldPacks>(dy + next * dy_stride, x + next * x_stride, cols);
      }
    }

    float wdy_hat = 0.0f;
#pragma unroll kUnroll
    for (int p = 0; p < kPacks; ++p) {
      const Pack<T, V> weight_pack = weights_at(p);
      const Pack<T, V> dy_pack = dy_at(p);
      const Pack<T, V> x_pack = x_at(p);
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const float wdy =
            static_cast<float>(weight_pack.values[j]) * static_cast<float>(dy_pack.values[j]);
        const float x_hat = static_cast<float>(x_pack.values[j]) * row_rstd;
        wdy_hat += wdy * x_hat;
      }
    }
    const float mean_wdy_hat = block_sum_of(wdy_hat, parity) / cols;
    Pack<T, V>* dx_row = reinterpret_cast<Pack<T, V>*>(dx + row * dx_stride);
#pragma unroll kUnroll
    for (int p = 0; p < kPacks; ++p) {
      const Pack<T, V> weight_pack = weights_at(p);
      const Pack<T, V> dy_pack = dy_at(p);
      const Pack<T, V> x_pack = x_at(p);
      Pack<T, V> dx_pack;
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const float wdy =
            static_cast<float>(weight_pack.values[j]) * static_cast<float>(dy_pack.values[j]);
        const float x_hat = static_cast<float>(x_pack.values[j]) * row_rstd;
        dx_pack.values[j] = static_cast<T>((wdy - x_hat * mean_wdy_hat) * row_rstd);
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
        const float x_hat = static_cast<float>(x_pack.values[j]) * row_rstd;
        sum_dweight[p][j] +=
            static_cast<float>(dy_pack.values[j]) * x_hat_for_dweight<T>(x_hat, order);
      }
    }
  }

#pragma unroll kUnroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = p * blockDim.x + threadIdx.x;
    if (i < cols / V) {
      store_sums(partial + static_cast<int64_t>(blockIdx.x) * cols, i, sum_dweight[p]);
    }
  }
}

constexpr int kSumCols = 32;    // columns of a block of sum_blocks_kernel
constexpr int kSumSlices = 16;  // its threads for each of them

/// Second stage: adds up the blocks' sums. Thread (c, s) takes blocks s, s + kSumSlices, ... of
/// column c of its 32; the slices meet in shared memory.
template <typename T>
__global__ void sum_blocks_kernel(const float* partial,  // [blocks, cols]
                                  T* dweight, int blocks, int cols) {
  const int slice = threadIdx.y;
  const int col = blockIdx.x * kSumCols + threadIdx.x;

  __shared__ float slices[kSumSlices][kSumCols];
  float sum = 0.0f;
  if (col < cols) {
    for (int block = slice; block < blocks; block += kSumSlices) {
      sum += partial[static_cast<int64_t>(block) * cols + col];
    }
  }
  slices[slice][threadIdx.x] = sum;
  __syncthreads();
  if (slice == 0 && col < cols) {
    for (int other = 1; other < kSumSlices; ++other) {
      sum += slices[other][threadIdx.x];
    }
    dweight[col] = static_cast<T>(sum);
  }
}

/// A kernel for rows of some width, and how many columns a thread of it has.
template <typename T>
struct Variant {
  void (*kernel)(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                 const float* rstd, T* dx, int64_t dx_stride, float* partial, CastOrder order,
                 int rows, int cols);
  int columns;
};

/// The narrowest that is wide enough.
template <typename T>
Variant<T> variant_for(int cols, bool aligned) {
  constexpr int V = 16 / sizeof(T);
  if (!aligned) {
    return cols <= 8 * kMostThreads ? Variant<T>{rmsnorm_backward_fast_kernel<T, 1, 8>, 8}
                                    : Variant<T>{rmsnorm_backward_fast_kernel<T, 1, 128>, 128};
  }
  if (cols <= 16 * kMostThreads) {
    return {rmsnorm_backward_fast_kernel<T, V, 16 / V>, 16};
  }
  if (cols <= 32 * kMostThreads) {
    return {rmsnorm_backward_fast_kernel<T, V, 32 / V>, 32};
  }
  return {rmsnorm_backward_fast_kernel<T, V, 128 / V>, 128};
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
  return blocks < rmsnorm_groups(rows) ? blocks : rmsnorm_groups(rows);
}

template <typename T>
void rmsnorm_backward_fast(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* rstd, T* dx, int64_t dx_stride, T* dweight,
                           float* scratch, CastOrder order, int rows, int cols,
                           cudaStream_t stream) {
  const bool aligned = is_aligned(dy, dy_stride, cols) && is_aligned(x, x_stride, cols) &&
                       is_aligned(weight, 0, cols) && is_aligned(dx, dx_stride, cols);
  const Variant<T> variant = variant_for<T>(cols, aligned);
  const int warps = (cols + 32 * variant.columns - 1) / (32 * variant.columns);
  const int threads = 32 * warps;
  const int blocks = rows == 0 ? 0 : blocks_for(threads, rows);
  if (blocks > 0) {
    variant.kernel<<<blocks, threads, 0, stream>>>(dy, dy_stride, x, x_stride, weight, rstd, dx,
                                                   dx_stride, scratch, order, rows, cols);
  }
  // Also where there are no rows: the sums over none of them are zero.
  sum_blocks_kernel<<<(cols + kSumCols - 1) / kSumCols, dim3(kSumCols, kSumSlices), 0, stream>>>(
      scratch, dweight, blocks, cols);
}

}  // namespace onepass
