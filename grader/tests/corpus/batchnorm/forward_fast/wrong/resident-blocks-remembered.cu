// diagnosis: launch-failed
// says: The cooperative launch has
// How many blocks are on the GPU at once is kept for each type of kernel, and so for another
// number of threads.
#include <cooperative_groups.h>
#include <onepass/batchnorm.h>

namespace onepass {

constexpr int kMostThreads = 512;
constexpr int kKept = 8192;  // elements of a channel that a block keeps

template <typename T, int V>
struct alignas(V * sizeof(T)) Pack {
  T at[V];
};

struct Moments {
  float count, mean, m2;
};

/// All that a kernel needs.
template <typename T>
struct Job {
  const T *x, *weight, *bias;
  T* y;
  float *running_mean, *running_var, *save_mean, *save_rstd;
  Moments* parts;  // [channels, slices]
  int channels, space;
  unsigned count, slices, length;  // of a channel; of a slice, in elements
  float eps, momentum;

  __device__ int64_t place(int64_t c, unsigned j) const {
    const unsigned sample = j / space;
    return (static_cast<int64_t>(sample) * channels + c) * space + (j - sample * space);
  }
  __device__ void save(int64_t c, float mean, float m2) const {
    const float n = static_cast<float>(count);
    save_mean[c] = mean;
    save_rstd[c] = rsqrtf(m2 / n + eps);
    running_mean[c] = (1.0f - momentum) * running_mean[c] + momentum * mean;
    running_var[c] = (1.0f - momentum) * running_var[c] + momentum * (m2 / (n - 1.0f));
  }
};

/// Over all threads, in each of them.
__device__ inline float block_sum(float value) {
  __shared__ float of_warps[kMostThreads / 32];
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    of_warps[threadIdx.x / 32] = value;
  }
  __syncthreads();
  float sum = 0.0f;
  for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) {
    sum += of_warps[warp];
  }
  return sum;
}

template <int V, typename T>
__device__ inline Pack<T, V> normalized(Pack<T, V> pack, float mean, float scale, float shift) {
#pragma unroll
  for (int i = 0; i < V; ++i) {
    pack.at[i] = static_cast<T>((static_cast<float>(pack.at[i]) - mean) * scale + shift);
  }
  return pack;
}

/// Channels that one block keeps.
template <int V, typename T>
__global__ void __launch_bounds__(kMostThreads) small_channels(Job<T> job) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto* kept = reinterpret_cast<Pack<T, V>*>(memory);
  const int64_t c = blockIdx.x;
  const unsigned packs = job.count / V;
  float sum = 0.0f;
  for (unsigned p = threadIdx.x; p < packs; p += blockDim.x) {
    const auto pack = *reinterpret_cast<const Pack<T, V>*>(job.x + job.place(c, p * V));
    kept[p] = pack;
#pragma unroll
    for (int i = 0; i < V; ++i) {
      sum += static_cast<float>(pack.at[i]);
    }
  }
  const float mean = block_sum(sum) / static_cast<float>(job.count);
  float squares = 0.0f;
  for (unsigned p = threadIdx.x; p < packs; p += blockDim.x) {
#pragma unroll
    for (int i = 0; i < V; ++i) {
      const float distance = static_cast<float>(kept[p].at[i]) - mean;
      squares += distance * distance;
    }
  }
  const float m2 = block_sum(squares);
  if (threadIdx.x == 0) {
    job.save(c, mean, m2);
  }
  const float scale = rsqrtf(m2 / static_cast<float>(job.count) + job.eps) *
                      static_cast<float>(job.weight[c]);
  const float shift = static_cast<float>(job.bias[c]);
  for (unsigned p = threadIdx.x; p < packs; p += blockDim.x) {
    *reinterpret_cast<Pack<T, V>*>(job.y + job.place(c, p * V)) =
        normalized(kept[p], mean, scale, shift);
  }
}

