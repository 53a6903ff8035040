// Exercise 4.3: batch normalisation while training, at the speed of memory.
//
//     x, y                       [batch, channels, space]
//     weight, bias               [channels]
//     running_mean, running_var  [channels]  fp32, read and written
//     save_mean, save_rstd       [channels]  fp32, written
//     scratch                    batchnorm_scratch_size(batch, channels, space) floats
//
// The function of 4.1, in one walk over x and one over what has been kept of it:
//   - A thread loads many bytes before it needs the first, and finds mean and m2 of what it has in
//     registers; so no barrier stands in the walk.
//   - What was loaded is kept in shared memory, and y is made from there: x is loaded once.
//   - A channel too large for one block is cut into slices. Where the GPU has clusters, the blocks
//     of one keep a slice each, and tell each other their moments.
//   - What no cluster can keep takes two kernels, and x is loaded twice.
//
// Grade it:   make -C build grade_batchnorm
// Read first: docs/04_batchnorm.md, "4.3 At the speed of memory"

#include <cooperative_groups.h>
#include <onepass/batchnorm.h>

namespace onepass {

// Tuned on an H100. Threads of a block: at most, where it keeps what it loads (by registers, a
// multiprocessor has room for two such blocks), and where x is loaded twice (for four).
constexpr int kMostThreads = 512, kTwiceThreads = 256;
constexpr int kEach = 16;     // packs of a thread, before a block has more threads: more blocks of
                              // fewer threads have room, so that some load while others store
constexpr int kPacks = 4;     // of 16 bytes, that a thread has on their way together
constexpr int kScalars = 10;  // the same, where it loads element by element
constexpr unsigned kOneBlock = 45 << 10;  // bytes that a block keeps on any GPU
constexpr unsigned kRoomy = 52 << 10;     // so many, and four blocks have room
constexpr unsigned kBlocks = 8;    // of a cluster at most: as many as each GPU takes that has any
constexpr unsigned kSlice = 8192;  // elements of a slice at least, where x is loaded twice

/// What a launcher gets, for its kernels.
template <typename T>
struct Arguments {
  const T *x, *weight, *bias;
  T* y;
  float *running_mean, *running_var, *save_mean, *save_rstd, *scratch;
  int batch, channels, space;
  float eps, momentum;
};

/// kCount neighbouring elements, which are moved in one access.
template <typename T, int kCount>
struct alignas(kCount * sizeof(T)) Run {
  T values[kCount];
};

/// How the threads of a block take x: in runs of kCount elements. With one channel, all have runs
/// of it. With 32, each lane of a warp has a channel of its own, so that a warp reads neighbours
/// even where a channel's own elements are far apart (space = 1). kEdges: the rows of x, which are
/// what a sample has of a channel, begin anywhere. Runs begin at multiples of 16 bytes, and of the
/// first and the last of a row only some elements are in it.
template <int kChannels_, int kCount_, bool kEdges_>
struct Way {
  static constexpr int kChannels = kChannels_, kCount = kCount_;
  static constexpr bool kEdges = kEdges_;

  /// Runs of a row, with those that may lie over its edges.
  static __host__ __device__ unsigned runs(unsigned space) {
    return (space + (kEdges ? 2 * kCount - 2 : 0)) / kCount;
  }
};

/// Of some elements: how many they are, their mean, and the sum of their squared distances from it.
struct Moments {
  float count, mean, m2;
};

/// How channels are cut: into so many slices of so many runs. The last one may have less.
struct Slices {
  unsigned count, length;
};

/// A thread's share of a slice.
template <typename W>
struct Share {
  int channel;
  bool exists;          // the last block may have lanes for more channels than there are
  unsigned begin, end;  // runs of the channel

  template <typename T>
  __device__ Share(const Arguments<T>& a, unsigned block, Slices slices)
      : channel(static_cast<int>(block / slices.count * W::kChannels + threadIdx.x % W::kChannels)),
        exists(channel < a.channels),
        begin(block % slices.count * slices.length),
        end(min(begin + slices.length, a.batch * W::runs(a.space))) {}

