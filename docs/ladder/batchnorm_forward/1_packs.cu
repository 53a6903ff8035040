// BatchNorm forward, version 1: packs. A thread loads and stores 16 bytes at a time, so that as
// many threads have more bytes under way. Where space is 1, 32 channels share a block, one a lane,
// so that a warp reads neighbours.
//
// Version 0, exercise 4.1, goes element by element. Version 2 has several blocks a channel.

#include <onepass/batchnorm.h>

namespace onepass {

// Threads a block. As many as there may be: where channels are few, so are the blocks, and each has
// to keep its multiprocessor busy alone.
constexpr int kThreads = 1024;
constexpr int kWarps = kThreads / 32;

/// kCount neighbouring elements, which are moved in one access.
template <typename T, int kCount>
struct alignas(kCount * sizeof(T)) Run {
  T values[kCount];
};

/// How the threads of a block share kChannels neighbouring channels. With one, all threads have
/// elements of it. With 32, each lane of a warp has a channel of its own, so that a warp reads
/// neighbours even where a channel's own elements are far apart (space = 1).
template <int kChannels>
struct Share {
  int channel, channels, batch, space;

  __device__ Share(int batch_, int channels_, int space_)
      : channel(static_cast<int>(blockIdx.x) * kChannels +
                static_cast<int>(threadIdx.x) % kChannels),
        channels(channels_),
        batch(batch_),
        space(space_) {}

  /// Elements of the channel; none where there is no such channel. Unsigned, like what is counted
  /// up to it: the last step may lead beyond 2^31.
  __device__ unsigned count() const { return channel < channels ? batch * space : 0; }
  /// This thread's first element of the channel, and from one to the next, in runs of kCount.
  __device__ unsigned first(int run) const { return threadIdx.x / kChannels * run; }
  __device__ unsigned step(int run) const { return kThreads / kChannels * run; }
  /// Where element j of the channel lies, j = 0 ... count() - 1, and with it the whole run at j.
  __device__ int64_t place(int j) const {
    return (static_cast<int64_t>(j / space) * channels + channel) * space + j % space;
  }
  /// Is this one of the threads, one a channel, that write the channel's results?
  __device__ bool writes() const { return threadIdx.x < kChannels && channel < channels; }
};

/// The sum of `value` over all threads of a channel, in each of them. All threads call it together.
template <int kChannels>
__device__ inline float channel_sum(float value) {
  __shared__ float partial[kWarps][32];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  if (kChannels == 1) {
    for (int offset = 16; offset > 0; offset /= 2) {
      value += __shfl_xor_sync(0xffffffff, value, offset);
    }
  }
  __syncthreads();  // somebody may still be reading the sums of the call before
  partial[warp][lane] = value;
  __syncthreads();
  float sum = 0.0f;
  for (int i = 0; i < kWarps; ++i) {
    sum += partial[i][lane];
  }
  return sum;
}

/// One block for kChannels channels. kCount: elements of a run, all of one sample.
template <int kChannels, int kCount, typename T>
__global__ void __launch_bounds__(kThreads)
    batchnorm_forward_kernel(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                             float* running_var, float* save_mean, float* save_rstd, int batch,
                             int channels, int space, float eps, float momentum) {
  const Share<kChannels> share(batch, channels, space);
  const int c = share.channel;

  // The mean.
  const int count = batch * space;
  float sum = 0.0f;
#pragma unroll 4
  for (unsigned j = share.first(kCount); j < share.count(); j += share.step(kCount)) {
    const auto run = *reinterpret_cast<const Run<T, kCount>*>(x + share.place(j));
    for (int i = 0; i < kCount; ++i) {
      sum += static_cast<float>(run.values[i]);
    }
  }
  const float mean = channel_sum<kChannels>(sum) / count;
  if (share.writes()) {
    save_mean[c] = mean;
  }

  // The variance.
  float squares = 0.0f;
#pragma unroll 4
  for (unsigned j = share.first(kCount); j < share.count(); j += share.step(kCount)) {
    const auto run = *reinterpret_cast<const Run<T, kCount>*>(x + share.place(j));
    for (int i = 0; i < kCount; ++i) {
      const float distance = static_cast<float>(run.values[i]) - mean;
      squares += distance * distance;
    }
  }
  const float variance = channel_sum<kChannels>(squares) / count;
  const float rstd = rsqrtf(variance + eps);
  if (share.writes()) {
    save_rstd[c] = rstd;
  }

  // The running statistics.
  if (share.writes()) {
    const float unbiased = variance * (static_cast<float>(count) / static_cast<float>(count - 1));
    running_mean[c] = (1.0f - momentum) * running_mean[c] + momentum * mean;
    running_var[c] = (1.0f - momentum) * running_var[c] + momentum * unbiased;
  }

  // y.
#pragma unroll 4
  for (unsigned j = share.first(kCount); j < share.count(); j += share.step(kCount)) {
    auto run = *reinterpret_cast<const Run<T, kCount>*>(x + share.place(j));
    const float scale = static_cast<float>(weight[c]);
    const float shift = static_cast<float>(bias[c]);
    for (int i = 0; i < kCount; ++i) {
      const float normalized = (static_cast<float>(run.values[i]) - mean) * rstd;
      run.values[i] = static_cast<T>(normalized * scale + shift);
    }
    *reinterpret_cast<Run<T, kCount>*>(y + share.place(j)) = run;
  }
}

inline bool is_aligned(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % 16 == 0;
}

template <typename T>
void batchnorm_forward_fast(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                            float* running_var, float* save_mean, float* save_rstd, float*,
                            int batch, int channels, int space, float eps, float momentum,
                            cudaStream_t stream) {
  if (batch == 0 || channels == 0 || space == 0) {
    return;  // a grid of no blocks is a launch error
  }
  constexpr int kWide = 16 / sizeof(T);  // elements in 16 bytes
  if (space == 1) {
    batchnorm_forward_kernel<32, 1><<<(channels - 1) / 32 + 1, kThreads, 0, stream>>>(
        x, weight, bias, y, running_mean, running_var, save_mean, save_rstd, batch, channels, space,
        eps, momentum);
  } else if (space % kWide == 0 && is_aligned(x) && is_aligned(y)) {
    batchnorm_forward_kernel<1, kWide><<<channels, kThreads, 0, stream>>>(
        x, weight, bias, y, running_mean, running_var, save_mean, save_rstd, batch, channels, space,
        eps, momentum);
  } else {
    batchnorm_forward_kernel<1, 1><<<channels, kThreads, 0, stream>>>(
        x, weight, bias, y, running_mean, running_var, save_mean, save_rstd, batch, channels, space,
        eps, momentum);
  }
}

}  // namespace onepass