/// Larger ones: blocks share all slices of all channels, and meet once.
template <int V, typename T>
__global__ void __launch_bounds__(kMostThreads) large_channels(Job<T> job) {
  const int64_t items = static_cast<int64_t>(job.channels) * job.slices;
  for (int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    const int64_t c = item / job.slices;
    const unsigned begin = static_cast<unsigned>(item % job.slices) * job.length;
    const unsigned end = min(begin + job.length, job.count);
    Moments mine = {0.0f, 0.0f, 0.0f};
    for (unsigned j = begin + threadIdx.x * V; j < end; j += blockDim.x * V) {
      const auto pack = *reinterpret_cast<const Pack<T, V>*>(job.x + job.place(c, j));
      float mean = 0.0f;
#pragma unroll
      for (int i = 0; i < V; ++i) {
        mean += static_cast<float>(pack.at[i]) * (1.0f / V);
      }
      float m2 = 0.0f;
#pragma unroll
      for (int i = 0; i < V; ++i) {
        const float distance = static_cast<float>(pack.at[i]) - mean;
        m2 += distance * distance;
      }
      const float apart = mean - mine.mean;
      const float share = V / (mine.count + V);
      mine.m2 += m2 + apart * apart * mine.count * share;
      mine.mean += apart * share;
      mine.count += V;
    }
    const float there = static_cast<float>(end - begin);
    const float mean = block_sum(mine.count * mine.mean) / there;
    const float apart = mine.mean - mean;
    const float m2 = block_sum(mine.m2 + mine.count * apart * apart);
    if (threadIdx.x == 0) {
      job.parts[item] = {there, mean, m2};
    }
  }

  cooperative_groups::this_grid().sync();

  for (int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    const int64_t c = item / job.slices;
    const auto slice = static_cast<unsigned>(item % job.slices);
    const Moments* parts = job.parts + c * job.slices;
    float sum = 0.0f;
    for (unsigned s = threadIdx.x; s < job.slices; s += blockDim.x) {
      sum += parts[s].count * parts[s].mean;
    }
    const float mean = block_sum(sum) / static_cast<float>(job.count);
    sum = 0.0f;
    for (unsigned s = threadIdx.x; s < job.slices; s += blockDim.x) {
      const float apart = parts[s].mean - mean;
      sum += parts[s].m2 + parts[s].count * apart * apart;
    }
    const float m2 = block_sum(sum);
    if (slice == 0 && threadIdx.x == 0) {
      job.save(c, mean, m2);
    }
    const float scale = rsqrtf(m2 / static_cast<float>(job.count) + job.eps) *
                        static_cast<float>(job.weight[c]);
    const float shift = static_cast<float>(job.bias[c]);
    const unsigned begin = slice * job.length;
    const unsigned end = min(begin + job.length, job.count);
    for (unsigned j = begin + threadIdx.x * V; j < end; j += blockDim.x * V) {
      const int64_t at = job.place(c, j);
      const auto pack = *reinterpret_cast<const Pack<T, V>*>(job.x + at);
      *reinterpret_cast<Pack<T, V>*>(job.y + at) = normalized(pack, mean, scale, shift);
    }
  }
}

/// How many blocks of a kernel are on the GPU at once, which is what a cooperative launch may have.
template <typename Kernel>
inline int64_t blocks_at_once(Kernel* kernel, int threads) {
  static const int64_t blocks = [&] {  // asked for once only: it takes longer than a launch
    int device = 0, multiprocessors = 1, each = 1;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, 0);
    return static_cast<int64_t>(each) * multiprocessors;
  }();
  return blocks;
}

template <int V, typename T>
void launch(Job<T> job, cudaStream_t stream) {
  const unsigned packs = job.count / V;
  if (job.count <= kKept) {
    const unsigned threads = packs < kMostThreads ? (packs + 31) / 32 * 32 : kMostThreads;
    small_channels<V><<<job.channels, threads, job.count * sizeof(T), stream>>>(job);
    return;
  }
  const unsigned wanted = (job.count - 1) / kKept + 1;
  job.slices = wanted < kBatchnormMostSlices ? wanted : kBatchnormMostSlices;
  job.length = ((packs - 1) / job.slices + 1) * V;
  job.slices = (job.count - 1) / job.length + 1;
  static_assert(sizeof(Moments) == 12, "three numbers a part");
  const int threads = V == 1 ? 512 : 256;  // of single elements it takes more to be under way
  void (*const kernel)(Job<T>) = large_channels<V, T>;
  const int64_t resident = blocks_at_once(kernel, threads);
  const int64_t items = static_cast<int64_t>(job.channels) * job.slices;
  void* arguments[] = {&job};
  cudaLaunchCooperativeKernel(kernel,
                              dim3(static_cast<unsigned>(items < resident ? items : resident)),
                              dim3(threads), arguments, 0, stream);
}

template <typename T>
void batchnorm_forward_fast(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                            float* running_var, float* save_mean, float* save_rstd, float* scratch,
                            int batch, int channels, int space, float eps, float momentum,
                            cudaStream_t stream) {
  if (batch == 0 || channels == 0 || space == 0) {
    return;
  }
  const Job<T> job = {x,         weight,    bias,
                      y,         running_mean, running_var,
                      save_mean, save_rstd, reinterpret_cast<Moments*>(scratch),
                      channels,  space,     static_cast<unsigned>(batch) * space,
                      1,         0,         eps,
                      momentum};
  constexpr int kWide = 16 / sizeof(T);
  const bool wide = space % kWide == 0 &&
                    (reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y)) % 16 == 0;
  wide ? launch<kWide>(job, stream) : launch<1>(job, stream);
}

}  // namespace onepass
