// Exercise 2.5: LayerNorm at the speed of memory.
//
//     x, y          [rows, cols]  rows x_stride and y_stride elements apart, at any address
//     weight, bias  [cols]        each may be null: a layer without it
//     mean          [rows]        mean[r] = mean over c of x[r][c], in fp32
//     rstd          [rows]        rstd[r] = 1 / sqrt(mean over c of (x[r][c] - mean[r])^2 + eps)
//                                 y[r][c] = (x[r][c] - mean[r]) * rstd[r] * weight[c] + bias[c]
//
// The function of exercise 2.1, which walks over a row three times. Here the row is loaded once,
// and the walks are on the chip.
//   - A row lies in shared memory while it is walked over. Asynchronous copies bring it there, past
//     the registers, so that there is room for many blocks on a multiprocessor, and while some sum,
//     the rows of others are on their way.
//   - A thread moves 16 bytes at a time, a pack of neighbouring columns, where rows are aligned.
//   - A narrow row is a warp's work. No barrier, and several rows a block.
//   - A row at an odd address is copied in the aligned packs that it touches, and y is stored in
//     aligned packs of its own.
//   - A row too wide for a block is shared by several, where the GPU has clusters (from sm_90 on).
//     Elsewhere it is loaded three times.
//
// Grade it:   make -C build grade_layernorm
// Read first: docs/02_layernorm.md, "2.5 Forward, at the speed of memory"

#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include <onepass/layernorm.h>
#include <cstring>

namespace onepass {

constexpr int kMostThreads = 512;  // of a row, and of a block
constexpr int kMostWarps = kMostThreads / 32;
constexpr int kMostBlocks = 4;          // of a cluster; any GPU takes eight that has clusters
constexpr int kMostBytes = 110 * 1024;  // of a row in a block: an H100 has room for two such

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

/// The sum of `value` over all threads of a row in this block, in each of them (exercise 1.4):
/// those that share threadIdx.y, one warp, or all of the block. `sum` is 0 and 1 in turn: the two
/// sums of a row have slots of their own. A warp that is ahead writes to the other ones than those
/// that a late warp may still be reading.
__device__ inline float row_sum_of(float value, int sum) {
  __shared__ float partial[2][kMostWarps];
  value = warp_sum(value);
  if (blockDim.x == 32) {
    return value;
  }
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warps = blockDim.x / 32;
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

/// For rows that fit into the shared memory of their blocks. Thread t has packs t, t + blockDim.x,
/// ... of row blockIdx.x * blockDim.y + threadIdx.y.
template <typename T, int V>
__global__ void __launch_bounds__(kMostThreads)
    held_kernel(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                int64_t y_stride, float* mean, float* rstd, int rows, int cols, float eps) {
  using RowPack = Pack<T, V>;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (row >= rows) {
    return;  // a whole warp; where a row has several, each block has one row
  }
  const int packs = cols / V;           // of a row
  const bool leads = threadIdx.x == 0;  // one thread of the row does
  const auto* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
  auto* y_row = reinterpret_cast<RowPack*>(y + row * y_stride);
  extern __shared__ float4 shared_memory[];  // [blockDim.y][packs], aligned to 16 bytes
  RowPack* held = reinterpret_cast<RowPack*>(shared_memory) + threadIdx.y * packs;
  float row_mean = 0.0f;
  float row_rstd = 0.0f;

  // TODO 1: the row, and its statistics. begin_copy() this thread's packs of x_row, i below packs,
  // to held + i, all of them, and then wait: __pipeline_commit() and __pipeline_wait_prior(0).
  // TODO 1, the statistics: find row_mean and row_rstd as in 2.1, in two walks over the same packs
  // of held. No barrier is needed, for each thread reads only what it has copied itself. The sum
  // for the mean is row_sum_of()'s sum 0, that of the squares sum 1. Let the thread that
  // leads save both results.

  // TODO 2: y. Walk over the packs of held once more, and store those of y_row: (value - mean) *
  // rstd, times the weight, plus the bias, as floats, each converted to T at the very end.
  // pack_or() gives the packs of weight and bias.
}

/// Waits for all threads of a row.
__device__ inline void sync_row() {
  if (blockDim.x == 32) {
    __syncwarp();
  } else {
    __syncthreads();
  }
}

/// How many elements behind a multiple of 16 bytes an array begins.
template <typename T>
__device__ inline int lead_of(const T* array) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(array) % 16 / sizeof(T));
}

