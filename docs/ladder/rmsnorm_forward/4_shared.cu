// RMSNorm, version 4: shared memory. Rows that are wide, or not aligned, wait there, brought by
// asynchronous copies; narrow rows have two packs a thread.
//
// In version 3 the registers of a cluster hold wide rows, and rows that are not aligned are moved
// column by column. In the last version, solutions/01_rmsnorm/forward_fast.cu, registers hold wide
// rows again: blocks of a cluster send each other their sums, and wait for nothing else.

#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include <onepass/rmsnorm.h>
#include <cstring>

namespace onepass {

constexpr int kMostThreads = 1024;  // of a row, and of a block
constexpr int kMostWarps = kMostThreads / 32;
constexpr int kMostBlocks = 4;         // of a cluster; any GPU takes eight that has clusters
constexpr int kMostBytes = 72 * 1024;  // of a row in shared memory: an H100 has room for three such

/// V neighbouring columns, loaded and stored in one access.
template <typename T, int V>
struct alignas(sizeof(T) * V) Pack {
  T values[V];
};

/// How many elements behind a multiple of 16 bytes an array begins.
template <typename T>
__device__ inline int lead_of(const T* array) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(array) % 16 / sizeof(T));
}

/// The sum of `value` over the 32 lanes of a warp, in every lane (exercise 1.1).
__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// The sum of `value` over all threads of a row, in each of them. A row has the threads that share
/// threadIdx.y: one warp, or all of the block. Where kShared, those of gridDim.y blocks, a cluster.
template <bool kShared>
__device__ inline float row_sum_of(float value) {
  __shared__ float partial[kMostWarps];
  value = warp_sum(value);
  if (blockDim.x == 32) {
    __syncwarp();  // as behind the barrier below, all see what any has stored before
    return value;
  }
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  if (lane == 0) {
    partial[warp] = value;
  }
  __syncthreads();
  value = warp_sum(lane < blockDim.x / 32 ? partial[lane] : 0.0f);
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900  // before, no GPU has clusters
  if (kShared && gridDim.y > 1) {
    __shared__ float shares[kMostBlocks];
    const auto cluster = cooperative_groups::this_cluster();
    cluster.barrier_wait();
    if (threadIdx.x < cluster.num_blocks()) {
      cluster.map_shared_rank(shares, threadIdx.x)[cluster.block_rank()] = value;
    }
    cluster.sync();  // behind it each looks at its own memory, so that a block may end
    value = 0.0f;
    for (unsigned block = 0; block < cluster.num_blocks(); ++block) {
      value += shares[block];
    }
  }
#endif
  return value;
}

/// Pack i of the weights: ones where there are none.
template <typename T, int V>
__device__ inline Pack<T, V> weights_at(const Pack<T, V>* weights, int i) {
  if (weights != nullptr) {
    return weights[i];
  }
  Pack<T, V> ones;
  for (int j = 0; j < V; ++j) {
    ones.values[j] = static_cast<T>(1.0f);
  }
  return ones;
}

/// For rows that fit in the registers of their threads: kPacks packs a thread. Thread t has packs
/// t, t + blockDim.x, t + 2 * blockDim.x, ... of row blockIdx.x * blockDim.y + threadIdx.y.
template <typename T, int V, int kPacks>
__global__ void __launch_bounds__(32 < kPacks * V ? kMostThreads / 2 : kMostThreads)
    rmsnorm_held_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                        float* rstd, int rows, int cols, float eps) {
  using RowPack = Pack<T, V>;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (row >= rows) {
    return;  // a whole warp; where a row has several, each block has one row
  }
  const int packs = cols / V;           // of a row
  const bool leads = threadIdx.x == 0;  // one thread of the row does
  const auto* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
  const auto* weights = reinterpret_cast<const RowPack*>(weight);
  auto* y_row = reinterpret_cast<RowPack*>(y + row * y_stride);
  RowPack held[kPacks] = {};  // this thread's packs of the row; zeros at first

#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = p * blockDim.x + threadIdx.x;
    if (i < packs) {
      held[p] = x_row[i];
    }
  }
  float squares = 0.0f;
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float value = static_cast<float>(held[p].values[j]);
      squares += value * value;
    }
  }
  const float row_rstd = rsqrtf(row_sum_of<false>(squares) / cols + eps);
  if (leads) {
    rstd[row] = row_rstd;
  }

