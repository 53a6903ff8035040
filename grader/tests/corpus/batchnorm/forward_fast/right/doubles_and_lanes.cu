// Sums in double; 32 channels a block where space is 1, where x need not be loaded once.
// Batch normalisation while training, in one kernel template for all sizes: sum and sum of squares in
// double, in one walk, and y = x * scale + shift.
#include <cuda_pipeline.h>
#include <onepass/batchnorm.h>

namespace onepass {

constexpr int kThreads = 256;
constexpr unsigned kLeast = 8192;     // elements of a slice, where a channel has several
constexpr unsigned kMostSlices = 32;  // scratch has room for two doubles of each

template <typename T, int V>
struct alignas(sizeof(T) * V) Bundle {
  T of[V];
};

template <typename T>
struct Problem {
  const T *x, *weight, *bias;
  T* y;
  float *running_mean, *running_var, *save_mean, *save_rstd;
  double* scratch;  // [slices, channels, 2]
  unsigned batch, channels, space;
  float eps, momentum;
};

struct Sums {
  double x, xx;
};

/// Over the threads of each of a block's channels, in all of these. Once in a kernel.
template <int kChannels>
__device__ inline Sums sums_of_channel(Sums sums) {
  __shared__ double of_threads[2][kThreads];
  if (kChannels == 1) {
    for (int offset = 1; offset < 32; offset *= 2) {
      sums.x += __shfl_xor_sync(0xffffffffu, sums.x, offset);
      sums.xx += __shfl_xor_sync(0xffffffffu, sums.xx, offset);
    }
  }
  of_threads[0][threadIdx.x] = sums.x;
  of_threads[1][threadIdx.x] = sums.xx;
  __syncthreads();
  sums = {0.0, 0.0};
  for (int thread = threadIdx.x % 32; thread < kThreads; thread += 32) {
    sums.x += of_threads[0][thread];
    sums.xx += of_threads[1][thread];
  }
  return sums;
}

enum Phase { kAll, kKeep, kSum, kWrite };

/// Block (b, s) has slice s of channel b, or, where kChannels is 32, of the channels from 32 * b on,
/// a lane each. kAll: sums, and then y of the only slice; kKeep: the same, with x kept in shared
/// memory; kSum: leaves a slice's sums in scratch; kWrite: finds there those of all, and writes y.
template <typename T, int V, int kChannels, Phase phase>
__global__ void __launch_bounds__(kThreads) batchnorm_kernel(Problem<T> problem) {
  using Elements = Bundle<T, V>;
  extern __shared__ float4 shared_memory[];
  Elements* const kept = reinterpret_cast<Elements*>(shared_memory);
  const int64_t channel = static_cast<int64_t>(blockIdx.x) * kChannels + threadIdx.x % kChannels;
  const bool exists = channel < problem.channels;
  const unsigned of_row = problem.space / V;
  const uint64_t all = static_cast<uint64_t>(problem.batch) * of_row;
  const auto first = static_cast<unsigned>(all * blockIdx.y / gridDim.y);
  const auto behind = exists ? static_cast<unsigned>(all * (blockIdx.y + 1) / gridDim.y) : 0u;
  const unsigned begin = first + threadIdx.x / kChannels;
  constexpr unsigned kStep = kThreads / kChannels;
  const auto place = [&](unsigned i) {
    const int64_t row = static_cast<int64_t>(i / of_row) * problem.channels + channel;
    return row * problem.space + i % of_row * V;
  };
  const auto load = [&](unsigned i) {
    return *reinterpret_cast<const Elements*>(problem.x + place(i));
  };

  Sums sums = {0.0, 0.0};
  if (phase != kWrite) {
    if (phase == kKeep) {
      for (unsigned i = begin; i < behind; i += kStep) {
        if constexpr (V > 1) {
          __pipeline_memcpy_async(kept + i, problem.x + place(i), sizeof(Elements));
        } else {
          kept[i] = load(i);
        }
      }
      __pipeline_commit();
      __pipeline_wait_prior(0);
    }
    for (unsigned i = begin; i < behind; i += kStep) {
      const Elements elements = phase == kKeep ? kept[i] : load(i);
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const double value = static_cast<float>(elements.of[j]);
        sums.x += value;
        sums.xx += value * value;
      }
    }
    sums = sums_of_channel<kChannels>(sums);
  }
  const bool leads = exists && threadIdx.x < kChannels;
  if (phase == kSum) {
    if (leads) {
      double* const to = problem.scratch + 2 * (static_cast<int64_t>(blockIdx.y) * problem.channels + channel);
      to[0] = sums.x;
      to[1] = sums.xx;
    }
    return;
  }
  if (!exists) {
    return;  // no barrier is left
  }
  if (phase == kWrite) {
    for (unsigned slice = 0; slice < gridDim.y; ++slice) {
      const double* const from = problem.scratch + 2 * (static_cast<int64_t>(slice) * problem.channels + channel);
      sums.x += from[0];
      sums.xx += from[1];
    }
  }

