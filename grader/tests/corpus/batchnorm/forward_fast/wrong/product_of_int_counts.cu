// diagnosis: none
// Two counts are multiplied as ints: beyond 46,341 each that is more than an int has, which shows where
// slices have means of their own.
// Exercise 4.3: batch normalisation while training. Up to 8,192 elements a channel stay in the
// registers of a block. Larger ones are cut into slices, in two kernels: moments, then y. Counts are
// whole numbers: as floats they would lose digits beyond 2^24.
#include <onepass/batchnorm.h>

namespace onepass {

constexpr int kKeptThreads = 1024;  // of a block that keeps its channel in registers
constexpr int kKept = 8;            // elements of each of them
constexpr int kThreads = 256;       // of a block that has a slice
constexpr int kSlice = 8192;        // elements of a slice at least
static_assert(kSlice == kKeptThreads * kKept, "what one block cannot keep is cut");

template <typename T, int V>
struct alignas(sizeof(T) * V) Pack {
  T values[V];
};

/// Of some elements: how many, their mean, the sum of their squared distances from it.
struct Moments {
  int count;
  float mean, m2;
};

/// Those of two sets together (Chan, Golub and LeVeque, 1979).
__device__ inline Moments merged(const Moments& a, const Moments& b) {
  const int count = a.count + b.count;
  if (count == 0) {
    return a;
  }
  const float d = b.mean - a.mean;
  return {count, a.mean + d * b.count / count,
          a.m2 + b.m2 + d * d * (static_cast<float>(a.count * b.count) / count)};
}

template <int kMost>
__device__ inline Moments block_moments(Moments own) {
  __shared__ Moments partial[kMost / 32];
  const auto over_warp = [](Moments m) {
    for (int offset = 16; offset > 0; offset /= 2) {
      const Moments other = {__shfl_xor_sync(0xffffffff, m.count, offset),
                             __shfl_xor_sync(0xffffffff, m.mean, offset),
                             __shfl_xor_sync(0xffffffff, m.m2, offset)};
      // Both lanes take the two in the same order, and come to the same bits.
      m = (threadIdx.x & offset) != 0 ? merged(other, m) : merged(m, other);
    }
    return m;
  };
  const int lane = threadIdx.x % 32;
  own = over_warp(own);
  if (lane == 0) {
    partial[threadIdx.x / 32] = own;
  }
  __syncthreads();
  own = lane < blockDim.x / 32 ? partial[lane] : Moments{0, 0.0f, 0.0f};
  return over_warp(own);
}

template <typename T>
struct Tensors {
  const T *x, *weight, *bias;
  T* y;
  float *running_mean, *running_var, *save_mean, *save_rstd;
  int batch, channels, space;
  float eps, momentum;