#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = p * blockDim.x + threadIdx.x;
    if (i < packs) {
      const RowPack weight_pack = weights_at(weights, i);
      RowPack y_pack;
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const float normalized = static_cast<float>(held[p].values[j]) * row_rstd;
        y_pack.values[j] = static_cast<T>(normalized * static_cast<float>(weight_pack.values[j]));
      }
      y_row[i] = y_pack;
    }
  }
}

/// For rows of any width on any GPU: one block a row, which is read twice.
template <typename T, int V>
__global__ void __launch_bounds__(kMostThreads)
    rmsnorm_wide_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                        float* rstd, int, int cols, float eps) {
  using RowPack = Pack<T, V>;
  const int64_t row = blockIdx.x;
  const int packs = cols / V;  // of a row
  const auto* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
  const auto* weights = reinterpret_cast<const RowPack*>(weight);
  auto* y_row = reinterpret_cast<RowPack*>(y + row * y_stride);

  float squares = 0.0f;
#pragma unroll 4
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    const RowPack x_pack = x_row[i];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float value = static_cast<float>(x_pack.values[j]);
      squares += value * value;
    }
  }
  const float row_rstd = rsqrtf(row_sum_of<false>(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = row_rstd;
  }
#pragma unroll 2
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    const RowPack x_pack = x_row[i];
    const RowPack weight_pack = weights_at(weights, i);
    RowPack y_pack;
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float normalized = static_cast<float>(x_pack.values[j]) * row_rstd;
      y_pack.values[j] = static_cast<T>(normalized * static_cast<float>(weight_pack.values[j]));
    }
    y_row[i] = y_pack;
  }
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

/// For rows at any address, and for wide ones: the row waits in shared memory, in the packs of 16
/// aligned bytes that it touches in memory; what of the first and the last is not the row's, is
/// zero. Where gridDim.y > 1, a cluster has the row, and x_part and y_part are this block's.
template <typename T, bool kAligned>
__global__ void __launch_bounds__(kMostThreads / 2)
    rmsnorm_shared_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                          float* rstd, int rows, int cols, float eps) {
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
    cooperative_groups::this_cluster().barrier_arrive();
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
  float row_rstd = 0.0f;

  __pipeline_commit();
  __pipeline_wait_prior(0);
  float squares = 0.0f;
#pragma unroll 4
  for (int i = threadIdx.x; i < slots; i += blockDim.x) {
    const RowPack x_pack = held[i];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float value = static_cast<float>(x_pack.values[j]);
      squares += value * value;
    }
  }
  row_rstd = rsqrtf(row_sum_of<true>(squares) / cols + eps);
  if (first == 0 && threadIdx.x == 0) {
    rstd[row] = row_rstd;
  }

  // The packs of y are those of 16 aligned bytes of y. What they need of x and of the weights may
  // lie in two packs.
  const auto result = [&](T value, float factor) {
    return static_cast<T>(static_cast<float>(value) * row_rstd * factor);
  };
#pragma unroll 2
  for (int i = threadIdx.x; i * V < y_lead + count; i += blockDim.x) {
    const int col = i * V - y_lead;
    if (col >= 0 && col + V <= count) {
      RowPack pack = pack_at<kAligned>(values, x_lead + col, slots * V);
      if (weight != nullptr) {
        const RowPack weight_pack = pack_at<kAligned>(weight, first + col, cols);
#pragma unroll
        for (int j = 0; j < V; ++j) {
          pack.values[j] = result(pack.values[j], static_cast<float>(weight_pack.values[j]));
        }
      } else {
#pragma unroll
        for (int j = 0; j < V; ++j) {
          pack.values[j] = result(pack.values[j], 1.0f);
        }
      }
      float4 bytes;  // nvcc makes one store of them, and eight of a pack of 16-bit values here
      memcpy(&bytes, &pack, 16);
      __stcs(reinterpret_cast<float4*>(y_part + col), bytes);
    } else {
      for (int c = max(col, 0); c < min(col + V, count); ++c) {
        const float factor = weight == nullptr ? 1.0f : static_cast<float>(weight[first + c]);
        y_part[c] = result(values[x_lead + c], factor);
      }
    }
  }
}

/// Can every row of a tensor be accessed in packs of 16 bytes?
template <typename T>
bool is_aligned(const T* tensor, int64_t stride, int cols) {
  constexpr int V = 16 / sizeof(T);
  if (reinterpret_cast<uintptr_t>(tensor) % 16 == 0 && stride % V == 0 && cols % V == 0) {
    return true;
  }
  return false;
}