/// A pack of array[first] and those behind it, for any address: what two aligned packs have of it.
/// Where these are not all within the array of `size` elements, element by element.
template <bool kAligned, typename T>
__device__ inline Pack<T, 16 / sizeof(T)> pack_at(const T* array, int first, int size) {
  constexpr int V = 16 / sizeof(T);
  const int lead = kAligned ? 0 : lead_of(array + first);
  const auto* packs = reinterpret_cast<const Pack<T, V>*>(array + first - lead);
  if (lead == 0) {
    return packs[0];
  }
  Pack<T, V> result;
  if (first < lead || first - lead + 2 * V > size) {
    for (int j = 0; j < V; ++j) {
      result.values[j] = array[first + j];
    }
    return result;
  }
  const Pack<T, V> both[2] = {packs[0], packs[1]};
  uint32_t words[8];
  memcpy(words, both, 32);
  const int bytes = lead * static_cast<int>(sizeof(T));  // to leave out: 8, 4 and 2 of them
#pragma unroll
  for (int j = 0; j < 6; ++j) {
    words[j] = bytes & 8 ? words[j + 2] : words[j];
  }
#pragma unroll
  for (int j = 0; j < 5; ++j) {
    words[j] = bytes & 4 ? words[j + 1] : words[j];
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    words[j] = __funnelshift_r(words[j], words[j + 1], (bytes & 2) * 8);
  }
  memcpy(&result, words, 16);
  return result;
}

/// The same of weight or bias; where there is none, of what changes nothing.
template <bool kAligned, typename T>
__device__ inline Pack<T, 16 / sizeof(T)> pack_at_or(const T* values, int first, int size,
                                                     float otherwise) {
  return values == nullptr ? pack_or<Pack<T, 16 / sizeof(T)>>(values, 0, otherwise)
                           : pack_at<kAligned>(values, first, size);
}

/// What a block has found of its part of a row.
struct Moments {
  float mean;
  float squares;  // the sum of (x - mean)^2
};

/// Of the moments of a row's blocks, those of the row. A block has `part` columns, the last ones
/// less.
__device__ inline Moments row_moments(Moments own, int part, int cols) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900  // before, no GPU has clusters
  if (gridDim.y > 1) {
    __shared__ Moments shares[kMostBlocks];
    // TODO 4: a cluster, as in 1.4, but two numbers at once, so that there is one barrier less. Let
    // each block store its moments in the shares of all. The row's mean is that of the blocks'
    // means, each as often as it has columns; and squares about another mean grow by the number of
    // columns times the square of the difference.
  }
#endif
  return own;
}

