// Batch normalisation while training, version 2: a channel is cut into slices, one for each block.
//
// The first kernel leaves the moments of each slice in scratch. In the second each block merges
// those of its channel, all in the same order, loads its slice again and writes y.

#include <onepass/batchnorm.h>
#include <onepass/channels.h>

namespace onepass {

/// What the launcher gets, for its kernels.
template <typename T>
struct Arguments {
  const T *x, *weight, *bias;
  T* y;
  float *running_mean, *running_var, *save_mean, *save_rstd, *scratch;
  int batch, channels, space;
  float eps, momentum;
};

/// The moments of the elements that a thread holds in registers.
template <typename A, typename T>
__device__ Moments moments_of(const Held<A, T>& held) {
  Moments moments = {static_cast<float>(held.count), 0.0f, 0.0f};
  held.for_values([&](float value) { moments.mean += value; });
  moments.mean /= fmaxf(moments.count, 1.0f);
  held.for_values([&](float value) {
    const float distance = value - moments.mean;
    moments.m2 += distance * distance;
  });
  return moments;
}

__device__ inline void merge(Moments& sum, const Moments& other) {
  const float count = sum.count + other.count;
  const float d = other.mean - sum.mean;
  const float share = __fdividef(other.count, fmaxf(count, 1.0f));
  sum.mean += d * share;
  sum.m2 += other.m2 + d * d * (sum.count * share);
  sum.count = count;
}

/// Where slice s of this thread's channel leaves its moments, in scratch.
template <typename A, typename T>
__device__ Moments& left_by(unsigned s, const Arguments<T>& a, const Part<A>& my) {
  return reinterpret_cast<Moments*>(a.scratch)[int64_t{s} * a.channels + my.channel];
}

/// The moments of a slice, in each of its threads.
template <typename A, typename T>
__device__ Moments slice_moments(const Arguments<T>& a, const Part<A>& my) {
  Moments mine = {0.0f, 0.0f, 0.0f};
  for (unsigned i = my.first; i < my.end; i += A::kPacks * my.step) {
    Held<A, T> held;
    held.load(a.x, my, i);
    merge(mine, moments_of(held));
  }
  return merged_threads<A::kChannels>(mine);
}

/// First kernel.
template <typename A, typename T>
__global__ void __launch_bounds__(kTwiceThreads, 4) part_kernel(Arguments<T> a, Layout layout) {
  const Part<A> my(layout, blockIdx.x, blockIdx.y);
  const Moments slice = slice_moments(a, my);
  if (my.leads) {
    left_by(my.slice, a, my) = slice;
  }
}

/// The moments of the channel from those of its slices, in each thread. All blocks merge in the
/// same order, and come to the same bits.
template <typename A, typename T>
__device__ Moments channel_moments(const Arguments<T>& a, const Part<A>& my) {
  Moments channel = {0.0f, 0.0f, 0.0f};
  for (unsigned s = my.rank; s < my.layout.slices; s += my.step) {
    merge(channel, left_by(s, a, my));
  }
  channel = merged_threads<A::kChannels>(channel);
  return channel;
}

/// Second kernel: y. The first blocks have the last slices, which are still in the L2 cache.
template <typename A, typename T>
__global__ void __launch_bounds__(kTwiceThreads, 4) finish_kernel(Arguments<T> a, Layout layout) {
  const Part<A> my(layout, gridDim.x - 1 - blockIdx.x, gridDim.y - 1 - blockIdx.y);
  const Moments channel = layout.slices == 1 ? slice_moments(a, my) : channel_moments(a, my);
  const int c = my.channel;
  const float rstd = rsqrtf(channel.m2 / channel.count + a.eps);
  if (my.slice == 0 && my.leads) {
    a.save_mean[c] = channel.mean;
    a.save_rstd[c] = rstd;
    const float unbiased = channel.m2 / (channel.count - 1.0f);
    a.running_mean[c] = (1.0f - a.momentum) * a.running_mean[c] + a.momentum * channel.mean;
    a.running_var[c] = (1.0f - a.momentum) * a.running_var[c] + a.momentum * unbiased;
  }
  const float weight = static_cast<float>(a.weight[c]);
  const float bias = static_cast<float>(a.bias[c]);
  for (unsigned i = my.first; i < my.end; i += A::kPacks * my.step) {
    Held<A, T> held;
    held.load(a.x, my, i);
    my.for_packs(i, [&](int p, unsigned n) {
      Pack<T, A::V> y;
#pragma unroll
      for (int j = 0; j < A::V; ++j) {
        y.values[j] =
            static_cast<T>((value_of(held.packs[p], j) - channel.mean) * (rstd * weight) + bias);
      }
      my.store(a.y, n, y);
    });
  }
}

template <typename A, typename T>
void launch(const Arguments<T>& a, cudaStream_t stream) {
  Layout layout = layout_of<A>(a);
  const unsigned least = A::kChannels == 1 ? 8192 / A::V : 2048;
  layout.length = max(divided(layout.packs, kBatchnormMostSlices), least);
  layout.slices = divided(layout.packs, layout.length);
  const dim3 grid(divided(a.channels, A::kChannels), layout.slices);
  if (layout.slices > 1) {  // scratch has no room for a short channel
    part_kernel<A><<<grid, kTwiceThreads, 0, stream>>>(a, layout);
  }
  finish_kernel<A><<<grid, kTwiceThreads, 0, stream>>>(a, layout);
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
  const bool wide = space % kWide == 0 && past(x) == 0 && past(y) == 0;
  const bool edges = space >= 4 * kWide && past(x) == past(y);
  if (space == 1) {
    launch<Access<32, 1, false>>(a, stream);
  } else if (wide) {
    launch<Access<1, kWide, false>>(a, stream);
  } else if (edges) {
    launch<Access<1, kWide, true>>(a, stream);
  } else {
    launch<Access<1, 1, false>>(a, stream);
  }
}

}  // namespace onepass