  const double count = static_cast<double>(problem.batch) * problem.space;
  const double mean = sums.x / count;
  double variance = sums.xx / count - mean * mean;
  variance = variance < 0.0 ? 0.0 : variance;
  const double rstd = 1.0 / sqrt(variance + problem.eps);
  if (leads && blockIdx.y == 0) {
    const double momentum = problem.momentum;
    const double before_mean = problem.running_mean[channel];
    const double before_var = problem.running_var[channel];
    problem.save_mean[channel] = static_cast<float>(mean);
    problem.save_rstd[channel] = static_cast<float>(rstd);
    problem.running_mean[channel] =
        static_cast<float>((1.0 - momentum) * before_mean + momentum * mean);
    problem.running_var[channel] = static_cast<float>(
        (1.0 - momentum) * before_var + momentum * variance * count / (count - 1.0));
  }
  const double scale = rstd * static_cast<float>(problem.weight[channel]);
  const double shift = static_cast<float>(problem.bias[channel]) - mean * scale;
  for (unsigned i = begin; i < behind; i += kStep) {
    Elements elements = phase == kKeep ? kept[i] : load(i);
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const double value = static_cast<float>(elements.of[j]) * scale + shift;
      elements.of[j] = static_cast<T>(static_cast<float>(value));
    }
    *reinterpret_cast<Elements*>(problem.y + place(i)) = elements;
  }
}

template <int V, int kChannels, typename T>
void launch(const Problem<T>& problem, cudaStream_t stream) {
  const unsigned count = problem.batch * problem.space;
  const unsigned blocks = (problem.channels - 1) / kChannels + 1;
  if (kChannels == 1 && count <= 8192) {
    batchnorm_kernel<T, V, kChannels, kKeep>
        <<<blocks, kThreads, count * sizeof(T), stream>>>(problem);
  } else if (count < 2 * kLeast) {
    batchnorm_kernel<T, V, kChannels, kAll><<<blocks, kThreads, 0, stream>>>(problem);
  } else {
    const unsigned slices = count / kLeast < kMostSlices ? count / kLeast : kMostSlices;
    const dim3 grid(blocks, slices);
    batchnorm_kernel<T, V, kChannels, kSum><<<grid, kThreads, 0, stream>>>(problem);
    batchnorm_kernel<T, V, kChannels, kWrite><<<grid, kThreads, 0, stream>>>(problem);
  }
}

template <typename T>
void batchnorm_forward_fast(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                            float* running_var, float* save_mean, float* save_rstd, float* scratch,
                            int batch, int channels, int space, float eps, float momentum,
                            cudaStream_t stream) {
  if (batch == 0 || channels == 0 || space == 0) {
    return;
  }
  Problem<T> problem = {};
  problem.x = x;
  problem.weight = weight;
  problem.bias = bias;
  problem.y = y;
  problem.running_mean = running_mean;
  problem.running_var = running_var;
  problem.save_mean = save_mean;
  problem.save_rstd = save_rstd;
  problem.scratch = reinterpret_cast<double*>(scratch);
  problem.batch = batch;
  problem.channels = channels;
  problem.space = space;
  problem.eps = eps;
  problem.momentum = momentum;
  constexpr int V = 16 / sizeof(T);
  const bool whole = space % V == 0 && reinterpret_cast<uintptr_t>(x) % 16 == 0 &&
                     reinterpret_cast<uintptr_t>(y) % 16 == 0;
  if (space == 1) {
    launch<1, 32>(problem, stream);
  } else if (whole) {
    launch<V, 1>(problem, stream);
  } else {
    launch<1, 1>(problem, stream);
  }
}

}  // namespace onepass