  /// This thread's number among those of the channel, and how many they are.
  __device__ unsigned first() const { return threadIdx.x / W::kChannels; }
  __device__ unsigned threads() const { return blockDim.x / W::kChannels; }
  /// Is this one of the threads, one a channel, that write what is one number a channel?
  __device__ bool writes() const { return threadIdx.x < W::kChannels && exists; }
};

/// Where a thread is in its share: run after run, those of the channel's other threads between. It
/// divides once, and then adds.
template <typename W>
struct Walk {
  unsigned run, end, step;          // of the channel
  int at, runs, step_at;            // of the row
  int64_t row, step_row, next_row;  // where it begins in x
  int space;
  unsigned past;  // elements of x past a multiple of 16 bytes, and more: only their rest counts

  template <typename T>
  __device__ Walk(const Arguments<T>& a, const Share<W>& share)
      : run(share.begin + share.first()),
        end(share.exists ? share.end : 0),
        step(share.threads()),
        runs(W::runs(a.space)),
        row((static_cast<int64_t>(run / runs) * a.channels + share.channel) * a.space),
        step_row(static_cast<int64_t>(step / runs) * a.channels * a.space),
        next_row(static_cast<int64_t>(a.channels) * a.space),
        space(a.space),
        past(static_cast<unsigned>(reinterpret_cast<uintptr_t>(a.x) / sizeof(T))) {
    at = run % runs;
    step_at = step % runs;
  }

  __device__ bool inside() const { return run < end; }
  __device__ void advance() {
    run += step;
    row += step_row;
    at += step_at;
    if (at >= runs) {
      at -= runs;
      row += next_row;
    }
  }
  /// The run's first element in the row: a negative number, if it begins before it.
  __device__ int first() const {
    const unsigned over = W::kEdges ? (static_cast<unsigned>(row) + past) % W::kCount : 0;
    return at * W::kCount - static_cast<int>(over);
  }
  __device__ int64_t place() const { return row + first(); }
  /// A bit for each element of the run that is in the row.
  __device__ unsigned mask() const {
    constexpr unsigned kAll = (1u << W::kCount) - 1;
    const int left = space - first();
    const unsigned before_end = left >= W::kCount ? kAll : left > 0 ? (1u << left) - 1 : 0;
    return first() < 0 ? before_end & kAll << -first() : before_end;
  }
};

/// The sum of `value` over the 32 lanes of a warp, in every lane (exercise 1.1).
__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// The sum of `value` over all threads of a channel, in each of them. All threads call it together.
template <int kChannels>
__device__ inline float channel_sum(float value) {
  __shared__ float partial[kMostThreads / 32][kChannels];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warps = blockDim.x / 32;
  if (kChannels == 1) {
    value = warp_sum(value);
  }
  __syncthreads();  // somebody may still be reading the sums of the call before
  if (lane < kChannels) {
    partial[warp][lane] = value;
  }
  __syncthreads();
  if (kChannels == 1) {
    return warp_sum(lane < warps ? partial[lane][0] : 0.0f);
  }
  float sum = 0.0f;
  for (int i = 0; i < warps; ++i) {
    sum += partial[i][lane % kChannels];
  }
  return sum;
}

/// The runs of a thread that are on their way together.
template <typename W, typename T>
struct Batch {
  static constexpr int kRuns = W::kCount == 1 ? kScalars : kPacks - W::kEdges;  // by registers
  static constexpr unsigned kAll = (1u << W::kCount) - 1;
  Run<T, W::kCount> runs[kRuns];
  unsigned masks[kRuns];
  unsigned left, step;  // runs from the first one on, and from each to the next

  /// Is there a run r? Has it an element i?
  __device__ bool has(int r) const { return r * step < left; }
  __device__ bool has(int r, int i) const {
    return has(r) && (!W::kEdges || (masks[r] >> i & 1) != 0);
  }

