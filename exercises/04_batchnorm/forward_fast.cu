// Exercise 4.3: batch normalisation while training, at the speed of memory.
//
//     x, y                       [batch, channels, space]
//     weight, bias               [channels]
//     running_mean, running_var  [channels]  fp32, read and written
//     save_mean, save_rstd       [channels]  fp32, written
//
//     mean, var of channel c over all samples and positions, count = batch * space elements
//     save_mean[c] = mean    save_rstd[c] = 1 / sqrt(var + eps), var divided by count
//     running_mean[c], running_var[c] move by momentum towards mean and var, divided by count - 1
//     y[n][c][s] = (x[n][c][s] - mean) * save_rstd[c] * weight[c] + bias[c], rounded to T once
//
// The function of 4.1, in one kernel, 16 bytes at a time where x and y allow it; and where space is
// 1, with 32 channels side by side in a block.
//
// Grade it:   make -C build grade_batchnorm
// Read first: docs/04_batchnorm.md, "4.3 At the speed of memory"

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

  // TODO 1: the mean. Add up this thread's elements of the channel in fp32: runs of kCount, at j =
  // share.first(kCount), then every share.step(kCount) further on, below share.count(). A run
  // starts at x + share.place(j). channel_sum<kChannels>() makes the sum over all threads; all of
  // them must call it. Divide by batch * space. If share.writes(), save the mean in save_mean[c].

  // TODO 2: the variance. Walk over the same elements again and add up the squares of their
  // distances from the mean. Divide by batch * space, add eps, take rsqrtf(), save it in
  // save_rstd[c].

  // TODO 3: the running statistics. running_mean[c] becomes (1 - momentum) times what it was plus
  // momentum times the mean; running_var[c] likewise, with the variance that is divided by one
  // less than the count, and without eps.

  // TODO 4: y. Walk over the same elements once more and write to the same places of y: minus the
  // mean, times rstd, times weight[c], plus bias[c], all in fp32, converted to T at the very end.
}

inline bool is_aligned(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % 16 == 0;
}

template <typename T>
void batchnorm_forward_fast(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                            float* running_var, float* save_mean, float* save_rstd, int batch,
                            int channels, int space, float eps, float momentum,
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