/// A kernel, and its launch: threads of a row in a block, rows of a block, blocks of a row, and the
/// shared memory of a block.
template <typename T>
struct Variant {
  void (*kernel)(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride, float* rstd,
                 int rows, int cols, float eps);
  int threads;
  int rows;
  int blocks;
  int bytes;
};

/// As many warps as hold a row of `packs` packs, kPacks a thread. Narrow rows share a block.
template <typename T, int V, int kPacks>
Variant<T> held_variant(int packs) {
  const int warps = (packs + 32 * kPacks - 1) / (32 * kPacks);
  return {rmsnorm_held_kernel<T, V, kPacks>, 32 * warps, warps == 1 ? 4 : 1, 1, 0};
}

inline int attribute(cudaDeviceAttr which) {
  int device = 0;
  int value = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&value, which, device);
  return value;
}

/// As few blocks as hold a row in kMostBytes each, or what a block may have. Eight packs a thread.
/// Without a kernel where there is no room.
template <typename T>
Variant<T> shared_variant(int cols, bool aligned) {
  constexpr int V = 16 / sizeof(T);
  const int most = attribute(cudaDevAttrClusterLaunch) != 0 ? kMostBlocks : 1;
  const int room = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - 1024;  // 1024: row_sum_of()
  for (int blocks = 1; blocks <= most; blocks *= 2) {
    const int slots = (cols - 1) / V / blocks + (aligned ? 1 : 2);
    if (16 * slots <= (room < kMostBytes ? room : kMostBytes)) {
      const int warps = slots < 16 * 256 ? (slots + 255) / 256 : 16;
      const int rows = warps == 1 ? 4 : 1;
      const auto kernel =
          aligned ? rmsnorm_shared_kernel<T, true> : rmsnorm_shared_kernel<T, false>;
      return {kernel, 32 * warps, rows, blocks, rows * 16 * slots};
    }
  }
  return {};
}

/// The fastest that an H100 was seen to have for a row.
template <typename T>
Variant<T> variant_for(int cols, bool aligned) {
  constexpr int V = 16 / sizeof(T);
  const int packs = cols / V;
  if (aligned && packs <= 1024) {  // many small blocks: while some sum, others load
    return held_variant<T, V, 2>(packs);
  }
  if (aligned && packs > 2048 && packs <= 2560) {  // 640 threads of 4 would leave a third of an SM
    return held_variant<T, V, 8>(packs);
  }
  if (aligned && packs <= 4 * kMostThreads) {
    return held_variant<T, V, 4>(packs);
  }
  if (aligned && cols <= 32 * kMostThreads) {  // 32 floats are half the registers of a thread
    return held_variant<T, V, 32 / V>(packs);
  }
  const Variant<T> shared = shared_variant<T>(cols, aligned);
  if (shared.kernel != nullptr) {
    return shared;
  }
  if (!aligned && cols <= 16 * kMostThreads) {
    return held_variant<T, 1, 16>(cols);
  }
  return {aligned ? rmsnorm_wide_kernel<T, V> : rmsnorm_wide_kernel<T, 1>, kMostThreads, 1, 1, 0};
}

template <typename T>
void rmsnorm_forward_fast(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                          float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;  // a grid of no blocks is a launch error
  }
  const bool aligned =
      is_aligned(x, x_stride, cols) && is_aligned(weight, 0, cols) && is_aligned(y, y_stride, cols);
  const Variant<T> variant = variant_for<T>(cols, aligned);
  const int64_t blocks = (static_cast<int64_t>(rows) + variant.rows - 1) / variant.rows;
  const dim3 block(variant.threads, variant.rows);
  const dim3 grid(static_cast<unsigned>(blocks), variant.blocks);
  const size_t bytes = variant.bytes;
  if (bytes > 0) {
    cudaFuncSetAttribute(variant.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         variant.bytes);
  }
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {1, grid.y, 1};
  const unsigned attributes = variant.blocks > 1 ? 1 : 0;  // not every GPU knows this one
  const cudaLaunchConfig_t config = {grid, block, bytes, stream, &cluster, attributes};
  cudaLaunchKernelEx(&config, variant.kernel, x, x_stride, weight, y, y_stride, rstd, rows, cols,
                     eps);
}

}  // namespace onepass