  /// Loads the runs at the walk's place and behind it, from `kept`, if that is not null.
  __device__ void load(const T* x, Walk<W>& walk, const Run<T, W::kCount>* kept) {
    left = walk.inside() ? walk.end - walk.run : 0;
    step = walk.step;
#pragma unroll
    for (int r = 0; r < kRuns; ++r, walk.advance()) {
      if (has(r)) {
        masks[r] = W::kEdges ? walk.mask() : kAll;
        const T* from = x + walk.place();
        if (kept != nullptr) {
          runs[r] = kept[r * blockDim.x];
        } else if (masks[r] == kAll) {
          runs[r] = *reinterpret_cast<const Run<T, W::kCount>*>(from);
        } else {
          for (int i = 0; i < W::kCount; ++i) {
            runs[r].values[i] = has(r, i) ? from[i] : static_cast<T>(0.0f);
          }
        }
      }
    }
  }

  /// Stores run r, as far as it is in the row. Nothing loads it again: the L2 cache may let it go.
  __device__ void store(int r, T* y) const {
    if constexpr (sizeof(runs[r]) == 16) {
      if (masks[r] == kAll) {
        __stcs(reinterpret_cast<int4*>(y), *reinterpret_cast<const int4*>(&runs[r]));
        return;
      }
    }
    for (int i = 0; i < W::kCount; ++i) {
      if (has(r, i)) {
        __stcs(y + i, runs[r].values[i]);
      }
    }
  }

