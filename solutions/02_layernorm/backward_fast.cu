// Exercise 2.6: LayerNorm backward at the speed of memory, all of it in one pass over x and dy.
//
//     dy, x, dx       [rows, cols]  rows dy_stride, x_stride and dx_stride elements apart
//     weight          [cols]
//     mean, rstd      [rows]        fp32, saved by the forward pass
//     dweight, dbias  [cols]
//     scratch         layernorm_scratch_size(rows, cols) numbers, fp32, contents undefined
//
// The function of exercise 2.4, whose persistent blocks walk over a row again and again, and wait
// for the next one. Here each element of dy and x is loaded once, 16 bytes at a time, and early:
//   - dx: rows come through a ring in shared memory, by asynchronous copies. While one is summed,
//     the next ones are on their way.
//   - dweight and dbias: a thread has the same columns in every row, so it keeps their sums in
//     registers from its first row to its last. Only then do they go to scratch, a row of sums a
//     block, and a second kernel adds up the blocks.
//
// Grade it:   make -C build grade_layernorm
// Read first: docs/02_layernorm.md, "2.6 Backward, at the speed of memory"

#include <cuda_pipeline.h>
#include <onepass/layernorm.h>

namespace onepass {

constexpr int kMostThreads = 512;  // threads a block; also how many a multiprocessor gets
constexpr int kMostWarps = kMostThreads / 32;
constexpr int kMostStages = 4;  // rows of the ring: more bring nothing

/// V neighbouring columns, copied, loaded and stored in one access.
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
/// stage of the ring: first the packs of dy, then those of x.
template <int kPacks, typename RowPack, typename T>
__device__ inline void begin_row(RowPack* stage, const T* dy_row, const T* x_row, int packs) {
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = p * blockDim.x + threadIdx.x;
    if (i < packs) {
      begin_copy(stage + i, reinterpret_cast<const RowPack*>(dy_row) + i);
      begin_copy(stage + packs + i, reinterpret_cast<const RowPack*>(x_row) + i);
    }
  }
}

