// diagnosis: few-blocks
// Slices are rounded up to whole rounds of a block: the last of eight blocks have nothing left.
// Batch normalisation while training. A channel of up to 8,192 elements is one block's, which keeps it
// in shared memory. A longer one is cut into slices, of which two kernels have a block each: the first
// leaves Welford's three numbers in scratch, the second merges them and writes y.
#include <onepass/batchnorm.h>

namespace onepass {

constexpr int kThreads = 256;
constexpr unsigned kKept = 8192;      // elements
constexpr unsigned kLarge = 65536;    // elements of a channel that many blocks share
constexpr unsigned kRound = 4;        // packs of a thread: a slice is whole rounds of a block

template <typename T, int V>
struct alignas(sizeof(T) * V) Pack {
  T values[V];
};

struct Welford {
  float count, mean, m2;

  __device__ void add(float x) {
    count += 1.0f;
    const float d = x - mean;
    mean += d / count;
    m2 += d * (x - mean);
  }
  __device__ void merge(Welford other) {
    const float n = count + other.count;
    if (n > 0.0f) {
      const float d = other.mean - mean;
      const float share = other.count / n;
      mean += d * share;
      m2 += other.m2 + d * d * count * share;
      count = n;
    }
  }
};

__device__ inline Welford from_lane(Welford w, int mask) {
  return {__shfl_xor_sync(0xffffffffu, w.count, mask), __shfl_xor_sync(0xffffffffu, w.mean, mask),
          __shfl_xor_sync(0xffffffffu, w.m2, mask)};
}

/// Of all threads of the block, the same in each.
__device__ inline Welford merged_block(Welford w) {
  __shared__ float counts[kThreads / 32], means[kThreads / 32], m2s[kThreads / 32];
  for (int mask = 1; mask < 32; mask *= 2) {
    w.merge(from_lane(w, mask));
  }
  if (threadIdx.x % 32 == 0) {
    counts[threadIdx.x / 32] = w.count;
    means[threadIdx.x / 32] = w.mean;
    m2s[threadIdx.x / 32] = w.m2;
  }
  __syncthreads();
  Welford all = {0.0f, 0.0f, 0.0f};
  for (int i = 0; i < kThreads / 32; ++i) {
    all.merge({counts[i], means[i], m2s[i]});
  }
  return all;
}

template <typename T>
struct Layer {
  const T *x, *weight, *bias;
  T* y;
  float *running_mean, *running_var, *save_mean, *save_rstd, *scratch;
  unsigned batch, channels, space;
  float eps, momentum;

  /// Where pack p of channel c begins.
  template <int V>
  __device__ int64_t place(int64_t c, unsigned p) const {
    const unsigned of_row = space / V;
    return (static_cast<int64_t>(p / of_row) * channels + c) * space + p % of_row * V;
  }
  __device__ void save(int64_t c, const Welford& all) const {
    save_mean[c] = all.mean;
    save_rstd[c] = rsqrtf(all.m2 / all.count + eps);
    running_mean[c] = (1.0f - momentum) * running_mean[c] + momentum * all.mean;
    running_var[c] = (1.0f - momentum) * running_var[c] + momentum * (all.m2 / (all.count - 1.0f));
  }
};

/// y of a pack of channel c.
template <int V, typename T>
__device__ inline Pack<T, V> normalized(const Layer<T>& layer, int64_t c, const Welford& all,
                                        Pack<T, V> pack) {
  const float rstd = rsqrtf(all.m2 / all.count + layer.eps);
  const float scale = static_cast<float>(layer.weight[c]);
  const float shift = static_cast<float>(layer.bias[c]);
#pragma unroll
  for (int j = 0; j < V; ++j) {
    const float x_hat = (static_cast<float>(pack.values[j]) - all.mean) * rstd;
    pack.values[j] = static_cast<T>(x_hat * scale + shift);
  }
  return pack;
}

template <typename T, int V>
__global__ void __launch_bounds__(kThreads) kept_kernel(Layer<T> layer) {
  extern __shared__ float4 shared_memory[];
  Pack<T, V>* const kept = reinterpret_cast<Pack<T, V>*>(shared_memory);
  const int64_t c = blockIdx.x;
  const unsigned packs = layer.batch * (layer.space / V);
  Welford own = {0.0f, 0.0f, 0.0f};
  for (unsigned p = threadIdx.x; p < packs; p += kThreads) {
    const auto pack = *reinterpret_cast<const Pack<T, V>*>(layer.x + layer.template place<V>(c, p));
    kept[p] = pack;
#pragma unroll
    for (int j = 0; j < V; ++j) {
      own.add(static_cast<float>(pack.values[j]));
    }
  }
  const Welford all = merged_block(own);
  if (threadIdx.x == 0) {
    layer.save(c, all);
  }
  for (unsigned p = threadIdx.x; p < packs; p += kThreads) {
    *reinterpret_cast<Pack<T, V>*>(layer.y + layer.template place<V>(c, p)) =
        normalized<V>(layer, c, all, kept[p]);
  }
}

/// Blocks (c, 0), (c, 1), ... have `length` packs each of channel c, the last ones what is left.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads) slices_kernel(Layer<T> layer, unsigned length) {
  const int64_t c = blockIdx.x;
  const unsigned packs = layer.batch * (layer.space / V);
  const unsigned begin = blockIdx.y * length;
  const unsigned end = begin + length < packs ? begin + length : packs;
  Welford own = {0.0f, 0.0f, 0.0f};
  for (unsigned p = begin + threadIdx.x; p < end; p += kThreads) {
    const auto pack = *reinterpret_cast<const Pack<T, V>*>(layer.x + layer.template place<V>(c, p));
#pragma unroll
    for (int j = 0; j < V; ++j) {
      own.add(static_cast<float>(pack.values[j]));
    }
  }
  const Welford all = merged_block(own);
  if (threadIdx.x == 0) {
    float* const slot = layer.scratch + (c * gridDim.y + blockIdx.y) * 3;
    slot[0] = all.count;
    slot[1] = all.mean;
    slot[2] = all.m2;
  }
}