  /// Of the elements that are there.
  __device__ Moments moments() const {
    Moments batch = {0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int r = 0; r < kRuns; ++r) {
      const int there = W::kEdges ? __popc(masks[r]) : W::kCount;
      batch.count += has(r) ? static_cast<float>(there) : 0.0f;
    }
    // TODO 1: their mean and m2. Add up this thread's values in fp32, runs[r].values[i] where
    // has(r, i), and divide by batch.count, unless it is 0. Then add up the squares of the
    // distances from that mean, of the same values.
    // [solution 1]
    float sum = 0.0f;
#pragma unroll
    for (int r = 0; r < kRuns; ++r) {
      for (int i = 0; i < W::kCount; ++i) {
        sum += has(r, i) ? static_cast<float>(runs[r].values[i]) : 0.0f;
      }
    }
    batch.mean = sum / fmaxf(batch.count, 1.0f);
#pragma unroll
    for (int r = 0; r < kRuns; ++r) {
      for (int i = 0; i < W::kCount; ++i) {
        const float distance = static_cast<float>(runs[r].values[i]) - batch.mean;
        batch.m2 += has(r, i) ? distance * distance : 0.0f;
      }
    }
    // [end]
    return batch;
  }
};

/// Adds the moments of other elements to those of some (Chan, Golub and LeVeque, 1979).
__device__ inline void merge(Moments& sum, const Moments& other) {
  const float count = sum.count + other.count;
  if (count == 0.0f) {
    return;
  }
  // TODO 1, then: the mean and m2 of all these elements, of which there are `count`. With d between
  // the two means, the mean is mean1 + d * count2 / count, and m2 is m2_1 + m2_2 + d * d * count1 *
  // count2 / count.
  // [solution 1]
  const float d = other.mean - sum.mean;
  const float share = other.count / count;
  sum.mean += d * share;
  sum.m2 += other.m2 + d * d * (sum.count * share);
  // [end]
  sum.count = count;
}

/// The moments of this block's slice, in each of the channel's threads. Keeps what it loads in
/// `kept`, if that is not null: each thread its own runs, one behind the other.
template <typename W, typename T>
__device__ Moments slice_moments(const Arguments<T>& a, const Share<W>& share,
                                 Run<T, W::kCount>* kept) {
  Moments sum = {0.0f, 0.0f, 0.0f};
  for (Walk<W> walk(a, share); walk.inside();) {
    Batch<W, T> batch;
    batch.load(a.x, walk, nullptr);
    if (kept != nullptr) {
#pragma unroll
      for (int r = 0; r < batch.kRuns; ++r) {
        if (batch.has(r)) {
          kept[r * blockDim.x] = batch.runs[r];
        }
      }
      kept += batch.kRuns * blockDim.x;
    }
    merge(sum, batch.moments());
  }
  const float count = channel_sum<W::kChannels>(sum.count);
  // A slice may be the last run of a row alone, and that one have no element.
  const float mean = channel_sum<W::kChannels>(sum.count * sum.mean) / fmaxf(count, 1.0f);
  const float d = sum.mean - mean;
  return {count, mean, channel_sum<W::kChannels>(sum.m2 + sum.count * d * d)};
}

/// The moments of a channel from those of its slices, part_of(slice), in each of its threads. All
/// blocks that need them add up in the same order, and come to the same bits.
template <typename W, typename T, typename PartOf>
__device__ Moments merged(const Arguments<T>& a, const Share<W>& share, Slices slices,
                          PartOf part_of) {
  Moments channel = {static_cast<float>(a.batch * a.space), 0.0f, 0.0f};
  // TODO 5: the mean of the channel is the sum of count * mean of its slices, divided by
  // channel.count; its m2 the sum of m2 + count * (mean - channel.mean)^2. This thread has the
  // slices share.first(), then every share.threads() further on, if share.exists; and
  // channel_sum<W::kChannels>() adds up over all threads.
  // [solution 5]
  const unsigned end = share.exists ? slices.count : 0;
  float sum = 0.0f;
  for (unsigned slice = share.first(); slice < end; slice += share.threads()) {
    const Moments part = part_of(slice);
    sum += part.count * part.mean;
  }
  channel.mean = channel_sum<W::kChannels>(sum) / channel.count;
  float m2 = 0.0f;
  for (unsigned slice = share.first(); slice < end; slice += share.threads()) {
    const Moments part = part_of(slice);
    const float d = part.mean - channel.mean;
    m2 += part.m2 + part.count * d * d;
  }
  channel.m2 = channel_sum<W::kChannels>(m2);
  // [end]
  return channel;
}

/// rstd from the moments of the whole channel.
__device__ inline float rstd_of(const Moments& channel, float eps) {
  return rsqrtf(channel.m2 / channel.count + eps);
}

/// Saves what is one number a channel. One thread a channel calls it.
template <typename T>
__device__ inline void save(const Arguments<T>& a, int c, const Moments& channel) {
  a.save_mean[c] = channel.mean;
  a.save_rstd[c] = rstd_of(channel, a.eps);
  // TODO 2: the running statistics, as in 4.1, from channel.mean and channel.m2.
  // [solution 2]
  const float unbiased = channel.m2 / (channel.count - 1.0f);
  a.running_mean[c] = (1.0f - a.momentum) * a.running_mean[c] + a.momentum * channel.mean;
  a.running_var[c] = (1.0f - a.momentum) * a.running_var[c] + a.momentum * unbiased;
  // [end]
}

/// Writes y of this block's slice. Takes x from `kept`, if that is not null. moments_of(): those of
/// the channel, for which it asks when the first runs of x are on their way.
template <typename W, typename T, typename MomentsOf>
__device__ void normalize(const Arguments<T>& a, const Share<W>& share,
                          const Run<T, W::kCount>* kept, MomentsOf moments_of) {
  Walk<W> to(a, share);
  Walk<W> from = to;
  Batch<W, T> batch;
  batch.load(a.x, from, kept);
  const Moments channel = moments_of();
  const float rstd = rstd_of(channel, a.eps);
  const float weight = share.exists ? static_cast<float>(a.weight[share.channel]) : 0.0f;
  const float bias = share.exists ? static_cast<float>(a.bias[share.channel]) : 0.0f;
  while (to.inside()) {
#pragma unroll
    for (int r = 0; r < batch.kRuns; ++r, to.advance()) {
      if (to.inside()) {
        // TODO 3: y. Each of the values batch.runs[r].values[i] minus channel.mean, times rstd,
        // times weight, plus bias, all in fp32, converted to T at the very end. Then batch.store(r,
        // a.y + to.place()).
        // [solution 3]
        for (T& value : batch.runs[r].values) {
          const float normalized = (static_cast<float>(value) - channel.mean) * rstd;
          value = static_cast<T>(normalized * weight + bias);
        }
        batch.store(r, a.y + to.place());
        // [end]
      }
    }
    kept += kept != nullptr ? batch.kRuns * blockDim.x : 0;
    batch.load(a.x, from, kept);
  }
}

/// Channels that a block, or the blocks of a cluster, can keep: x is loaded once.
template <typename W, typename T>
__global__ void __launch_bounds__(kMostThreads, 2) kept_kernel(Arguments<T> a, Slices slices) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto* kept = reinterpret_cast<Run<T, W::kCount>*>(memory) + threadIdx.x;
  const Share<W> share(a, blockIdx.x, slices);
  Moments channel = slice_moments<W, T>(a, share, kept);
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900  // before, no GPU has clusters
  __shared__ Moments parts[W::kChannels];
  const auto cluster = cooperative_groups::this_cluster();
  if (slices.count > 1) {
    if (threadIdx.x < W::kChannels) {
      parts[threadIdx.x] = channel;
    }
    cluster.sync();
    channel = merged(a, share, slices, [&](unsigned slice) {
      return cluster.map_shared_rank(parts, slice)[threadIdx.x % W::kChannels];
    });
    cluster.barrier_arrive();  // has read
  }
#endif
  if (share.begin == 0 && share.writes()) {
    save(a, share.channel, channel);
  }
  normalize<W, T>(a, share, kept, [&] { return channel; });
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  if (slices.count > 1) {
    cluster.barrier_wait();  // others may still read this block's part
  }
#endif
}