template <typename T, int V, int kPacks>
__global__ void __launch_bounds__(kMostThreads)
    ring_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                const float* mean, const float* rstd, T* dx, int64_t dx_stride,
                float* partial_dweight,  // [gridDim.x, cols]
                float* partial_dbias,    // [gridDim.x, cols]
                int rows, int cols, int stages) {
  using RowPack = Pack<T, V>;
  const int packs = cols / V;              // of a row
  extern __shared__ float4 ring_memory[];  // [stages][2][packs], aligned to 16 bytes
  RowPack* ring = reinterpret_cast<RowPack*>(ring_memory);
  RowPack weights[kPacks] = {};       // of this thread's columns
  float sum_dweight[kPacks][V] = {};  // the same, over this block's rows
  float sum_dbias[kPacks][V] = {};
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = p * blockDim.x + threadIdx.x;
    if (i < packs) {
      weights[p] = reinterpret_cast<const RowPack*>(weight)[i];
    }
  }

  // TODO 1: fill the ring. Of this block's rows, blockIdx.x, blockIdx.x + gridDim.x, ..., begin to
  // copy the first `stages`, if they are below rows: begin_row<kPacks>(ring + 2 * stage * packs,
  // its row of dy, its row of x, packs). Behind each __pipeline_commit(): a row is a batch. Commit
  // also where there is no row, for the batches are counted.
  // [solution 1]
  for (int stage = 0; stage < stages; ++stage) {
    const int64_t row = blockIdx.x + static_cast<int64_t>(stage) * gridDim.x;
    if (row < rows) {
      begin_row<kPacks>(ring + 2 * stage * packs, dy + row * dy_stride, x + row * x_stride, packs);
    }
    __pipeline_commit();
  }
  // [end]
  const int lane = threadIdx.x % 32;
  float means = 0.0f;  // of a row of this lane, of the next 32 of this block
  float rstds = 0.0f;
  int step = 0;
  int stage = 0;
  int parity = 0;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const RowPack* dy_row = ring + 2 * stage * packs;  // [packs]
    const RowPack* x_row = dy_row + packs;             // [packs]
    // Each lane loads mean and rstd of another row, and hands them round when its turn comes: a
    // wait for memory every 32 rows, not one a row.
    if (step % 32 == 0) {
      const int64_t mine = row + static_cast<int64_t>(lane) * gridDim.x;
      means = mine < rows ? mean[mine] : 0.0f;
      rstds = mine < rows ? rstd[mine] : 0.0f;
    }
    const float row_mean = __shfl_sync(0xffffffff, means, step % 32);
    const float row_rstd = __shfl_sync(0xffffffff, rstds, step % 32);
    ++step;

    // TODO 1, dx. Wait until this row has landed: __pipeline_wait_prior() for all batches but the
    // last stages - 1. Add up wdy and wdy * x̂ over this thread's packs of dy_row and x_row, those i
    // that begin_row() has copied; their weights are weights[p]. Call block_sums_of() with parity
    // for the sums over the row, and divide by cols. Then walk over the packs again and store dx.
    // [solution 1]
    __pipeline_wait_prior(stages - 1);
    RowSums sums = {0.0f, 0.0f};
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int i = p * blockDim.x + threadIdx.x;
      if (i < packs) {
        const RowPack dy_pack = dy_row[i];
        const RowPack x_pack = x_row[i];
#pragma unroll
        for (int j = 0; j < V; ++j) {
          const float wdy =
              static_cast<float>(weights[p].values[j]) * static_cast<float>(dy_pack.values[j]);
          const float x_hat = (static_cast<float>(x_pack.values[j]) - row_mean) * row_rstd;
          sums.wdy += wdy;
          sums.wdy_hat += wdy * x_hat;
        }
      }
    }
    sums = block_sums_of(sums, parity);
    const float mean_wdy = sums.wdy / cols;
    const float mean_wdy_hat = sums.wdy_hat / cols;
    RowPack* dx_row = reinterpret_cast<RowPack*>(dx + row * dx_stride);
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int i = p * blockDim.x + threadIdx.x;
      if (i < packs) {
        const RowPack dy_pack = dy_row[i];
        const RowPack x_pack = x_row[i];
        RowPack dx_pack;
#pragma unroll
        for (int j = 0; j < V; ++j) {
          const float wdy =
              static_cast<float>(weights[p].values[j]) * static_cast<float>(dy_pack.values[j]);
          const float x_hat = (static_cast<float>(x_pack.values[j]) - row_mean) * row_rstd;
          dx_pack.values[j] = static_cast<T>((wdy - mean_wdy - x_hat * mean_wdy_hat) * row_rstd);
        }
        dx_row[i] = dx_pack;
      }
    }
    // [end]

    // TODO 2: dweight and dbias, first stage. Add this row's dy * x̂ to sum_dweight[p][j], and its
    // dy to sum_dbias[p][j].
    // [solution 2]
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int i = p * blockDim.x + threadIdx.x;
      if (i < packs) {
        const RowPack dy_pack = dy_row[i];
        const RowPack x_pack = x_row[i];
#pragma unroll
        for (int j = 0; j < V; ++j) {
          const float dy_value = static_cast<float>(dy_pack.values[j]);
          const float x_hat = (static_cast<float>(x_pack.values[j]) - row_mean) * row_rstd;
          sum_dweight[p][j] += dy_value * x_hat;
          sum_dbias[p][j] += dy_value;
        }
      }
    }
    // [end]

    // TODO 1, refill: nobody needs this row any more. Begin to copy that which is `stages` steps
    // further to its place, if there is one, and commit in any case. No barrier is needed, for each
    // thread reads only what it has copied itself.
    // [solution 1]
    const int64_t later = row + static_cast<int64_t>(stages) * gridDim.x;
    if (later < rows) {
      begin_row<kPacks>(ring + 2 * stage * packs, dy + later * dy_stride, x + later * x_stride,
                        packs);
    }
    __pipeline_commit();
    // [end]
    stage = stage + 1 < stages ? stage + 1 : 0;
    parity ^= 1;
  }

  // TODO 2, continued: the last row is done. Store sum_dweight[p] in row blockIdx.x of
  // partial_dweight, and sum_dbias[p] in that of partial_dbias, for each pack p that is there.
  // store_sums() does it for one: number p * blockDim.x + threadIdx.x.
  // [solution 2]
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = p * blockDim.x + threadIdx.x;
    if (i < packs) {
      store_sums(partial_dweight + static_cast<int64_t>(blockIdx.x) * cols, i, sum_dweight[p]);
      store_sums(partial_dbias + static_cast<int64_t>(blockIdx.x) * cols, i, sum_dbias[p]);
    }
  }
  // [end]
}

// Rows that do not fit into the ring, or whose sums do not fit into registers, take two kernels, as
// in 2.2 and 2.3, but with packs.

