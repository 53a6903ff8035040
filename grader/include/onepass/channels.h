// Given device code for 4.3, over onepass/fast.h. A channel's elements lie in rows of `space`
// neighbours, one row in each sample. Read it once, from top to bottom.
//
//   1. Access, Part     which packs of a channel a thread has, and where they lie
//   2. Held             several packs in registers
//   3. Moments          of the threads of a block, and of the blocks of a cluster
//   4. launch_channels  how many threads and blocks a channel gets
#pragma once

#include <onepass/batchnorm_scratch.h>
#include <onepass/fast.h>

namespace onepass {

// Threads of a block at most, where it keeps what it loads, and where x is loaded twice.
constexpr int kKeepThreads = 512, kTwiceThreads = 256;
constexpr unsigned kRoomy = 52 << 10;  // bytes that a block keeps: an SM has room for four
constexpr unsigned kSlice = 8192;      // elements of a slice at least, where x is loaded twice

// ---- 1. Which packs a thread has --------------------------------------------------------------
//
// A channel is cut into slices, one for each block. A slice's packs go around its threads:
//
//     const Part<A> my(layout, blockIdx.x);
//     for (unsigned i = my.first; i < my.end; i += my.step) { my.store(y, i, pack); }

/// A thread accesses packs of V elements. With one channel per block, all its threads have packs
/// of it. With 32, each lane of a warp has a channel of its own: a warp then reads neighbours even
/// where a channel's own elements are far apart (space = 1). kEdges: rows begin at any address.
/// Packs begin at multiples of 16 bytes, and the first and the last of a row may be partly outside.
template <int kChannels_, int V_, bool kEdges_>
struct Access {
  static constexpr int kChannels = kChannels_, V = V_;
  static constexpr bool kEdges = kEdges_;
  static constexpr int kPacks = V == 1 ? 10 : kEdges ? 3 : 4;  // in flight: registers set the limit
  static constexpr unsigned kWhole = (1u << V) - 1;            // the mask of a whole pack
};

struct Layout {
  int channels, space;
  unsigned past;               // elements between a multiple of 16 bytes and x
  unsigned row_packs, packs;   // that a row and a channel may touch
  unsigned multiplier, shift;  // n / row_packs is __umulhi(2 * n, multiplier) >> shift
  unsigned slices, length;     // of a channel; packs of a slice (the last one may have fewer)
};

/// The packs of a channel that a thread has: first, first + step, ... below end.
template <typename A>
struct Part {
  const Layout& layout;
  unsigned slice, rank;  // rank: among the slice's threads of this channel, which are `step`
  unsigned first, step, end;
  int channel;
  bool leads;  // one thread of each channel in each slice: it saves what is one number there

  __device__ Part(const Layout& l, unsigned block) : layout(l) {
    slice = block % l.slices;
    rank = threadIdx.x / A::kChannels;
    first = slice * l.length + rank;
    step = blockDim.x / A::kChannels;
    end = min((slice + 1) * l.length, l.packs);
    channel = block / l.slices * A::kChannels + threadIdx.x % A::kChannels;
    leads = rank == 0 && channel < l.channels;
    if (channel >= l.channels) {  // the last block has too many lanes: they get no packs
      channel = l.channels - 1;
      end = 0;
    }
  }

  /// Where in shared memory a thread keeps its pack i. No other thread has this slot.
  __device__ unsigned slot(unsigned i) const { return (i - first) * A::kChannels + threadIdx.x; }

  /// Where in x pack i begins. `mask` gets a bit for each of its elements that is in the row.
  __device__ int64_t place(unsigned i, unsigned& mask) const {
    const unsigned sample = __umulhi(2 * i, layout.multiplier) >> layout.shift;
    const int row = sample * layout.channels + channel;
    const int64_t row_begin = static_cast<int64_t>(row) * layout.space;
    int element = (i - sample * layout.row_packs) * A::V;
    mask = A::kWhole;
    if (A::kEdges) {
      element -= (static_cast<unsigned>(row_begin) + layout.past) % A::V;
      const int left = min(max(layout.space - element, 0), A::V);
      mask = ((1u << left) - 1) & (A::kWhole << max(-element, 0));
    }
    return row_begin + element;
  }

  /// Stores pack i, as far as it is in the row. Nothing loads y again: the L2 cache may let it go.
  template <typename T>
  __device__ void store(T* y, unsigned i, const Pack<T, A::V>& pack) const {
    unsigned mask;
    T* to = y + place(i, mask);
    if (sizeof(pack) == 16 && mask == A::kWhole) {
      __stcs(reinterpret_cast<int4*>(to), reinterpret_cast<const int4&>(pack));
      return;
    }
    for (int j = 0; j < A::V; ++j) {
      if ((mask >> j & 1) != 0) {
        __stcs(to + j, pack.values[j]);
      }
    }
  }
};

// ---- 2. Packs in registers --------------------------------------------------------------------

/// kPacks packs of a thread, all in flight together: i, i + step, ...
template <typename A, typename T>
struct Held {
  Pack<T, A::V> packs[A::kPacks];
  unsigned masks[A::kPacks];
  int count;  // of the elements that are in the slice

