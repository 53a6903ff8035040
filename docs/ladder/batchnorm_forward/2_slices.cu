// BatchNorm forward, version 2: slices. A channel is cut into slices, a block each, so that few
// channels keep a whole GPU busy: a first kernel leaves mean and m2 of each slice in scratch, a
// second one merges them and writes y.
//
// Version 1 has a block a channel. Version 3 keeps a slice in registers.

#include <onepass/batchnorm.h>

namespace onepass {

constexpr int kThreads = 512;  // threads a block
constexpr int kWarps = kThreads / 32;
constexpr int kValues = 16;  // of a slice that a thread has, at least

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
  __device__ unsigned threads() const { return kThreads / kChannels; }
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
  __shared__ float partial[kWarps][kChannels];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  if (kChannels == 1) {
    value = warp_sum(value);
  }
  __syncthreads();  // somebody may still be reading the sums of the call before
  if (lane < kChannels) {
    partial[warp][lane] = value;
  }
  __syncthreads();
  if (kChannels == 1) {
    return warp_sum(lane < kWarps ? partial[lane][0] : 0.0f);
  }
  float sum = 0.0f;
  for (int i = 0; i < kWarps; ++i) {
    sum += partial[i][lane % kChannels];
  }
  return sum;
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
  const float unbiased = channel.m2 / (channel.count - 1.0f);
  a.running_mean[c] = (1.0f - a.momentum) * a.running_mean[c] + a.momentum * channel.mean;
  a.running_var[c] = (1.0f - a.momentum) * a.running_var[c] + a.momentum * unbiased;
}

/// How channels are cut: into so many slices of so many elements. The last one may have less.
struct Slices {
  unsigned count, length;
};

/// What a thread walks over: elements first, first + step, ... below end of its channel, in runs of
/// kCount.
struct Walk {
  unsigned first, step, end;

  template <int kChannels>
  __device__ Walk(const Share<kChannels>& share, Slices slices, unsigned slice, int run)
      : first(slice * slices.length + share.first() * run), step(share.threads() * run) {
    const unsigned behind = (slice + 1) * slices.length;
    end = !share.exists() ? 0 : behind < share.all ? behind : share.all;
  }
};

/// First kernel: mean and m2 of a slice, in two walks. scratch: [2, slices, channels]; of a slice
/// that is the whole channel the results.
template <int kChannels, int kCount, typename T>
__global__ void __launch_bounds__(kThreads) slice_kernel(Arguments<T> a, Slices slices) {
  const Share<kChannels> share(blockIdx.x / slices.count, a);
  const unsigned slice = blockIdx.x % slices.count;
  const Walk walk(share, slices, slice, kCount);
  const unsigned left = share.all - slice * slices.length;
  const float count = left < slices.length ? left : slices.length;
  float sum = 0.0f;
#pragma unroll 4
  for (unsigned j = walk.first; j < walk.end; j += walk.step) {
    const auto run = *reinterpret_cast<const Run<T, kCount>*>(a.x + share.place(j));
    for (int i = 0; i < kCount; ++i) {
      sum += static_cast<float>(run.values[i]);
    }
  }
  const float mean = channel_sum<kChannels>(sum) / count;
  float squares = 0.0f;
#pragma unroll 4
  for (unsigned j = walk.first; j < walk.end; j += walk.step) {
    const auto run = *reinterpret_cast<const Run<T, kCount>*>(a.x + share.place(j));
    for (int i = 0; i < kCount; ++i) {
      const float distance = static_cast<float>(run.values[i]) - mean;
      squares += distance * distance;
    }
  }
  const float m2 = channel_sum<kChannels>(squares);
  if (share.writes() && slices.count == 1) {
    save(a, share.channel, Moments{count, mean, m2});
  } else if (share.writes()) {
    const int64_t place = static_cast<int64_t>(slice) * a.channels + share.channel;
    a.scratch[place] = mean;
    a.scratch[static_cast<int64_t>(slices.count) * a.channels + place] = m2;
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

/// Second kernel: y of a slice, and of the first one what is one number a channel.
template <int kChannels, int kCount, typename T>
__global__ void __launch_bounds__(kThreads) normalize_kernel(Arguments<T> a, Slices slices) {
  const Share<kChannels> share(blockIdx.x / slices.count, a);
  const unsigned slice = blockIdx.x % slices.count;
  float mean = 0.0f;
  float rstd = 0.0f;
  if (slices.count == 1 && share.exists()) {
    mean = a.save_mean[share.channel];
    rstd = a.save_rstd[share.channel];
  } else if (slices.count > 1) {
    const Moments channel = merged(share, a, slices);
    if (slice == 0 && share.writes()) {
      save(a, share.channel, channel);
    }
    mean = channel.mean;
    rstd = rstd_of(channel, a.eps);
  }
  const float scale = share.exists() ? static_cast<float>(a.weight[share.channel]) : 0.0f;
  const float shift = share.exists() ? static_cast<float>(a.bias[share.channel]) : 0.0f;
  const Walk walk(share, slices, slice, kCount);
#pragma unroll 4
  for (unsigned j = walk.first; j < walk.end; j += walk.step) {
    auto run = *reinterpret_cast<const Run<T, kCount>*>(a.x + share.place(j));
    for (int i = 0; i < kCount; ++i) {
      const float normalized = (static_cast<float>(run.values[i]) - mean) * rstd;
      run.values[i] = static_cast<T>(normalized * scale + shift);
    }
    *reinterpret_cast<Run<T, kCount>*>(a.y + share.place(j)) = run;
  }
}

template <int kChannels, int kCount, typename T>
void launch(const Arguments<T>& a, cudaStream_t stream) {
  const unsigned groups = (a.channels - 1) / kChannels + 1;
  const unsigned count = a.batch * a.space;
  constexpr unsigned kPart = kThreads / kChannels * kValues;
  const unsigned parts = (count - 1) / kPart + 1;
  const unsigned parts_each = (parts - 1) / kBatchnormMostSlices + 1;
  const Slices slices = {(parts - 1) / parts_each + 1, parts_each * kPart};
  const unsigned blocks = groups * slices.count;
  slice_kernel<kChannels, kCount><<<blocks, kThreads, 0, stream>>>(a, slices);
  normalize_kernel<kChannels, kCount><<<blocks, kThreads, 0, stream>>>(a, slices);
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
