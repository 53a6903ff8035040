// Exercise 4.3: batch normalisation while training, at the speed of memory.
//
//     x, y                       [batch, channels, space]
//     weight, bias               [channels]
//     running_mean, running_var  [channels]  fp32, read and written
//     save_mean, save_rstd       [channels]  fp32, written
//     scratch                    batchnorm_scratch_size(batch, channels, space) floats
//
// The function of 4.1. A thread has several packs of 16 bytes in flight, finds their mean and m2 in
// registers, keeps them in shared memory and makes y from there: x is loaded once. A large channel
// is cut into slices, one for each block of a cluster. What no cluster can keep takes two kernels.
// Which packs a thread has, and the launches, are given: onepass/channels.h.
//
// Grade it:   make -C build grade_batchnorm
// Read first: docs/04_batchnorm.md, "4.3 At the speed of memory"

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
  // TODO 1: mean and m2. Add up the values in fp32: held.for_values([&](float value) { ... }).
  // Divide by the count, unless it is 0. Then add up the squares of their distances from that mean.
  return moments;
}

__device__ inline void merge(Moments& sum, const Moments& other) {
  // TODO 1, then: `sum` gets the moments of its own elements and those of `other` together (Chan,
  // Golub and LeVeque, 1979). With d between the two means, the mean is mean1 + d * count2 / count,
  // and m2 is m2_1 + m2_2 + d * d * count1 * count2 / count. Without any elements all stays 0.
}

/// Where slice s of this thread's channel leaves its moments, in scratch.
template <typename A, typename T>
__device__ Moments& left_by(unsigned s, const Arguments<T>& a, const Part<A>& my) {
  return reinterpret_cast<Moments*>(a.scratch)[int64_t{s} * a.channels + my.channel];
}

/// The moments of this block's slice, in each thread. kKeep: x is kept in shared memory.
template <bool kKeep, typename A, typename T>
__device__ Moments slice_moments(const Arguments<T>& a, const Part<A>& my, Pack<T, A::V>* kept) {
  Moments mine = {0.0f, 0.0f, 0.0f};
  for (unsigned i = my.first; i < my.end; i += A::kPacks * my.step) {
    Held<A, T> held;
    held.load(a.x, my, i);
    merge(mine, moments_of(held));
    if (kKeep) {
      // TODO 3: first, keep each pack, held.packs[p], in kept[my.slot(n)].
    }
  }
  const Moments slice = merged_threads<A::kChannels>(mine);
  if (my.leads && (!kKeep || my.layout.slices > 1)) {
    left_by(my.slice, a, my) = slice;
  }
  return slice;
}

/// The moments of the channel from those of its slices, in each thread. All blocks merge in the
/// same order, and come to the same bits.
template <typename A, typename T>
__device__ Moments channel_moments(const Arguments<T>& a, const Part<A>& my) {
  Moments channel = {0.0f, 0.0f, 0.0f};
  // TODO 5: merge left_by(s, a, my) of the slices s = my.rank, then every my.step further on, below
  // my.layout.slices. Then merge what the threads have: merged_threads<A::kChannels>(), which all
  // of them must call.
  return channel;
}

/// Saves what is one number per channel, and writes y of this block's slice.
template <bool kKeep, typename A, typename T>
__device__ void finish(const Arguments<T>& a, const Part<A>& my, const Moments& channel,
                       const Pack<T, A::V>* kept) {
  const int c = my.channel;
  const float rstd = rsqrtf(channel.m2 / channel.count + a.eps);
  if (my.slice == 0 && my.leads) {
    a.save_mean[c] = channel.mean;
    a.save_rstd[c] = rstd;
    // TODO 2: the running statistics, as in 4.1, from channel.mean and channel.m2.
  }
  const float weight = static_cast<float>(a.weight[c]);
  const float bias = static_cast<float>(a.bias[c]);
  for (unsigned i = my.first; i < my.end; i += A::kPacks * my.step) {
    Held<A, T> held;
    if (!kKeep) {
      held.load(a.x, my, i);
    }
    // TODO 3, then: y of each pack, which is where you kept it, or else in held.packs[p]. Each
    // value minus channel.mean, times rstd, times weight, plus bias, all in fp32, is converted to T
    // at the very end. my.store(a.y, n, y) stores pack n.
  }
}

/// Channels that a block, or the blocks of a cluster, can keep: x is loaded once.
template <typename A, typename T>
__global__ void __launch_bounds__(kKeepThreads, 2) keep_kernel(Arguments<T> a, Layout layout) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto* kept = reinterpret_cast<Pack<T, A::V>*>(memory);
  const Part<A> my(layout, blockIdx.x, blockIdx.y);
  Moments channel = slice_moments<true>(a, my, kept);
  if (layout.slices > 1) {
    sync_cluster();
    channel = channel_moments(a, my);
  }
  finish<true>(a, my, channel, kept);
}

/// First kernel for larger channels: the moments of a slice.
template <typename A, typename T>
__global__ void __launch_bounds__(kTwiceThreads, 4) part_kernel(Arguments<T> a, Layout layout) {
  slice_moments<false, A, T>(a, Part<A>(layout, blockIdx.x, blockIdx.y), nullptr);
}

/// Second kernel: y. The first blocks have the last slices, which are still in the L2 cache.
template <typename A, typename T>
__global__ void __launch_bounds__(kTwiceThreads, 4) finish_kernel(Arguments<T> a, Layout layout) {
  const Part<A> my(layout, gridDim.x - 1 - blockIdx.x, gridDim.y - 1 - blockIdx.y);
  finish<false, A, T>(a, my, channel_moments(a, my), nullptr);
}

template <typename A, typename T>
void launch(const Arguments<T>& a, cudaStream_t stream) {
  launch_channels<A>(keep_kernel<A, T>, part_kernel<A, T>, finish_kernel<A, T>, a, stream);
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
  bool wide = false, half = false, edges = false;
  // TODO 4: may all packs have 16 bytes? Each row has to be whole packs, and x and y have to begin
  // at multiples of 16 bytes, past(x) == 0. Or half of that? Otherwise, may those between the edges
  // of a row have 16 bytes? Then a pack of x has to be one of y, past(x) == past(y), and the row
  // has to have 4 * kWide elements: below that it does not pay.
  if (space == 1) {
    launch<Access<32, 1, false>>(a, stream);
  } else if (wide) {
    launch<Access<1, kWide, false>>(a, stream);
  } else if (half) {
    launch<Access<1, kWide / 2, false>>(a, stream);
  } else if (edges) {
    launch<Access<1, kWide, true>>(a, stream);
  } else {
    launch<Access<1, 1, false>>(a, stream);
  }
}

}  // namespace onepass