/// One block a row, which is read twice.
template <typename T, int V>
__global__ void __launch_bounds__(kMostThreads)
    wide_dx_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                   const float* mean, const float* rstd, T* dx, int64_t dx_stride, int cols) {
  using RowPack = Pack<T, V>;
  const int64_t row = blockIdx.x;
  const float row_mean = mean[row];
  const float row_rstd = rstd[row];
  const RowPack* dy_row = reinterpret_cast<const RowPack*>(dy + row * dy_stride);
  const RowPack* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
  const RowPack* weights = reinterpret_cast<const RowPack*>(weight);
  RowPack* dx_row = reinterpret_cast<RowPack*>(dx + row * dx_stride);
  // TODO 4: dx of a wide row: as in 2.2, but pack by pack, of which there are cols / V. The parity
  // of a single row is 0.
  // [solution 4]
  RowSums sums = {0.0f, 0.0f};
  for (int i = threadIdx.x; i < cols / V; i += blockDim.x) {
    const RowPack weight_pack = weights[i];
    const RowPack dy_pack = dy_row[i];
    const RowPack x_pack = x_row[i];
    for (int j = 0; j < V; ++j) {
      const float wdy =
          static_cast<float>(weight_pack.values[j]) * static_cast<float>(dy_pack.values[j]);
      sums.wdy += wdy;
      sums.wdy_hat += wdy * (static_cast<float>(x_pack.values[j]) - row_mean) * row_rstd;
    }
  }
  sums = block_sums_of(sums, 0);
  const float mean_wdy = sums.wdy / cols;
  const float mean_wdy_hat = sums.wdy_hat / cols;
  for (int i = threadIdx.x; i < cols / V; i += blockDim.x) {
    const RowPack weight_pack = weights[i];
    const RowPack dy_pack = dy_row[i];
    const RowPack x_pack = x_row[i];
    RowPack dx_pack;
    for (int j = 0; j < V; ++j) {
      const float wdy =
          static_cast<float>(weight_pack.values[j]) * static_cast<float>(dy_pack.values[j]);
      const float x_hat = (static_cast<float>(x_pack.values[j]) - row_mean) * row_rstd;
      dx_pack.values[j] = static_cast<T>((wdy - mean_wdy - x_hat * mean_wdy_hat) * row_rstd);
    }
    dx_row[i] = dx_pack;
  }
  // [end]
}

/// First stage of dweight and dbias: one thread for each pack of columns of each group of rows.
/// Group g has the rows g, g + groups, g + 2 * groups, ...
template <typename T, int V>
__global__ void __launch_bounds__(kMostThreads)
    wide_sum_rows_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                         const float* mean, const float* rstd,
                         float* partial_dweight,  // [groups, cols]
                         float* partial_dbias,    // [groups, cols]
                         int rows, int cols) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;  // the pack
  const int group = blockIdx.y;
  const int groups = gridDim.y;
  // TODO 4, continued: dweight and dbias, first stage. If there is such a pack, add up dy * x̂ and
  // dy of its columns over the group's rows, and store_sums() in the group's rows of partial sums.
  // [solution 4]
  if (i < cols / V) {
    float sum_dweight[V] = {};
    float sum_dbias[V] = {};
    for (int64_t row = group; row < rows; row += groups) {
      const auto dy_pack = reinterpret_cast<const Pack<T, V>*>(dy + row * dy_stride)[i];
      const auto x_pack = reinterpret_cast<const Pack<T, V>*>(x + row * x_stride)[i];
      const float row_mean = mean[row];
      const float row_rstd = rstd[row];
      for (int j = 0; j < V; ++j) {
        const float x_hat = (static_cast<float>(x_pack.values[j]) - row_mean) * row_rstd;
        sum_dweight[j] += static_cast<float>(dy_pack.values[j]) * x_hat;
        sum_dbias[j] += static_cast<float>(dy_pack.values[j]);
      }
    }
    store_sums(partial_dweight + static_cast<int64_t>(group) * cols, i, sum_dweight);
    store_sums(partial_dbias + static_cast<int64_t>(group) * cols, i, sum_dbias);
  }
  // [end]
}

constexpr int kSumCols = 32;    // columns of a block of sum_blocks_kernel
constexpr int kSumSlices = 16;  // its threads for each of them

/// Second stage: adds up the blocks' sums, those for dbias in blocks (b, 0), those for dweight in
/// blocks (b, 1). Thread (c, s) takes rows of sums s, s + kSumSlices, ... of column c of its 32;
/// the slices meet in shared memory. It may be launched before the kernel in front of it has ended,
/// and waits for it.
template <typename T>
__global__ void sum_blocks_kernel(const float* partial_dweight,  // [blocks, cols]
                                  const float* partial_dbias,    // [blocks, cols]
                                  T* dweight, T* dbias, int blocks, int cols) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
  const float* partial = blockIdx.y == 0 ? partial_dbias : partial_dweight;
  T* sums = blockIdx.y == 0 ? dbias : dweight;
  const int slice = threadIdx.y;
  const int col = blockIdx.x * kSumCols + threadIdx.x;
  // TODO 2, second stage. Add up the partial sums of this column, if there is one, over blocks
  // slice, slice + kSumSlices, ... below blocks. Let the slices of a column meet in a __shared__
  // array [kSumSlices][kSumCols]. After a barrier, let slice 0 add them up in their order and store
  // the sum in sums[col], converted to T.
  // [solution 2]
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
    sums[col] = static_cast<T>(sum);
  }
  // [end]
}