/// For rows at any address, and for wide ones: the row is held in the packs of 16 aligned bytes
/// that it touches in memory; what of the first and the last is not the row's, is zero. Where
/// gridDim.y > 1, a cluster has the row, and x_part and y_part are this block's.
template <typename T, bool kAligned>
__global__ void __launch_bounds__(kMostThreads)
    shared_kernel(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                  int64_t y_stride, float* mean, float* rstd, int rows, int cols, float eps) {
  constexpr int V = 16 / sizeof(T);
  using RowPack = Pack<T, V>;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (row >= rows) {
    return;
  }
  const int part = ((cols - 1) / V / gridDim.y + 1) * V;  // of the row's columns, a block's
  const int first = blockIdx.y * part;                    // this block's first one
  const int count = max(0, min(part, cols - first));
  const T* x_part = x + row * x_stride + first;
  T* y_part = y + row * y_stride + first;
  const int slots = part / V + (kAligned ? 0 : 1);
  extern __shared__ float4 shared_memory[];  // [blockDim.y][slots]
  auto* held = reinterpret_cast<RowPack*>(shared_memory) + threadIdx.y * slots;
  const T* values = reinterpret_cast<const T*>(held);  // x_part[col] is values[x_lead + col]
  const int x_lead = kAligned ? 0 : lead_of(x_part);
  const int y_lead = kAligned ? 0 : lead_of(y_part);
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  if (gridDim.y > 1) {
    cooperative_groups::this_cluster().barrier_arrive();  // this block has begun
  }
#endif
#pragma unroll 4
  for (int i = threadIdx.x; i < slots; i += blockDim.x) {
    const int col = i * V - x_lead;
    if (col >= 0 && col + V <= count) {
      __pipeline_memcpy_async(held + i, x_part + col, 16);
    } else {
      for (int j = 0; j < V; ++j) {
        const bool inside = col + j >= 0 && col + j < count;
        held[i].values[j] = inside ? x_part[col + j] : static_cast<T>(0.0f);
      }
    }
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  if (!kAligned) {
    sync_row();  // what y needs of a row other threads have copied
  }
  Moments own = {};

  // TODO 4, shared memory: find the moments of this block's part: walk twice over this thread's
  // packs of held, threadIdx.x, threadIdx.x + blockDim.x, ... below slots, as in TODO 1. Zeros
  // change no sum, but they are no columns: of the squares leave them out. values[k] is column
  // k - x_lead, which is there if that is 0 or more, and below count.
  const Moments all = row_moments(own, part, cols);
  const float row_rstd = rsqrtf(all.squares / cols + eps);
  if (first == 0 && threadIdx.x == 0) {
    mean[row] = all.mean;
    rstd[row] = row_rstd;
  }

  // The packs of y are those of 16 aligned bytes of y. What they need of the others may lie in two
  // packs.
#pragma unroll 2
  for (int i = threadIdx.x; i * V < y_lead + count; i += blockDim.x) {
    const int col = i * V - y_lead;
    const int begin = max(col, 0);
    const int end = min(col + V, count);
    if (end - begin == V) {
      RowPack pack = pack_at<kAligned>(values, x_lead + col, slots * V);
      const RowPack weight_pack = pack_at_or<kAligned>(weight, first + col, cols, 1.0f);
      const RowPack bias_pack = pack_at_or<kAligned>(bias, first + col, cols, 0.0f);
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const float x_hat = (static_cast<float>(pack.values[j]) - all.mean) * row_rstd;
        pack.values[j] = static_cast<T>(x_hat * static_cast<float>(weight_pack.values[j]) +
                                        static_cast<float>(bias_pack.values[j]));
      }
      float4 bytes;  // nvcc makes one store of them, and eight of a pack of 16-bit values here
      memcpy(&bytes, &pack, 16);
      __stcs(reinterpret_cast<float4*>(y_part + col), bytes);
    } else {
      for (int c = begin; c < end; ++c) {
        const float x_hat = (static_cast<float>(values[x_lead + c]) - all.mean) * row_rstd;
        const float factor = weight == nullptr ? 1.0f : static_cast<float>(weight[first + c]);
        const float offset = bias == nullptr ? 0.0f : static_cast<float>(bias[first + c]);
        y_part[c] = static_cast<T>(x_hat * factor + offset);
      }
    }
  }
}

/// For rows of any width on any GPU: one block a row, which is loaded three times, as in 2.1, but
/// with packs.
template <typename T, int V>
__global__ void __launch_bounds__(kMostThreads)
    wide_kernel(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                int64_t y_stride, float* mean, float* rstd, int, int cols, float eps) {
  using RowPack = Pack<T, V>;
  const int64_t row = blockIdx.x;
  const RowPack* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
  RowPack* y_row = reinterpret_cast<RowPack*>(y + row * y_stride);
  // TODO 4, any GPU: as in 2.1, but pack by pack, of which there are cols / V. pack_or() gives
  // those of weight and bias, as above.
}

