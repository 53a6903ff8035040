// Given device code for 4.3, over onepass/fast.h. A channel's elements lie in rows of `space`
// neighbours, one row in each sample.
//
//   1. Access, Part     which packs of a channel a thread has, and where they lie
//   2. Held             several packs in registers
//   3. Moments          merged over the threads of a block
//   4. launch_channels  how many threads and blocks a channel gets
#pragma once

#include <onepass/batchnorm_scratch.h>
#include <onepass/fast.h>

namespace onepass {

constexpr int kKeepThreads = 512;   // of a block at most, where it keeps what it loads
constexpr int kTwiceThreads = 256;  // of a block where x is loaded twice

// ---- 1. Which packs a thread has --------------------------------------------------------------
//
// A channel is cut into slices, one for each block. A thread has several packs of it in flight:
//
//     const Part<A> my(layout, blockIdx.x, blockIdx.y);
//     for (unsigned i = my.first; i < my.end; i += A::kPacks * my.step) {
//       my.for_packs(i, [&](int p, unsigned n) { ... });  // the thread's pack p is pack n
//     }

/// A thread accesses packs of V elements. With one channel per block, all its threads have packs
/// of it. With 32, each lane of a warp has a channel of its own: a warp then reads neighbours even
/// where a channel's own elements are far apart (space = 1). kEdges: rows begin at any address.
/// Packs begin at multiples of 16 bytes, and the first and the last of a row may be partly outside.
template <int kChannels_, int V_, bool kEdges_>
struct Access {
  static constexpr int kChannels = kChannels_, V = V_;
  static constexpr bool kEdges = kEdges_;
  static constexpr int kPacks = V == 1 ? 12 : kEdges ? 3 : 4;  // in flight: registers set the limit
  static constexpr unsigned kWhole = (1u << V) - 1;            // the mask of a whole pack
};

struct Layout {
  unsigned channels, space;
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
  unsigned first, step, end, channel;
  bool leads;  // one thread of each channel in each slice: it saves what is one number there

  __device__ Part(const Layout& l, unsigned group, unsigned slice) : layout(l), slice(slice) {
    rank = threadIdx.x / A::kChannels;
    first = slice * l.length + rank;
    step = blockDim.x / A::kChannels;
    end = min((slice + 1) * l.length, l.packs);
    channel = group * A::kChannels + threadIdx.x % A::kChannels;
    leads = rank == 0 && channel < l.channels;
    if (channel >= l.channels) {  // the last block has too many lanes: they get no packs
      channel = l.channels - 1;
      end = 0;
    }
  }

  /// body(p, n) for packs n = i + p * step, as far as there are any.
  template <typename Body>
  __device__ void for_packs(unsigned i, Body body) const {
#pragma unroll
    for (int p = 0; p < A::kPacks; ++p) {
      if (i + p * step < end) {
        body(p, i + p * step);
      }
    }
  }

  /// Where in shared memory a thread keeps its pack n. No other thread has this slot.
  __device__ unsigned slot(unsigned n) const {
    return (n - first) * A::kChannels + threadIdx.x;
  }

  /// Where in x pack n begins. `mask` gets a bit for each of its elements that is in the row.
  __device__ int64_t place(unsigned n, unsigned& mask) const {
    const unsigned sample = __umulhi(2 * n, layout.multiplier) >> layout.shift;
    const unsigned row = sample * layout.channels + channel;
    const int64_t row_begin = static_cast<uint64_t>(row) * layout.space;
    const unsigned element = (n - sample * layout.row_packs) * A::V;
    mask = A::kWhole;
    if (!A::kEdges) {
      return row_begin + element;
    }
    const int first = element - (static_cast<unsigned>(row_begin) + layout.past) % A::V;
    const int left = min(max(static_cast<int>(layout.space) - first, 0), A::V);
    mask = ((1u << left) - 1) & (A::kWhole << max(-first, 0));
    return row_begin + first;
  }

  /// Stores pack n, as far as it is in the row.
  template <typename T>
  __device__ void store(T* y, unsigned n, const Pack<T, A::V>& pack) const {
    unsigned mask;
    T* to = y + place(n, mask);
    if (mask == A::kWhole) {
      *reinterpret_cast<Pack<T, A::V>*>(to) = pack;
      return;
    }
    for (int j = 0; j < A::V; ++j) {
      if ((mask >> j & 1) != 0) {
        to[j] = pack.values[j];
      }
    }
  }
};

// ---- 2. Packs in registers --------------------------------------------------------------------

/// kPacks packs of a thread, all in flight together. Zeros where there are none.
template <typename A, typename T>
struct Held {
  Pack<T, A::V> packs[A::kPacks] = {};
  unsigned masks[A::kPacks] = {};
  int count = 0;  // of the elements that are in the slice