/// First kernel for larger channels: the moments of a slice. scratch: [slices, channels].
template <typename W, typename T>
__global__ void __launch_bounds__(kTwiceThreads, 4) slice_kernel(Arguments<T> a, Slices slices) {
  const Share<W> share(a, blockIdx.x, slices);
  const Moments part = slice_moments<W, T>(a, share, nullptr);
  if (share.writes()) {
    const int64_t slice = blockIdx.x % slices.count;
    reinterpret_cast<Moments*>(a.scratch)[slice * a.channels + share.channel] = part;
  }
}

/// Second kernel: y of a slice, and of the first one what is one number a channel. Its first blocks
/// have the last slices, which were loaded last and are still in the L2 cache.
template <typename W, typename T>
__global__ void __launch_bounds__(kTwiceThreads, 4)
    normalize_kernel(Arguments<T> a, Slices slices) {
  const Share<W> share(a, gridDim.x - 1 - blockIdx.x, slices);
  normalize<W, T>(a, share, nullptr, [&] {
    const Moments channel = merged(a, share, slices, [&](int64_t slice) {
      return reinterpret_cast<const Moments*>(a.scratch)[slice * a.channels + share.channel];
    });
    if (share.begin == 0 && share.writes()) {
      save(a, share.channel, channel);
    }
    return channel;
  });
}

/// Bytes that a block of a cluster may keep; 0 where the GPU has none.
inline unsigned cluster_memory() {
  static const unsigned bytes = [] {
    int device = 0, clusters = 0, most = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, device);
    cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    return clusters != 0 ? most - (4 << 10) : 0;  // less what is static
  }();
  return bytes;
}

