// diagnosis: welford-counts
// The mean of a channel is the plain mean of those of its slices, of which the last one is
// shorter: slices are cut in whole packs.

// Exercise 4.3 without clusters: short channels are kept in shared memory, long ones cut into
// slices, whose moments go to scratch.
#include <onepass/batchnorm.h>

namespace onepass {

constexpr int kThreads = 256;
constexpr int kKept = 8192;  // elements that a block keeps

template <typename T, int kV>
struct alignas(kV * sizeof(T)) Pack {
  T values[kV];
};

template <typename T>
struct Tensors {
  const T *x, *weight, *bias;
  T* y;
  float *running_mean, *running_var, *save_mean, *save_rstd, *scratch;
  int channels, space;
  unsigned count;
  float eps, momentum;

  /// Where element j of channel c lies.
  __device__ int64_t place(unsigned j, int64_t c) const {
    return (static_cast<int64_t>(j / space) * channels + c) * space + j % space;
  }
};

__device__ inline float block_sum_of(float value) {
  __shared__ float partial[kThreads / 32];
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    partial[threadIdx.x / 32] = value;
  }
  __syncthreads();
  float sum = 0.0f;
  for (int w = 0; w < kThreads / 32; ++w) {
    sum += partial[w];
  }
  return sum;
}

/// One thread a channel.
template <typename T>
__device__ inline void save(const Tensors<T>& t, int64_t c, float mean, float m2) {
  t.save_mean[c] = mean;
  t.save_rstd[c] = rsqrtf(m2 / t.count + t.eps);
  const float unbiased = m2 / static_cast<float>(t.count - 1);
  t.running_mean[c] = (1.0f - t.momentum) * t.running_mean[c] + t.momentum * mean;
  t.running_var[c] = (1.0f - t.momentum) * t.running_var[c] + t.momentum * unbiased;
}

/// A pack in, a pack out.
template <int kV, typename T>
__device__ inline Pack<T, kV> normalized(Pack<T, kV> pack, float mean, float rstd, float weight,
                                         float bias) {
#pragma unroll
  for (int i = 0; i < kV; ++i) {
    const float value = (static_cast<float>(pack.values[i]) - mean) * rstd;
    pack.values[i] = static_cast<T>(value * weight + bias);
  }
  return pack;
}

template <int kV, typename T>
__global__ void __launch_bounds__(kThreads) short_channel(Tensors<T> t) {
  using P = Pack<T, kV>;
  __shared__ __align__(16) unsigned char memory[kKept * sizeof(T)];
  P* kept = reinterpret_cast<P*>(memory);
  const int64_t c = blockIdx.x;
  const unsigned packs = t.count / kV;
  float sum = 0.0f;
  for (unsigned p = threadIdx.x; p < packs; p += kThreads) {
    const P pack = *reinterpret_cast<const P*>(t.x + t.place(p * kV, c));
    kept[p] = pack;
    for (int i = 0; i < kV; ++i) {
      sum += static_cast<float>(pack.values[i]);
    }
  }
  const float mean = block_sum_of(sum) / t.count;
  float m2 = 0.0f;
  for (unsigned p = threadIdx.x; p < packs; p += kThreads) {
    const P pack = kept[p];
    for (int i = 0; i < kV; ++i) {
      const float d = static_cast<float>(pack.values[i]) - mean;
      m2 += d * d;
    }
  }
  m2 = block_sum_of(m2);
  if (threadIdx.x == 0) {
    save(t, c, mean, m2);
  }
  const float rstd = rsqrtf(m2 / t.count + t.eps);
  const float weight = static_cast<float>(t.weight[c]);
  const float bias = static_cast<float>(t.bias[c]);
  for (unsigned p = threadIdx.x; p < packs; p += kThreads) {
    *reinterpret_cast<P*>(t.y + t.place(p * kV, c)) =
        normalized<kV>(kept[p], mean, rstd, weight, bias);
  }
}