/// Can every row of a tensor be accessed in packs of 16 bytes? Null counts as aligned.
template <typename T>
bool is_aligned(const T* tensor, int64_t stride, int cols) {
  constexpr int V = 16 / sizeof(T);
  // TODO 3: say when, as in 1.4.
  return false;
}

inline int attribute(cudaDeviceAttr which) {
  int device = 0;
  int value = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&value, which, device);
  return value;
}

/// A kernel, and its launch: threads of a row in a block, rows of a block, blocks of a row, and the
/// shared memory of a block.
template <typename T>
struct Variant {
  void (*kernel)(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                 int64_t y_stride, float* mean, float* rstd, int rows, int cols, float eps);
  int threads;
  int rows;
  int blocks;
  int bytes;
};

/// A block for a row of `packs` packs. A thread has four packs, and where that would be too many
/// threads eight; column by column it has 16.
template <typename T, int V>
Variant<T> held_variant(int packs) {
  const int bytes = packs * static_cast<int>(sizeof(Pack<T, V>));
  const int each = V == 1 ? 16 : packs <= 4 * kMostThreads ? 4 : 8;
  const int wanted = (packs + 32 * each - 1) / (32 * each);
  const int warps = wanted < kMostWarps ? wanted : kMostWarps;
  const int rows = warps == 1 ? 4 : 1;  // narrow rows share a block
  return {held_kernel<T, V>, 32 * warps, rows, 1, rows * bytes};
}

/// As few blocks as hold a row of `packs` packs with `most` bytes each, eight packs a thread.
/// Without a kernel where there is no room.
template <typename T, bool kAligned>
Variant<T> shared_variant(int packs, int most) {
  const int most_blocks = attribute(cudaDevAttrClusterLaunch) != 0 ? kMostBlocks : 1;
  for (int blocks = 1; blocks <= most_blocks; blocks *= 2) {
    const int slots = (packs - 1) / blocks + (kAligned ? 1 : 2);
    if (16 * slots <= most) {
      const int warps = slots < kMostWarps * 256 ? (slots + 255) / 256 : kMostWarps;
      const int rows = warps == 1 ? 4 : 1;
      return {shared_kernel<T, kAligned>, 32 * warps, rows, blocks, rows * 16 * slots};
    }
  }
  return {};
}

template <typename T>
Variant<T> variant_for(int cols, bool aligned) {
  constexpr int V = 16 / sizeof(T);
  const int room = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - 2048;  // 2048: row_sum_of()
  const int most = room < kMostBytes ? room : kMostBytes;
  const int64_t row_bytes = static_cast<int64_t>(cols) * sizeof(T);
  if (aligned && row_bytes <= most) {
    return held_variant<T, V>(cols / V);
  }
  // TODO 4, at last: rows that are not aligned, and wide ones. Return shared_variant<T, true>() or
  // <T, false>, with (cols - 1) / V + 1 packs, if it has a kernel.
  if (!aligned && row_bytes <= most) {
    return held_variant<T, 1>(cols);
  }
  return {aligned ? wide_kernel<T, V> : wide_kernel<T, 1>, kMostThreads, 1, 1, 0};
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
  const Variant<T> variant = variant_for<T>(cols, aligned);
  const int64_t blocks = (static_cast<int64_t>(rows) + variant.rows - 1) / variant.rows;
  const dim3 block(variant.threads, variant.rows);
  const dim3 grid(static_cast<unsigned>(blocks), variant.blocks);
  cudaFuncSetAttribute(variant.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, variant.bytes);
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {1, grid.y, 1};
  const unsigned attributes = variant.blocks > 1 ? 1 : 0;  // not every GPU knows this one
  const size_t bytes = variant.bytes;
  const cudaLaunchConfig_t config = {grid, block, bytes, stream, &cluster, attributes};
  cudaLaunchKernelEx(&config, variant.kernel, x, x_stride, weight, bias, y, y_stride, mean, rstd,
                     rows, cols, eps);
}

}  // namespace onepass
