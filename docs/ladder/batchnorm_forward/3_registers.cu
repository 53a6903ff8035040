// BatchNorm forward, version 3: registers. A chunk is what the registers of one block hold of a
// channel, or of 32 channels side by side where space is 1. A channel of one chunk is loaded once,
// and y is made of the registers. A slice is a chunk or several, and is loaded twice.
//
// Version 2 has one number after the other of a slice. Version 4, exercise 4.3, keeps slices in
// shared memory, and a channel in the blocks of a cluster.

#include <onepass/batchnorm.h>

namespace onepass {

constexpr int kMostThreads = 1024;  // a block that has a whole channel
constexpr int kSliceThreads = 512;  // a block that has a slice
constexpr int kMostWarps = kMostThreads / 32;
constexpr int kValues = 16;  // that a thread keeps of a chunk

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

/// Of some elements: how many they are, their mean, and the sum of their squared distances from it.
struct Moments {
  float count, mean, m2;
};

/// How the threads of a block share kChannels neighbouring channels. With one, all threads have
/// elements of it. With 32, each lane of a warp has a channel of its own, so that a warp reads
/// neighbours even where a channel's own elements are far apart (space = 1).
template <int kChannels>
struct Share {
  int channel, channels, space;
  unsigned all;  // elements of a channel; unsigned, like what is counted up to it

  template <typename T>
  __device__ Share(unsigned group, const Arguments<T>& a)
      : channel(static_cast<int>(group * kChannels + threadIdx.x % kChannels)),
        channels(a.channels),
        space(a.space),
        all(a.batch * a.space) {}

  /// Is there such a channel? The last block may have lanes for more than there are.
  __device__ bool exists() const { return channel < channels; }
  /// This thread's number among those of the channel, and how many they are.
  __device__ unsigned first() const { return threadIdx.x / kChannels; }
  __device__ unsigned threads() const { return blockDim.x / kChannels; }
  /// Elements of a channel in a chunk.
  __device__ unsigned chunk() const { return threads() * kValues; }
  /// Where element j of the channel lies, j = 0 ... all - 1, and with it the whole run at j. (With
  /// an unsigned j, nvcc takes 16-byte stores apart: the sums below could wrap around.)
  __device__ int64_t place(int j) const {
    return (static_cast<int64_t>(j / space) * channels + channel) * space + j % space;
  }
  /// Is this one of the threads, one a channel, that write the channel's results?
  __device__ bool writes() const { return threadIdx.x < kChannels && exists(); }
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
  __shared__ float partial[kMostWarps][kChannels];
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

/// A thread's elements of the chunk that begins at element `begin` of its channel: kRuns runs.
template <int kChannels, int kCount, typename T>
struct Chunk {
  static constexpr int kRuns = kValues / kCount;

  const Share<kChannels>& share;
  unsigned begin;
  Run<T, kCount> runs[kRuns];

  /// The first element of run r, and whether there is such a run.
  __device__ unsigned at(int r) const {
    return begin + (r * share.threads() + share.first()) * kCount;
  }
  __device__ bool has(int r) const { return share.exists() && at(r) < share.all; }

  __device__ Chunk(const Share<kChannels>& share_, unsigned begin_, const T* x)
      : share(share_), begin(begin_) {
#pragma unroll
    for (int r = 0; r < kRuns; ++r) {
      if (has(r)) {
        runs[r] = *reinterpret_cast<const Run<T, kCount>*>(x + share.place(at(r)));
      }
    }
  }

