// diagnosis: one-pass-variance
// Each slice of a large channel takes its first element for what all are like: where that stands out, the
// squares of the distances from it cancel.

// Exercise 4.3: batch normalisation while training, at the speed of memory.
// Small channels wait in registers. Large ones are cut into slices, and of each the sum of x - shift
// and that of its square are made in one walk. The shift, the slice's first element, keeps the
// squares from cancelling out where the mean is large. A second kernel merges the slices.

#include <onepass/batchnorm.h>

#include <algorithm>
#include <cstring>

namespace onepass {

constexpr int kThreads = 512;
constexpr int kEach = 16;                 // elements of a thread in registers
constexpr int kTile = kThreads * kEach;   // and of a block: 8192

__device__ inline float warp_sum(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// The sum over the block, in every thread. May be called again and again.
__device__ inline float block_sum_of(float value) {
  __shared__ float partial[32];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  value = warp_sum(value);
  __syncthreads();  // the slots of the call before have been read
  if (lane == 0) {
    partial[warp] = value;
  }
  __syncthreads();
  return warp_sum(lane < blockDim.x / 32 ? partial[lane] : 0.0f);
}

template <typename T, int V>
struct alignas(V * sizeof(T)) Pack {
  T values[V];
};

/// nvcc splits some copies of a pack of 16-bit values: these are one access each.
template <typename T, int V>
__device__ inline Pack<T, V> load_pack(const T* from) {
  if constexpr (sizeof(Pack<T, V>) == 16) {
    const int4 bytes = *reinterpret_cast<const int4*>(from);
    Pack<T, V> pack;
    memcpy(&pack, &bytes, 16);
    return pack;
  } else {
    return *reinterpret_cast<const Pack<T, V>*>(from);
  }
}
template <typename T, int V>
__device__ inline void store_pack(T* to, const Pack<T, V>& pack) {
  if constexpr (sizeof(Pack<T, V>) == 16) {
    int4 bytes;
    memcpy(&bytes, &pack, 16);
    __stcs(reinterpret_cast<int4*>(to), bytes);  // nothing loads y again here
  } else {
    *reinterpret_cast<Pack<T, V>*>(to) = pack;
  }
}

template <typename T>
struct Arguments {
  const T *x, *weight, *bias;
  T* y;
  float *running_mean, *running_var, *save_mean, *save_rstd, *scratch;
  int batch, channels, space;
  float eps, momentum;
};

/// Where pack i of a channel begins. packs: of a row, the space of a sample.
template <typename T, int V>
__device__ inline int64_t place_of(const Arguments<T>& a, int channel, unsigned i, unsigned packs) {
  return (static_cast<int64_t>(i / packs) * a.channels + channel) * a.space +
         static_cast<int64_t>(i % packs) * V;
}

/// What is one number a channel. One thread calls it.
template <typename T>
__device__ inline void save(const Arguments<T>& a, int c, float mean, float m2) {
  const float count = static_cast<float>(a.batch * a.space);
  a.save_mean[c] = mean;
  a.save_rstd[c] = rsqrtf(m2 / count + a.eps);
  a.running_mean[c] = (1.0f - a.momentum) * a.running_mean[c] + a.momentum * mean;
  a.running_var[c] =
      (1.0f - a.momentum) * a.running_var[c] + a.momentum * (m2 / (count - 1.0f));
}

/// Loads packs begin + threadIdx.x, ... below end, and finds mean and m2 of the block's.
template <typename T, int V>
__device__ inline void load_tile(const Arguments<T>& a, int c, unsigned begin, unsigned end,
                                 Pack<T, V> (&held)[kEach / V], float& mean, float& m2) {
  const unsigned row_packs = a.space / V;
  const float count = static_cast<float>((end - begin) * V);
  float sum = 0.0f;
#pragma unroll
  for (int p = 0; p < kEach / V; ++p) {
    const unsigned i = begin + threadIdx.x + p * kThreads;
    if (i < end) {
      held[p] = load_pack<T, V>(a.x + place_of<T, V>(a, c, i, row_packs));
    }
  }
#pragma unroll
  for (int p = 0; p < kEach / V; ++p) {
    if (begin + threadIdx.x + p * kThreads < end) {
#pragma unroll
      for (int j = 0; j < V; ++j) {
        sum += static_cast<float>(held[p].values[j]);
      }
    }
  }
  mean = block_sum_of(sum) / count;
  float squares = 0.0f;
#pragma unroll
  for (int p = 0; p < kEach / V; ++p) {
    if (begin + threadIdx.x + p * kThreads < end) {
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const float distance = static_cast<float>(held[p].values[j]) - mean;
        squares += distance * distance;
      }
    }
  }
  m2 = block_sum_of(squares);
}

template <typename T, int V>
__device__ inline Pack<T, V> normalized(const Pack<T, V>& pack, float mean, float rstd,
                                        float weight, float bias) {
  Pack<T, V> result;
#pragma unroll
  for (int j = 0; j < V; ++j) {
    result.values[j] =
        static_cast<T>((static_cast<float>(pack.values[j]) - mean) * rstd * weight + bias);
  }
  return result;
}

/// Channels that the registers of a block hold: x is loaded once.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads) held_kernel(Arguments<T> a) {
  const int c = blockIdx.x;
  const unsigned row_packs = a.space / V;
  const unsigned packs = a.batch * row_packs;
  Pack<T, V> held[kEach / V];
  float mean = 0.0f;
  float m2 = 0.0f;
  load_tile<T, V>(a, c, 0, packs, held, mean, m2);
  const float rstd = rsqrtf(m2 / (a.batch * a.space) + a.eps);
  if (threadIdx.x == 0) {
    save(a, c, mean, m2);
  }
  const float weight = static_cast<float>(a.weight[c]);
  const float bias = static_cast<float>(a.bias[c]);
#pragma unroll
  for (int p = 0; p < kEach / V; ++p) {
    const unsigned i = threadIdx.x + p * kThreads;
    if (i < packs) {
      store_pack<T, V>(a.y + place_of<T, V>(a, c, i, row_packs),
                       normalized<T, V>(held[p], mean, rstd, weight, bias));
    }
  }
}