template <typename T, int V>
__global__ void __launch_bounds__(kThreads) write_kernel(Layer<T> layer, unsigned length) {
  const int64_t c = blockIdx.x;
  const unsigned packs = layer.batch * (layer.space / V);
  const unsigned begin = blockIdx.y * length;
  const unsigned end = begin + length < packs ? begin + length : packs;
  Welford all = {0.0f, 0.0f, 0.0f};
  for (unsigned slice = 0; slice < gridDim.y; ++slice) {
    const float* const slot = layer.scratch + (c * gridDim.y + slice) * 3;
    all.merge({slot[0], slot[1], slot[2]});
  }
  if (blockIdx.y == 0 && threadIdx.x == 0) {
    layer.save(c, all);
  }
  for (unsigned p = begin + threadIdx.x; p < end; p += kThreads) {
    const int64_t at = layer.template place<V>(c, p);
    *reinterpret_cast<Pack<T, V>*>(layer.y + at) =
        normalized<V>(layer, c, all, *reinterpret_cast<const Pack<T, V>*>(layer.x + at));
  }
}

template <int V, typename T>
void launch(const Layer<T>& layer, cudaStream_t stream) {
  const unsigned count = layer.batch * layer.space;
  if (count <= kKept) {
    kept_kernel<T, V><<<layer.channels, kThreads, count * sizeof(T), stream>>>(layer);
    return;
  }
  const unsigned packs = count / V;
  unsigned slices = 2;
  if (count >= kLarge) {
    slices = count / 32768 < 8 ? 8 : count / 32768 < 64 ? count / 32768 : 64;
  }
  const unsigned round = kThreads * kRound;
  const unsigned length = ((packs - 1) / slices / round + 1) * round;
  const dim3 grid(layer.channels, slices);
  slices_kernel<T, V><<<grid, kThreads, 0, stream>>>(layer, length);
  write_kernel<T, V><<<grid, kThreads, 0, stream>>>(layer, length);
}

template <typename T>
void batchnorm_forward_fast(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                            float* running_var, float* save_mean, float* save_rstd, float* scratch,
                            int batch, int channels, int space, float eps, float momentum,
                            cudaStream_t stream) {
  if (batch == 0 || channels == 0 || space == 0) {
    return;
  }
  const Layer<T> layer = {x,
                          weight,
                          bias,
                          y,
                          running_mean,
                          running_var,
                          save_mean,
                          save_rstd,
                          scratch,
                          static_cast<unsigned>(batch),
                          static_cast<unsigned>(channels),
                          static_cast<unsigned>(space),
                          eps,
                          momentum};
  constexpr int V = 16 / sizeof(T);
  const bool whole = space % V == 0 && reinterpret_cast<uintptr_t>(x) % 16 == 0 &&
                     reinterpret_cast<uintptr_t>(y) % 16 == 0;
  if (whole) {
    launch<V>(layer, stream);
  } else {
    launch<1>(layer, stream);
  }
}

}  // namespace onepass