  /// Of the chunk's elements of the channel, over all its threads, which call it together.
  __device__ Moments moments() const {
    const unsigned left = share.all - begin;
    Moments chunk = {static_cast<float>(left < share.chunk() ? left : share.chunk()), 0.0f, 0.0f};
    float sum = 0.0f;
#pragma unroll
    for (int r = 0; r < kRuns; ++r) {
      if (has(r)) {
        for (int i = 0; i < kCount; ++i) {
          sum += static_cast<float>(runs[r].values[i]);
        }
      }
    }
    chunk.mean = channel_sum<kChannels>(sum) / chunk.count;
    float squares = 0.0f;
#pragma unroll
    for (int r = 0; r < kRuns; ++r) {
      if (has(r)) {
        for (int i = 0; i < kCount; ++i) {
          const float distance = static_cast<float>(runs[r].values[i]) - chunk.mean;
          squares += distance * distance;
        }
      }
    }
    chunk.m2 = channel_sum<kChannels>(squares);
    return chunk;
  }

  /// Writes y of the chunk.
  __device__ void normalize(const Arguments<T>& a, float mean, float rstd) {
    const float scale = share.exists() ? static_cast<float>(a.weight[share.channel]) : 0.0f;
    const float shift = share.exists() ? static_cast<float>(a.bias[share.channel]) : 0.0f;
#pragma unroll
    for (int r = 0; r < kRuns; ++r) {
      if (has(r)) {
        for (int i = 0; i < kCount; ++i) {
          const float normalized = (static_cast<float>(runs[r].values[i]) - mean) * rstd;
          runs[r].values[i] = static_cast<T>(normalized * scale + shift);
        }
        *reinterpret_cast<Run<T, kCount>*>(a.y + share.place(at(r))) = runs[r];
      }
    }
  }
};

/// rstd from the moments of the whole channel.
__device__ inline float rstd_of(const Moments& channel, float eps) {
  return rsqrtf(channel.m2 / channel.count + eps);
}

/// Saves what is one number a channel. One thread a channel calls it.
template <typename T>
__device__ inline void save(const Arguments<T>& a, int c, const Moments& channel) {
  a.save_mean[c] = channel.mean;
  a.save_rstd[c] = rstd_of(channel, a.eps);
  const float unbiased = channel.m2 / (channel.count - 1.0f);
  a.running_mean[c] = (1.0f - a.momentum) * a.running_mean[c] + a.momentum * channel.mean;
  a.running_var[c] = (1.0f - a.momentum) * a.running_var[c] + a.momentum * unbiased;
}

/// Channels of one chunk: one block for kChannels of them.
template <int kChannels, int kCount, typename T>
__global__ void __launch_bounds__(kMostThreads) whole_channel_kernel(Arguments<T> a) {
  const Share<kChannels> share(blockIdx.x, a);
  Chunk<kChannels, kCount, T> chunk(share, 0, a.x);
  const Moments channel = chunk.moments();
  if (share.writes()) {
    save(a, share.channel, channel);
  }
  chunk.normalize(a, channel.mean, rstd_of(channel, a.eps));
}

/// How channels are cut: into so many slices of so many elements, whole chunks. The last one may
/// have less.
struct Slices {
  unsigned count, length;
};

/// First kernel for larger channels: mean and m2 of a slice. partial: [2, slices, channels].
template <int kChannels, int kCount, typename T>
__global__ void __launch_bounds__(kSliceThreads) slice_kernel(Arguments<T> a, Slices slices) {
  const Share<kChannels> share(blockIdx.x / slices.count, a);
  const unsigned slice = blockIdx.x % slices.count;
  const unsigned begin = slice * slices.length;
  const unsigned end = begin + slices.length < share.all ? begin + slices.length : share.all;
  Moments sum = {0.0f, 0.0f, 0.0f};
  for (unsigned j = begin; j < end; j += share.chunk()) {
    const Moments chunk = Chunk<kChannels, kCount, T>(share, j, a.x).moments();
    const float count = sum.count + chunk.count;
    const float d = chunk.mean - sum.mean;
    sum.mean += d * (chunk.count / count);
    sum.m2 += chunk.m2 + d * d * (sum.count * (chunk.count / count));
    sum.count = count;
  }
  if (share.writes()) {
    const int64_t place = static_cast<int64_t>(slice) * a.channels + share.channel;
    a.scratch[place] = sum.mean;
    a.scratch[static_cast<int64_t>(slices.count) * a.channels + place] = sum.m2;
  }
}

/// The moments of a channel from those of its slices, in each of its threads. All blocks that need
/// them add up in the same order, and come to the same bits.
template <int kChannels, typename T>
__device__ inline Moments merged(const Share<kChannels>& share, const Arguments<T>& a,
                                 Slices slices) {
  Moments channel = {static_cast<float>(share.all), 0.0f, 0.0f};
  const auto count_of = [&](unsigned slice) {
    const unsigned left = share.all - slice * slices.length;
    return static_cast<float>(left < slices.length ? left : slices.length);
  };
  const float* means = a.scratch + share.channel;
  const float* m2s = means + static_cast<int64_t>(slices.count) * a.channels;
  const unsigned end = share.exists() ? slices.count : 0;
  float sum = 0.0f;
  for (unsigned slice = share.first(); slice < end; slice += share.threads()) {
    sum += count_of(slice) * means[static_cast<int64_t>(slice) * a.channels];
  }
  channel.mean = channel_sum<kChannels>(sum) / channel.count;
  float m2 = 0.0f;
  for (unsigned slice = share.first(); slice < end; slice += share.threads()) {
    const float d = means[static_cast<int64_t>(slice) * a.channels] - channel.mean;
    m2 += m2s[static_cast<int64_t>(slice) * a.channels] + count_of(slice) * d * d;
  }
  channel.m2 = channel_sum<kChannels>(m2);
  return channel;
}

/// Second kernel: y of a slice, and of the first one what is one number a channel. Its first blocks
/// have the last slices, which were loaded last and are still in the L2 cache.
template <int kChannels, int kCount, typename T>
__global__ void __launch_bounds__(kSliceThreads) normalize_kernel(Arguments<T> a, Slices slices) {
  const unsigned block = gridDim.x - 1 - blockIdx.x;
  const Share<kChannels> share(block / slices.count, a);
  const unsigned slice = block % slices.count;
  const Moments channel = merged(share, a, slices);
  if (slice == 0 && share.writes()) {
    save(a, share.channel, channel);
  }
  const float rstd = rstd_of(channel, a.eps);
  const unsigned begin = slice * slices.length;
  const unsigned end = begin + slices.length < share.all ? begin + slices.length : share.all;
  for (unsigned j = begin; j < end; j += share.chunk()) {
    Chunk<kChannels, kCount, T>(share, j, a.x).normalize(a, channel.mean, rstd);
  }
}

template <int kChannels, int kCount, typename T>
void launch(const Arguments<T>& a, cudaStream_t stream) {
  const unsigned groups = (a.channels - 1) / kChannels + 1;
  const unsigned count = a.batch * a.space;
  constexpr unsigned kMost = kMostThreads / kChannels * kValues;  // elements of a whole channel
  if (count <= kMost) {
    const unsigned threads = ((count - 1) / kValues + 1) * kChannels;
    whole_channel_kernel<kChannels, kCount><<<groups, (threads + 31) / 32 * 32, 0, stream>>>(a);
    return;
  }
  constexpr unsigned kChunk = kSliceThreads / kChannels * kValues;
  const unsigned chunks = (count - 1) / kChunk + 1;
  const unsigned chunks_each = (chunks - 1) / kBatchnormMostSlices + 1;
  const Slices slices = {(chunks - 1) / chunks_each + 1, chunks_each * kChunk};
  const unsigned blocks = groups * slices.count;
  slice_kernel<kChannels, kCount><<<blocks, kSliceThreads, 0, stream>>>(a, slices);
  normalize_kernel<kChannels, kCount><<<blocks, kSliceThreads, 0, stream>>>(a, slices);
}

inline bool is_aligned(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % 16 == 0;
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
  const bool wide = space % kWide == 0 && is_aligned(x) && is_aligned(y);
  if (space == 1) {
    launch<32, 1>(a, stream);
  } else if (wide) {
    launch<1, kWide>(a, stream);
  } else {
    launch<1, 1>(a, stream);
  }
}

}  // namespace onepass