/// Can every row of a tensor be accessed in packs of 16 bytes?
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

/// Makes dx, and rows of partial sums in scratch. Gives back how many.
template <typename T, int V>
int launch_rows(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                const float* mean, const float* rstd, T* dx, int64_t dx_stride,
                float* partial_dweight, float* partial_dbias, int rows, int cols,
                cudaStream_t stream) {
  constexpr int kFew = 16;                  // columns a thread
  constexpr int kMany = V > 1 ? 32 : kFew;  // one by one they take more registers than there are
  const int columns = cols <= kFew * kMostThreads ? kFew : kMany;
  const int warps = (cols + 32 * columns - 1) / (32 * columns);
  const int64_t row_bytes = 2 * static_cast<int64_t>(cols) * sizeof(T);  // dy and x
  const int each = warps <= kMostWarps ? kMostWarps / warps : 1;  // blocks of a multiprocessor
  const int stages = stages_for(each, row_bytes);
  if (warps <= kMostWarps && stages > 0) {
    const auto kernel =
        columns == kFew ? ring_kernel<T, V, kFew / V> : ring_kernel<T, V, kMany / V>;
    const int most = attribute(cudaDevAttrMultiProcessorCount) * each;
    const int blocks = most < layernorm_groups(rows) ? most : layernorm_groups(rows);
    const int ring_bytes = static_cast<int>(stages * row_bytes);
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, ring_bytes);
    kernel<<<blocks, 32 * warps, ring_bytes, stream>>>(dy, dy_stride, x, x_stride, weight, mean,
                                                       rstd, dx, dx_stride, partial_dweight,
                                                       partial_dbias, rows, cols, stages);
    return blocks;
  }
  constexpr int kMostGroups = 64;  // there are many blocks for each: the rows are wide
  const int groups = rows < kMostGroups ? rows : kMostGroups;
  const int pack_blocks = (cols / V + kMostThreads - 1) / kMostThreads;
  wide_dx_kernel<T, V><<<rows, kMostThreads, 0, stream>>>(dy, dy_stride, x, x_stride, weight, mean,
                                                          rstd, dx, dx_stride, cols);
  wide_sum_rows_kernel<T, V><<<dim3(pack_blocks, groups), kMostThreads, 0, stream>>>(
      dy, dy_stride, x, x_stride, mean, rstd, partial_dweight, partial_dbias, rows, cols);
  return groups;
}

template <typename T>
Summation layernorm_backward_fast(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                                  const T* weight, const float* mean, const float* rstd, T* dx,
                                  int64_t dx_stride, T* dweight, T* dbias, float* scratch, int rows,
                                  int cols, cudaStream_t stream) {
  const bool aligned = is_aligned(dy, dy_stride, cols) && is_aligned(x, x_stride, cols) &&
                       is_aligned(weight, 0, cols) && is_aligned(dx, dx_stride, cols);
  const auto launch = aligned ? launch_rows<T, 16 / sizeof(T)> : launch_rows<T, 1>;
  float* partial_dweight = scratch;  // both: [layernorm_groups(rows), cols]
  float* partial_dbias = scratch + static_cast<int64_t>(layernorm_groups(rows)) * cols;
  const int blocks = rows == 0
                         ? 0
                         : launch(dy, dy_stride, x, x_stride, weight, mean, rstd, dx, dx_stride,
                                  partial_dweight, partial_dbias, rows, cols, stream);
  // Also where there are no rows: the sums over none of them are zero. From sm_90 on a kernel may
  // be launched while the one before it ends, which hides the time that a launch takes.
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3((cols + kSumCols - 1) / kSumCols, 2);
  config.blockDim = dim3(kSumCols, kSumSlices);
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = attribute(cudaDevAttrComputeCapabilityMajor) >= 9 ? 1 : 0;
  cudaLaunchKernelEx(&config, sum_blocks_kernel<T>, static_cast<const float*>(partial_dweight),
                     static_cast<const float*>(partial_dbias), dweight, dbias, blocks, cols);
  return Summation::fixed_order;
}

}  // namespace onepass