  /// Is element j of pack p in the slice?
  __device__ bool has(int p, int j) const { return (masks[p] >> j & 1) != 0; }

  __device__ void load(const T* x, const Part<A>& my, unsigned i) {
    count = 0;
#pragma unroll
    for (int p = 0; p < A::kPacks; ++p, i += my.step) {
      masks[p] = 0;
      if (i < my.end) {
        const T* from = x + my.place(i, masks[p]);
        if (masks[p] == A::kWhole) {
          packs[p] = *reinterpret_cast<const Pack<T, A::V>*>(from);
        } else {
          for (int j = 0; j < A::V; ++j) {
            packs[p].values[j] = has(p, j) ? from[j] : static_cast<T>(0.0f);
          }
        }
      }
      count += __popc(masks[p]);
    }
  }
};

// ---- 3. Moments of many threads ---------------------------------------------------------------

/// Of some elements: how many they are, their mean, and the sum of their squared distances from it.
struct Moments {
  float count, mean, m2;
};

/// `sum` gets the moments of its own elements and those of `other` together. You write it.
__device__ inline void merge(Moments& sum, const Moments& other);

/// The moments of all threads of a channel, in each of them. All threads of the block call it.
template <int kChannels>
__device__ inline Moments merged_threads(Moments mine) {
  __shared__ Moments of_warps[kKeepThreads / 32][kChannels];
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int offset = 16; offset > 0 && kChannels == 1; offset /= 2) {
    merge(mine, {__shfl_xor_sync(0xffffffff, mine.count, offset),
                 __shfl_xor_sync(0xffffffff, mine.mean, offset),
                 __shfl_xor_sync(0xffffffff, mine.m2, offset)});
  }
  __syncthreads();  // some threads may still read what the call before left
  if (lane < kChannels) {
    of_warps[threadIdx.x / 32][lane] = mine;
  }
  __syncthreads();
  mine = {0.0f, 0.0f, 0.0f};
  for (int warp = 0; warp < blockDim.x / 32; ++warp) {
    merge(mine, of_warps[warp][lane % kChannels]);
  }
  return mine;
}

/// Waits for the other blocks of the cluster: what they have stored may be loaded.
__device__ inline void wait_for_cluster() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900  // before, no GPU has clusters
  cooperative_groups::this_cluster().sync();
#endif
}

// ---- 4. Launches ------------------------------------------------------------------------------

/// keep: for channels whose slices fit in the shared memory of a block or of a cluster. Larger ones
/// take two kernels: `part` leaves the moments of each slice, `finish` loads x again.
template <typename A, typename T, typename Arguments>
void launch_channels(void (*keep)(Arguments, Layout), void (*part)(Arguments, Layout),
                     void (*finish)(Arguments, Layout), const Arguments& a, cudaStream_t stream) {
  const auto divided = [](uint64_t n, uint64_t by) { return unsigned((n - 1) / by + 1); };
  Layout layout = {a.channels, a.space};
  layout.past = reinterpret_cast<uintptr_t>(a.x) / sizeof(T) % A::V;
  layout.row_packs = (a.space + (A::kEdges ? 2 * A::V - 2 : 0)) / A::V;
  layout.packs = a.batch * layout.row_packs;
  while (1u << layout.shift < layout.row_packs) {
    ++layout.shift;
  }
  layout.multiplier = divided(uint64_t{1} << (31 + layout.shift), layout.row_packs);

  // As few blocks as have room for what they keep, but eight for a large channel.
  layout.slices = a.batch * a.space < 65536 ? 1 : kMostBlocks;
  const auto cut = [&] { return layout.length = divided(layout.packs, 32 * layout.slices) * 32; };
  constexpr uint64_t kBytes = sizeof(Pack<T, A::V>) * A::kChannels;
  while (cut() * kBytes > kRoomy && layout.slices < kMostBlocks) {
    layout.slices *= 2;
  }
  const uint64_t bytes = layout.length * kBytes;
  const unsigned most = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - (10 << 10);
  const unsigned groups = divided(a.channels, A::kChannels);
  if (layout.slices == 1 || (has_clusters() && bytes <= most)) {
    // Small blocks, so that some load while others store: more threads only past 16 packs each.
    const unsigned each = 32 * (A::V == 1 ? A::kPacks : 16);
    const unsigned threads = 32 * divided(uint64_t{layout.length} * A::kChannels, each);
    cudaFuncSetAttribute(keep, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {layout.slices, 1, 1};
    const cudaLaunchConfig_t config = {
        groups * layout.slices,     min(threads, unsigned{kKeepThreads}), bytes, stream, &cluster,
        layout.slices > 1 ? 1u : 0u};
    cudaLaunchKernelEx(&config, keep, a, layout);
    return;
  }
  // With 32 channels side by side, each has few threads: a quarter of the elements.
  const unsigned least = kSlice / (A::kChannels == 1 ? A::V : 4);
  layout.length = max(divided(layout.packs, kBatchnormMostSlices), least);
  layout.slices = divided(layout.packs, layout.length);
  part<<<groups * layout.slices, kTwiceThreads, 0, stream>>>(a, layout);
  finish<<<groups * layout.slices, kTwiceThreads, 0, stream>>>(a, layout);
}

}  // namespace onepass