  __device__ void load(const T* x, const Part<A>& my, unsigned i) {
    my.for_packs(i, [&](int p, unsigned n) {
      const T* from = x + my.place(n, masks[p]);
      if (masks[p] == A::kWhole) {
        packs[p] = *reinterpret_cast<const Pack<T, A::V>*>(from);
      } else {
        for (int j = 0; j < A::V; ++j) {
          packs[p].values[j] = (masks[p] >> j & 1) != 0 ? from[j] : static_cast<T>(0.0f);
        }
      }
      count += __popc(masks[p]);
    });
  }

  /// body(value) for each element that is in the slice. A thread that has all asks for none.
  template <typename Body>
  __device__ void for_values(Body body) const {
    if (count == A::kPacks * A::V) {
#pragma unroll
      for (int e = 0; e < A::kPacks * A::V; ++e) {
        body(value_of(packs[e / A::V], e % A::V));
      }
      return;
    }
#pragma unroll
    for (int e = 0; e < A::kPacks * A::V; ++e) {
      if ((masks[e / A::V] >> e % A::V & 1) != 0) {
        body(value_of(packs[e / A::V], e % A::V));
      }
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
__device__ inline void sync_cluster() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900  // before, no GPU has clusters
  cooperative_groups::this_cluster().sync();
#endif
}

// ---- 4. Launches ------------------------------------------------------------------------------

inline unsigned divided(uint64_t n, uint64_t by) {
  return static_cast<unsigned>((n - 1) / by + 1);
}

/// A channel in one slice.
template <typename A, typename Arguments>
Layout layout_of(const Arguments& a) {
  Layout layout = {};
  layout.channels = a.channels;
  layout.space = a.space;
  layout.past = reinterpret_cast<uintptr_t>(a.x) / sizeof(*a.x) % A::V;
  layout.row_packs = (a.space + (A::kEdges ? 2 * A::V - 2 : 0)) / A::V;
  layout.packs = layout.length = a.batch * layout.row_packs;
  layout.slices = 1;
  while (1u << layout.shift < layout.row_packs) {
    ++layout.shift;
  }
  layout.multiplier = divided(uint64_t{1} << (31 + layout.shift), layout.row_packs);
  return layout;
}

/// keep: for channels whose slices fit in the shared memory of a block or of a cluster. Larger ones
/// take two kernels: `part` leaves the moments of each slice, `finish` loads x again.
template <typename A, typename Arguments>
void launch_channels(void (*keep)(Arguments, Layout), void (*part)(Arguments, Layout),
                     void (*finish)(Arguments, Layout), const Arguments& a, cudaStream_t stream) {
  // As few blocks as keep 52 KB each, of which an SM has room for four; eight for a large channel.
  Layout layout = layout_of<A>(a);
  layout.slices = a.batch * a.space < 65536 ? 1 : kMostBlocks;
  const auto cut = [&] { return layout.length = divided(layout.packs, 32 * layout.slices) * 32; };
  constexpr uint64_t kBytes = A::kChannels * A::V * sizeof(*a.x);
  while (cut() * kBytes > 52 << 10 && layout.slices < kMostBlocks) {
    layout.slices *= 2;
  }
  const uint64_t bytes = layout.length * kBytes;
  const unsigned most = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - (10 << 10);
  const int groups = (a.channels - 1) / A::kChannels + 1;
  if (layout.slices == 1 || (has_clusters() && bytes <= most)) {
    // More threads only past 12 packs each: of many small blocks, some load while others store.
    const unsigned threads = 32 * divided(layout.length * A::kChannels, 32 * 12);
    RowLayout blocks = {min(static_cast<int>(threads), kKeepThreads), 1};
    blocks.blocks = layout.slices;
    blocks.bytes = bytes;
    cudaFuncSetAttribute(keep, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
    launch_rows(keep, blocks, groups, stream, a, layout);
    return;
  }
  // 8,192 elements per slice at least. With 32 channels side by side, each has few threads: 2,048.
  const unsigned least = A::kChannels == 1 ? 8192 / A::V : 2048;
  layout.length = max(divided(layout.packs, kBatchnormMostSlices), least);
  layout.slices = divided(layout.packs, layout.length);
  const dim3 grid(groups, layout.slices);
  part<<<grid, kTwiceThreads, 0, stream>>>(a, layout);
  finish<<<grid, kTwiceThreads, 0, stream>>>(a, layout);
}

}  // namespace onepass
