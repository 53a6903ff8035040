// diagnosis: missing-barrier
// Both kernels of a large channel begin early, and the first waits for nobody: the call before may
// still read the scratch that it overwrites.
// BatchNorm in training at the speed of memory. Where a channel is too large for one block, two
// kernels share it out, and neither waits at its launch: each begins as soon as the one in front lets
// it, the first one of a call behind the second one of the call before, too, for that writes nothing
// of which this one makes its sums. The second one waits for the first one's sums.

#include <onepass/batchnorm.h>

namespace onepass {

namespace {

constexpr int kBlock = 256;
constexpr int kWarps = kBlock / 32;
constexpr unsigned kOneBlock = 8192;  // elements that a block keeps

template <typename T, int V>
struct alignas(V * sizeof(T)) Quad {
  T e[V];
};

template <typename T>
struct Call {
  const T* x;
  const T* weight;
  const T* bias;
  T* y;
  float* running_mean;
  float* running_var;
  float* save_mean;
  float* save_rstd;
  float* means;  // [slices, channels]
  float* m2s;    // [slices, channels]
  unsigned count;
  int channels;
  int space;
  float eps;
  float momentum;
};

__device__ inline double warp_total(double value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  return value;
}

/// The sum over the block in each thread; `meet` must be nobody else's.
__device__ inline double block_total(double value, double* meet) {
  value = warp_total(value);
  if (threadIdx.x % 32 == 0) {
    meet[threadIdx.x / 32] = value;
  }
  __syncthreads();
  double total = 0.0;
  for (int w = 0; w < kWarps; ++w) {
    total += meet[w];
  }
  return total;
}

template <typename T>
__device__ int64_t address(const Call<T>& call, int c, unsigned j) {
  const unsigned n = j / call.space;
  return (static_cast<int64_t>(n) * call.channels + c) * call.space + (j - n * call.space);
}

template <typename T>
__device__ void save_channel(const Call<T>& call, int c, double mean, double m2) {
  const double n = call.count;
  call.save_mean[c] = static_cast<float>(mean);
  call.save_rstd[c] = static_cast<float>(1.0 / sqrt(m2 / n + static_cast<double>(call.eps)));
  call.running_mean[c] =
      (1.0f - call.momentum) * call.running_mean[c] + call.momentum * static_cast<float>(mean);
  call.running_var[c] = (1.0f - call.momentum) * call.running_var[c] +
                        call.momentum * static_cast<float>(m2 / (n - 1.0));
}

template <int V, typename T>
__device__ void normalize(Quad<T, V>& pack, float mean, float rstd, float weight, float bias) {
#pragma unroll
  for (int i = 0; i < V; ++i) {
    pack.e[i] = static_cast<T>((static_cast<float>(pack.e[i]) - mean) * rstd * weight + bias);
  }
}

template <int V, typename T>
__global__ void __launch_bounds__(kBlock) whole_channel(Call<T> call) {
  extern __shared__ __align__(16) unsigned char raw[];
  __shared__ double meet[2][kWarps];
  auto* const kept = reinterpret_cast<Quad<T, V>*>(raw);
  const int c = blockIdx.x;
  double sum = 0.0;
  for (unsigned j = threadIdx.x; j * V < call.count; j += kBlock) {
    kept[j] = *reinterpret_cast<const Quad<T, V>*>(call.x + address(call, c, j * V));
    for (int i = 0; i < V; ++i) {
      sum += static_cast<double>(static_cast<float>(kept[j].e[i]));
    }
  }
  const double mean = block_total(sum, meet[0]) / call.count;
  double squares = 0.0;
  for (unsigned j = threadIdx.x; j * V < call.count; j += kBlock) {
    for (int i = 0; i < V; ++i) {
      const double d = static_cast<double>(static_cast<float>(kept[j].e[i])) - mean;
      squares += d * d;
    }
  }
  const double m2 = block_total(squares, meet[1]);
  if (threadIdx.x == 0) {
    save_channel(call, c, mean, m2);
  }
  const float rstd =
      static_cast<float>(1.0 / sqrt(m2 / call.count + static_cast<double>(call.eps)));
  for (unsigned j = threadIdx.x; j * V < call.count; j += kBlock) {
    Quad<T, V> pack = kept[j];
    normalize<V>(pack, static_cast<float>(mean), rstd, static_cast<float>(call.weight[c]),
                 static_cast<float>(call.bias[c]));
    *reinterpret_cast<Quad<T, V>*>(call.y + address(call, c, j * V)) = pack;
  }
}

template <int V, typename T>
__global__ void __launch_bounds__(kBlock)
    sums_of_slices(Call<T> call, unsigned slices, unsigned length) {
  __shared__ double meet[2][kWarps];
  cudaTriggerProgrammaticLaunchCompletion();
  const int c = static_cast<int>(blockIdx.x / slices);
  const unsigned slice = blockIdx.x % slices;
  const unsigned begin = slice * length;
  const unsigned end = min(begin + length, call.count);
  double sum = 0.0;
  double squares = 0.0;
  for (unsigned j = begin + threadIdx.x * V; j < end; j += kBlock * V) {
    const auto pack = *reinterpret_cast<const Quad<T, V>*>(call.x + address(call, c, j));
    for (int i = 0; i < V; ++i) {
      const double value = static_cast<double>(static_cast<float>(pack.e[i]));
      sum += value;
      squares += value * value;
    }
  }
  sum = block_total(sum, meet[0]);
  squares = block_total(squares, meet[1]);
  if (threadIdx.x == 0) {
    const double mean = sum / (end - begin);
    const double m2 = fmax(squares - sum * mean, 0.0);
    if (slices == 1) {
      save_channel(call, c, mean, m2);
    } else {
      const int64_t place = static_cast<int64_t>(slice) * call.channels + c;
      call.means[place] = static_cast<float>(mean);
      call.m2s[place] = static_cast<float>(m2);
    }
  }
}

template <int V, typename T>
__global__ void __launch_bounds__(kBlock)
    results_of_slices(Call<T> call, unsigned slices, unsigned length) {
  __shared__ double meet[2][kWarps];
  cudaTriggerProgrammaticLaunchCompletion();
  const int c = static_cast<int>(blockIdx.x / slices);
  const unsigned slice = blockIdx.x % slices;
  const unsigned begin = slice * length;
  const unsigned end = min(begin + length, call.count);
  cudaGridDependencySynchronize();
  const float weight = static_cast<float>(call.weight[c]);
  const float bias = static_cast<float>(call.bias[c]);
  float channel_mean = 0.0f;
  float rstd = 0.0f;
  if (slices == 1) {
    channel_mean = call.save_mean[c];
    rstd = call.save_rstd[c];
  } else {
    double sum = 0.0;
    for (unsigned s = threadIdx.x; s < slices; s += kBlock) {
      const double n = min(length, call.count - s * length);
      sum += n * static_cast<double>(call.means[static_cast<int64_t>(s) * call.channels + c]);
    }
    const double mean = block_total(sum, meet[0]) / call.count;
    double squares = 0.0;
    for (unsigned s = threadIdx.x; s < slices; s += kBlock) {
      const int64_t place = static_cast<int64_t>(s) * call.channels + c;
      const double n = min(length, call.count - s * length);
      const double d = static_cast<double>(call.means[place]) - mean;
      squares += static_cast<double>(call.m2s[place]) + n * d * d;
    }
    const double m2 = block_total(squares, meet[1]);
    if (slice == 0 && threadIdx.x == 0) {
      save_channel(call, c, mean, m2);
    }
    channel_mean = static_cast<float>(mean);
    rstd = static_cast<float>(1.0 / sqrt(m2 / call.count + static_cast<double>(call.eps)));
  }
  for (unsigned j = begin + threadIdx.x * V; j < end; j += kBlock * V) {
    const int64_t at = address(call, c, j);
    auto pack = *reinterpret_cast<const Quad<T, V>*>(call.x + at);
    normalize<V>(pack, channel_mean, rstd, weight, bias);
    *reinterpret_cast<Quad<T, V>*>(call.y + at) = pack;
  }
}

template <int V, typename T>
void run_call(Call<T> call, float* scratch, cudaStream_t stream) {
  if (call.space > 1 && call.count <= kOneBlock) {
    whole_channel<V, T><<<call.channels, kBlock, call.count * sizeof(T), stream>>>(call);
    return;
  }
  const unsigned most = call.count / kOneBlock;
  const unsigned wanted = most == 0 ? 1u : most < 512u ? most : 512u;
  const unsigned length = ((call.count + wanted - 1) / wanted + V - 1) / V * V;
  const unsigned slices = (call.count + length - 1) / length;
  call.means = scratch;
  call.m2s = scratch + static_cast<int64_t>(slices) * call.channels;

  cudaLaunchAttribute soon = {};
  soon.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  soon.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(call.channels) * slices);
  config.blockDim = dim3(kBlock);
  config.stream = stream;
  config.attrs = &soon;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, sums_of_slices<V, T>, call, slices, length);
  cudaLaunchKernelEx(&config, results_of_slices<V, T>, call, slices, length);
}

}  // namespace

template <typename T>
void batchnorm_forward_fast(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                            float* running_var, float* save_mean, float* save_rstd, float* scratch,
                            int batch, int channels, int space, float eps, float momentum,
                            cudaStream_t stream) {
  if (batch == 0 || channels == 0 || space == 0) {
    return;
  }
  Call<T> call = {};
  call.x = x;
  call.weight = weight;
  call.bias = bias;
  call.y = y;
  call.running_mean = running_mean;
  call.running_var = running_var;
  call.save_mean = save_mean;
  call.save_rstd = save_rstd;
  call.count = static_cast<unsigned>(batch) * space;
  call.channels = channels;
  call.space = space;
  call.eps = eps;
  call.momentum = momentum;
  constexpr int V = 16 / sizeof(T);
  if (space % V == 0 && reinterpret_cast<uintptr_t>(x) % 16 == 0 &&
      reinterpret_cast<uintptr_t>(y) % 16 == 0) {
    run_call<V>(call, scratch, stream);
  } else {
    run_call<1>(call, scratch, stream);
  }
}

}  // namespace onepass