template <typename W, typename T>
void launch(const Arguments<T>& a, cudaStream_t stream) {
  const auto divided = [](unsigned n, unsigned by) { return n == 0 ? 0 : (n - 1) / by + 1; };
  const unsigned groups = divided(a.channels, W::kChannels);
  const unsigned runs = a.batch * W::runs(a.space);  // of a channel
  // How many threads for a slice, and how many bytes they keep of it.
  const auto threads_of = [&](unsigned length) {
    const unsigned each = W::kCount == 1 ? kScalars : kEach;
    return min(32 * divided(length, each * 32 / W::kChannels), unsigned{kMostThreads});
  };
  const auto bytes_of = [&](unsigned length) {
    const unsigned threads = threads_of(length);
    return divided(length, threads / W::kChannels) * int64_t{threads} * sizeof(Run<T, W::kCount>);
  };
  if (bytes_of(runs) <= kOneBlock) {
    kept_kernel<W><<<groups, threads_of(runs), bytes_of(runs), stream>>>(a, Slices{1, runs});
    return;
  }
  // Of a cluster as few blocks as have a roomy slice each, but of a large channel all eight.
  constexpr unsigned kRow = 32 / W::kChannels;  // runs of an access of a warp
  unsigned blocks = a.batch * a.space < 65536 ? 2 : kBlocks;
  const auto part = [&] { return divided(divided(runs, blocks), kRow) * kRow; };
  while (blocks < kBlocks && bytes_of(part()) > kRoomy) {
    blocks *= 2;
  }
  if (bytes_of(part()) <= cluster_memory() && part() * (blocks - 1) < runs) {
    static const cudaError_t allowed = cudaFuncSetAttribute(
        kept_kernel<W, T>, cudaFuncAttributeMaxDynamicSharedMemorySize, cluster_memory());
    static_cast<void>(allowed);
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {blocks, 1, 1};
    const cudaLaunchConfig_t config = {
        groups * blocks, threads_of(part()), static_cast<size_t>(bytes_of(part())),
        stream,          &cluster,           1};
    cudaLaunchKernelEx(&config, kept_kernel<W, T>, a, Slices{blocks, part()});
    return;
  }
  const unsigned least = divided(runs, kBatchnormMostSlices);
  // (Of 32 channels a quarter: the block has only a few threads for each.)
  const unsigned length = max(least, kSlice / (W::kChannels == 1 ? W::kCount : 4));
  const Slices slices = {divided(runs, length), length};
  slice_kernel<W><<<groups * slices.count, kTwiceThreads, 0, stream>>>(a, slices);
  normalize_kernel<W><<<groups * slices.count, kTwiceThreads, 0, stream>>>(a, slices);
}

template <typename T>
void batchnorm_forward_fast(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                            float* running_var, float* save_mean, float* save_rstd, float* scratch,
                            int batch, int channels, int space, float eps, float momentum,
                            cudaStream_t stream) {
  if (batch == 0 || channels == 0 || space == 0) {
    return;  // a grid of no blocks is a launch error
  }
  const Arguments<T> a = {x,         weight,  bias,  y,        running_mean, running_var, save_mean,
                          save_rstd, scratch, batch, channels, space,        eps,         momentum};
  constexpr int kWide = 16 / sizeof(T);  // elements in 16 bytes
  const auto past = [](const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16; };
  bool wide = false;
  bool edges = false;
  // TODO 4: may all runs have 16 bytes? Each row has to be whole runs, and x and y have to begin at
  // multiples of 16 bytes, past(x) == 0. And may those between the edges of a row have 16 bytes? A
  // run of x has to be one of y: both have to be past such a multiple by the same. (In rows of less
  // than 4 * kWide elements it would not pay.)
  // [solution 4]
  wide = space % kWide == 0 && past(x) == 0 && past(y) == 0;
  edges = space >= 4 * kWide && past(x) == past(y);
  // [end]
  if (space == 1) {
    launch<Way<32, 1, false>>(a, stream);
  } else if (wide) {
    launch<Way<1, kWide, false>>(a, stream);
  } else if (edges) {
    launch<Way<1, kWide, true>>(a, stream);
  } else {
    launch<Way<1, 1, false>>(a, stream);
  }
}

}  // namespace onepass