/// Moments of a slice of `length` packs of a channel: count, mean, m2.
template <int kV, typename T>
__global__ void __launch_bounds__(kThreads)
    slice_moments(Tensors<T> t, unsigned slices, unsigned length) {
  using P = Pack<T, kV>;
  const int64_t c = blockIdx.x / slices;
  const unsigned slice = blockIdx.x % slices;
  const unsigned begin = slice * length;
  const unsigned end = min(begin + length, t.count / kV);
  float n = 0.0f;
  float mean = 0.0f;
  float m2 = 0.0f;
  for (unsigned p = begin + threadIdx.x; p < end; p += kThreads) {
    const P pack = *reinterpret_cast<const P*>(t.x + t.place(p * kV, c));
    for (int i = 0; i < kV; ++i) {  // Welford's method
      const float value = static_cast<float>(pack.values[i]);
      const float d = value - mean;
      n += 1.0f;
      mean += d / n;
      m2 += d * (value - mean);
    }
  }
  const float all = block_sum_of(n);
  const float slice_mean = block_sum_of(n * mean) / all;
  const float d = mean - slice_mean;
  const float slice_m2 = block_sum_of(m2 + n * d * d);
  if (threadIdx.x == 0) {
    float* to = t.scratch + 3 * (c * slices + slice);
    to[0] = all;
    to[1] = slice_mean;
    to[2] = slice_m2;
  }
}

template <int kV, typename T>
__global__ void __launch_bounds__(kThreads)
    normalize_slice(Tensors<T> t, unsigned slices, unsigned length) {
  using P = Pack<T, kV>;
  const int64_t c = blockIdx.x / slices;
  const unsigned slice = blockIdx.x % slices;
  const float* parts = t.scratch + 3 * (c * slices);
  float sum = 0.0f;
  for (unsigned s = threadIdx.x; s < slices; s += kThreads) {
    sum += parts[3 * s + 1];
  }
  const float mean = block_sum_of(sum) / slices;
  float m2 = 0.0f;
  for (unsigned s = threadIdx.x; s < slices; s += kThreads) {
    const float d = parts[3 * s + 1] - mean;
    m2 += parts[3 * s + 2] + parts[3 * s] * d * d;
  }
  m2 = block_sum_of(m2);
  if (slice == 0 && threadIdx.x == 0) {
    save(t, c, mean, m2);
  }
  const float rstd = rsqrtf(m2 / t.count + t.eps);
  const float weight = static_cast<float>(t.weight[c]);
  const float bias = static_cast<float>(t.bias[c]);
  const unsigned begin = slice * length;
  const unsigned end = min(begin + length, t.count / kV);
  for (unsigned p = begin + threadIdx.x; p < end; p += kThreads) {
    const int64_t at = t.place(p * kV, c);
    *reinterpret_cast<P*>(t.y + at) =
        normalized<kV>(*reinterpret_cast<const P*>(t.x + at), mean, rstd, weight, bias);
  }
}

template <int kV, typename T>
void launch(const Tensors<T>& t, cudaStream_t stream) {
  if (t.count <= kKept) {
    short_channel<kV><<<t.channels, kThreads, 0, stream>>>(t);
    return;
  }
  // Slices of 8,192 elements or so; 8 at least, and as many as scratch has room for at most.
  unsigned slices = (t.count - 1) / kKept + 1;
  slices = slices < 8 ? 8 : slices;
  slices = slices > kBatchnormMostSlices ? kBatchnormMostSlices : slices;
  const unsigned packs = t.count / kV;
  const unsigned length = (packs - 1) / slices + 1;
  slices = (packs - 1) / length + 1;  // so that none is empty
  const unsigned blocks = t.channels * slices;
  slice_moments<kV><<<blocks, kThreads, 0, stream>>>(t, slices, length);
  normalize_slice<kV><<<blocks, kThreads, 0, stream>>>(t, slices, length);
}

template <typename T>
void batchnorm_forward_fast(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                            float* running_var, float* save_mean, float* save_rstd, float* scratch,
                            int batch, int channels, int space, float eps, float momentum,
                            cudaStream_t stream) {
  if (batch == 0 || channels == 0 || space == 0) {
    return;
  }
  const Tensors<T> t = {x,         weight,    bias,    y,        running_mean,
                        running_var, save_mean, save_rstd, scratch,  channels,
                        space,     static_cast<unsigned>(batch) * space,
                        eps,       momentum};
  constexpr int kWide = 16 / sizeof(T);
  const auto starts = [](const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; };
  if (space % kWide == 0 && starts(x) && starts(y)) {
    launch<kWide>(t, stream);
  } else {
    launch<1>(t, stream);
  }
}

}  // namespace onepass