/// Larger channels, first kernel: count, mean and m2 of a slice.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    slice_kernel(Arguments<T> a, unsigned slices, unsigned length) {
  const int c = blockIdx.x / slices;
  const unsigned slice = blockIdx.x % slices;
  const unsigned row_packs = a.space / V;
  const unsigned begin = slice * length;
  const unsigned end = min(begin + length, a.batch * row_packs);
  __shared__ float shared_shift;
  Pack<T, V> pack;
  unsigned i = begin + threadIdx.x;
  if (i < end) {
    pack = load_pack<T, V>(a.x + place_of<T, V>(a, c, i, row_packs));
  }
  if (threadIdx.x == 0) {
    shared_shift = static_cast<float>(pack.values[0]);
  }
  __syncthreads();
  const float shift = shared_shift;
  float sum = 0.0f;
  float squares = 0.0f;
  while (i < end) {
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float distance = static_cast<float>(pack.values[j]) - shift;
      sum += distance;
      squares += distance * distance;
    }
    i += kThreads;
    if (i < end) {
      pack = load_pack<T, V>(a.x + place_of<T, V>(a, c, i, row_packs));
    }
  }
  sum = block_sum_of(sum);
  squares = block_sum_of(squares);
  if (threadIdx.x == 0) {
    const float count = static_cast<float>((end - begin) * V);
    const float distance = sum / count;
    float* part = a.scratch + static_cast<int64_t>(blockIdx.x) * 3;
    part[0] = count;
    part[1] = shift + distance;
    part[2] = fmaxf(squares - sum * distance, 0.0f);
  }
}

/// Larger channels, second kernel: y of a slice.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    normalize_kernel(Arguments<T> a, unsigned slices, unsigned length) {
  const int c = blockIdx.x / slices;
  const unsigned slice = blockIdx.x % slices;
  const unsigned row_packs = a.space / V;
  const unsigned begin = slice * length;
  const unsigned end = min(begin + length, a.batch * row_packs);
  const float* parts = a.scratch + static_cast<int64_t>(c) * slices * 3;
  const float count = static_cast<float>(a.batch * a.space);
  float sum = 0.0f;
  for (unsigned i = threadIdx.x; i < slices; i += kThreads) {
    sum += parts[3 * i] * parts[3 * i + 1];
  }
  const float mean = block_sum_of(sum) / count;
  float squares = 0.0f;
  for (unsigned i = threadIdx.x; i < slices; i += kThreads) {
    const float d = parts[3 * i + 1] - mean;
    squares += parts[3 * i + 2] + parts[3 * i] * d * d;
  }
  const float m2 = block_sum_of(squares);
  const float rstd = rsqrtf(m2 / count + a.eps);
  if (slice == 0 && threadIdx.x == 0) {
    save(a, c, mean, m2);
  }
  const float weight = static_cast<float>(a.weight[c]);
  const float bias = static_cast<float>(a.bias[c]);
  for (unsigned i = begin + threadIdx.x; i < end; i += kThreads) {
    const int64_t place = place_of<T, V>(a, c, i, row_packs);
    store_pack<T, V>(a.y + place, normalized<T, V>(load_pack<T, V>(a.x + place), mean, rstd,
                                                   weight, bias));
  }
}

template <typename T, int V>
void launch(const Arguments<T>& a, cudaStream_t stream) {
  const int count = a.batch * a.space;
  if (count <= kTile) {
    held_kernel<T, V><<<a.channels, kThreads, 0, stream>>>(a);
    return;
  }
  const unsigned packs = count / V;
  const unsigned wanted =
      std::min((static_cast<unsigned>(count) - 1) / kTile + 1, unsigned{kBatchnormMostSlices});
  const unsigned length = (packs - 1) / wanted + 1;
  const unsigned slices = (packs - 1) / length + 1;
  slice_kernel<T, V><<<a.channels * slices, kThreads, 0, stream>>>(a, slices, length);
  normalize_kernel<T, V><<<a.channels * slices, kThreads, 0, stream>>>(a, slices, length);
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
  constexpr int V = 16 / sizeof(T);
  if (space % V == 0 && reinterpret_cast<uintptr_t>(x) % 16 == 0 &&
      reinterpret_cast<uintptr_t>(y) % 16 == 0) {
    launch<T, V>(a, stream);
  } else {
    launch<T, 1>(a, stream);
  }
}

}  // namespace onepass