  /// Of run j of V elements of channel c, where it begins.
  template <int V>
  __device__ int64_t place(unsigned j, int64_t c) const {
    const unsigned runs = space / V;
    return (static_cast<int64_t>(j / runs) * channels + c) * space + j % runs * V;
  }
  __device__ float rstd_of(const Moments& m) const {
    return rsqrtf(m.m2 / static_cast<float>(m.count) + eps);
  }
  __device__ void save(int64_t c, const Moments& m) const {
    save_mean[c] = m.mean;
    save_rstd[c] = rstd_of(m);
    const float unbiased = m.m2 / static_cast<float>(m.count - 1);
    running_mean[c] = (1.0f - momentum) * running_mean[c] + momentum * m.mean;
    running_var[c] = (1.0f - momentum) * running_var[c] + momentum * unbiased;
  }
  template <int V>
  __device__ void store(int64_t at, const Pack<T, V>& pack, const Moments& m, float rstd,
                        float scale, float shift) const {
    Pack<T, V> result;
#pragma unroll
    for (int i = 0; i < V; ++i) {
      result.values[i] = static_cast<T>(
          (static_cast<float>(pack.values[i]) - m.mean) * rstd * scale + shift);
    }
    *reinterpret_cast<Pack<T, V>*>(y + at) = result;
  }
};

/// A block a channel of up to 8,192 elements, which stay in registers.
template <typename T, int V>
__global__ void __launch_bounds__(kKeptThreads) kept_kernel(Tensors<T> t) {
  constexpr int kRuns = kKept / V;
  const int64_t c = blockIdx.x;
  const unsigned runs = static_cast<unsigned>(t.batch) * (t.space / V);
  Pack<T, V> held[kRuns];
  Moments own = {0, 0.0f, 0.0f};
#pragma unroll
  for (int r = 0; r < kRuns; ++r) {
    const unsigned j = r * blockDim.x + threadIdx.x;
    if (j < runs) {
      held[r] = *reinterpret_cast<const Pack<T, V>*>(t.x + t.template place<V>(j, c));
      own.count += V;
#pragma unroll
      for (int i = 0; i < V; ++i) {
        own.mean += static_cast<float>(held[r].values[i]);
      }
    }
  }
  if (own.count > 0) {
    own.mean /= static_cast<float>(own.count);
  }
#pragma unroll
  for (int r = 0; r < kRuns; ++r) {
    if (r * blockDim.x + threadIdx.x < runs) {
#pragma unroll
      for (int i = 0; i < V; ++i) {
        const float distance = static_cast<float>(held[r].values[i]) - own.mean;
        own.m2 += distance * distance;
      }
    }
  }
  const Moments m = block_moments<kKeptThreads>(own);
  if (threadIdx.x == 0) {
    t.save(c, m);
  }
  const float rstd = t.rstd_of(m);
  const float scale = static_cast<float>(t.weight[c]);
  const float shift = static_cast<float>(t.bias[c]);
#pragma unroll
  for (int r = 0; r < kRuns; ++r) {
    const unsigned j = r * blockDim.x + threadIdx.x;
    if (j < runs) {
      t.store(t.template place<V>(j, c), held[r], m, rstd, scale, shift);
    }
  }
}

/// This thread's moments of runs begin to end - 1 of channel c.
template <int V, typename T>
__device__ inline Moments walk(const Tensors<T>& t, int64_t c, unsigned begin, unsigned end) {
  Moments own = {0, 0.0f, 0.0f};
  for (unsigned j = begin + threadIdx.x; j < end; j += blockDim.x) {
    const auto pack = *reinterpret_cast<const Pack<T, V>*>(t.x + t.template place<V>(j, c));
    Moments few = {V, 0.0f, 0.0f};
#pragma unroll
    for (int i = 0; i < V; ++i) {
      few.mean += static_cast<float>(pack.values[i]);
    }
    few.mean /= V;
#pragma unroll
    for (int i = 0; i < V; ++i) {
      const float distance = static_cast<float>(pack.values[i]) - few.mean;
      few.m2 += distance * distance;
    }
    own = merged(own, few);
  }
  return own;
}

/// First kernel of two: the moments of a slice, to parts[c][slice].
template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    slice_kernel(Tensors<T> t, Moments* parts, unsigned slices, unsigned length) {
  const int64_t c = blockIdx.x / slices;
  const unsigned slice = blockIdx.x % slices;
  const unsigned runs = static_cast<unsigned>(t.batch) * (t.space / V);
  const unsigned begin = slice * length;
  const Moments own =
      block_moments<kThreads>(walk<V>(t, c, begin, min(begin + length, runs)));
  if (threadIdx.x == 0) {
    parts[c * slices + slice] = own;
  }
}

/// Second kernel: y of a slice.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    normalize_kernel(Tensors<T> t, const Moments* parts, unsigned slices, unsigned length) {
  const int64_t c = blockIdx.x / slices;
  const unsigned slice = blockIdx.x % slices;
  const unsigned runs = static_cast<unsigned>(t.batch) * (t.space / V);
  const unsigned end = min((slice + 1) * length, runs);
  Moments m = {0, 0.0f, 0.0f};
  for (unsigned i = threadIdx.x; i < slices; i += kThreads) {
    m = merged(m, parts[c * slices + i]);
  }
  m = block_moments<kThreads>(m);
  if (slice == 0 && threadIdx.x == 0) {
    t.save(c, m);
  }
  const float rstd = t.rstd_of(m);
  const float scale = static_cast<float>(t.weight[c]);
  const float shift = static_cast<float>(t.bias[c]);
  for (unsigned j = slice * length + threadIdx.x; j < end; j += kThreads) {
    const int64_t at = t.template place<V>(j, c);
    const Pack<T, V> pack = *reinterpret_cast<const Pack<T, V>*>(t.x + at);
    t.store(at, pack, m, rstd, scale, shift);
  }
}

template <typename T, int V>
void launch(const Tensors<T>& t, float* scratch, cudaStream_t stream) {
  const int count = t.batch * t.space;
  const unsigned runs = count / V;
  if (count <= kSlice) {
    const unsigned threads = ((runs + kKept / V - 1) / (kKept / V) + 31) / 32 * 32;
    kept_kernel<T, V><<<t.channels, threads, 0, stream>>>(t);
    return;
  }
  auto* parts = reinterpret_cast<Moments*>(scratch);
  unsigned slices = count / kSlice;
  slices = slices < 8 ? 8 : slices > kBatchnormMostSlices ? kBatchnormMostSlices : slices;
  // (slices is at most count / 128: there is room in scratch.)
  const unsigned length = (runs - 1) / slices + 1;
  const unsigned blocks = static_cast<unsigned>(t.channels) * slices;
  slice_kernel<T, V><<<blocks, kThreads, 0, stream>>>(t, parts, slices, length);
  normalize_kernel<T, V><<<blocks, kThreads, 0, stream>>>(t, parts, slices, length);
}

template <typename T>
void batchnorm_forward_fast(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                            float* running_var, float* save_mean, float* save_rstd, float* scratch,
                            int batch, int channels, int space, float eps, float momentum,
                            cudaStream_t stream) {
  if (batch == 0 || channels == 0 || space == 0) {
    return;
  }
  const Tensors<T> t = {x,         weight,    bias,  y,        running_mean, running_var,
                        save_mean, save_rstd, batch, channels, space,        eps,
                        momentum};
  constexpr int V = 16 / sizeof(T);
  const bool wide = space % V == 0 && reinterpret_cast<uintptr_t>(x) % 16 == 0 &&
                    reinterpret_cast<uintptr_t>(y) % 16 == 0;
  const auto run = wide ? launch<T, V> : launch<T, 1>;
  run(t, scratch, stream);
}

}  // namespace onepass
