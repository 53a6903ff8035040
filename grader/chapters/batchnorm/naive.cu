// The naive baseline of chapter 4: the same contract, run the way a framework without fusion runs
// it. Every operator is a kernel of its own over the whole tensor, and every intermediate result
// goes out to device memory and comes back. The arithmetic is right; the traffic is the lesson.
//
// The intermediates are fp32. Bytes moved per element of x, size bytes each:
//   forward    mean size, centre size + 4, square 8, mean 4, times rstd 8, times weight 8,
//              plus bias 4 + size: 3 size + 36
//   evaluate   centre size + 4, times rstd 8, times weight 8, plus bias 4 + size: 2 size + 24

#include <onepass/batchnorm.h>

namespace onepass {
namespace naive {

constexpr int kThreads = 256;  // threads a block

/// Device memory for `count` fp32 intermediates, null when there is not enough. Kept from one call
/// to the next, so that allocating is not part of what is timed.
inline float* scratch(int64_t count) {
  static float* memory = nullptr;
  static int64_t capacity = 0;
  if (count > capacity) {
    cudaFree(memory);
    memory = nullptr;
    capacity = 0;
    if (cudaMalloc(reinterpret_cast<void**>(&memory), count * sizeof(float)) == cudaSuccess) {
      capacity = count;
    }
  }
  return memory;
}

/// Blocks for one thread an element.
inline unsigned blocks_for(int64_t elements) {
  return static_cast<unsigned>((elements + kThreads - 1) / kThreads);
}

/// This thread's element of the whole tensor.
__device__ inline int64_t element_index() {
  return static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
}

/// What is known of the tensor.
struct Shape {
  int batch, channels, space;

  __host__ __device__ int64_t elements() const {
    return static_cast<int64_t>(batch) * channels * space;
  }
  __device__ int channel(int64_t i) const { return static_cast<int>(i / space % channels); }
};

/// means[c] = mean over channel c of values. One block a channel.
template <typename T>
__global__ void mean_kernel(const T* values, float* means, Shape shape) {
  __shared__ float shares[kThreads];
  const int count = shape.batch * shape.space;
  float share = 0.0f;
  for (int j = threadIdx.x; j < count; j += kThreads) {
    const int64_t sample = j / shape.space;
    share += static_cast<float>(
        values[(sample * shape.channels + blockIdx.x) * shape.space + j % shape.space]);
  }
  shares[threadIdx.x] = share;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < half) {
      shares[threadIdx.x] += shares[threadIdx.x + half];
    }
  }
  if (threadIdx.x == 0) {
    means[blockIdx.x] = shares[0] / count;
  }
}

/// centred[i] = x[i] - means[channel of i].
template <typename T>
__global__ void centre_kernel(const T* x, const float* means, float* centred, Shape shape) {
  const int64_t i = element_index();
  if (i < shape.elements()) {
    centred[i] = static_cast<float>(x[i]) - means[shape.channel(i)];
  }
}

/// squares[i] = values[i]^2.
__global__ void square_kernel(const float* values, float* squares, Shape shape) {
  const int64_t i = element_index();
  if (i < shape.elements()) {
    squares[i] = values[i] * values[i];
  }
}

/// rstd[c] = 1 / sqrt(variances[c] + eps).
__global__ void rsqrt_kernel(const float* variances, float* rstd, int channels, float eps) {
  const int64_t c = element_index();
  if (c < channels) {
    rstd[c] = rsqrtf(variances[c] + eps);
  }
}

/// running[c] = (1 - momentum) * running[c] + momentum * batch[c] * factor.
__global__ void running_kernel(float* running, const float* batch, float factor, float momentum,
                               int channels) {
  const int64_t c = element_index();
  if (c < channels) {
    running[c] = (1.0f - momentum) * running[c] + momentum * (batch[c] * factor);
  }
}

/// values[i] = values[i] * factors[channel of i].
template <typename T>
__global__ void times_kernel(float* values, const T* factors, Shape shape) {
  const int64_t i = element_index();
  if (i < shape.elements()) {
    values[i] *= static_cast<float>(factors[shape.channel(i)]);
  }
}

/// y[i] = values[i] + bias[channel of i], rounded to T.
template <typename T>
__global__ void plus_kernel(const float* values, const T* bias, T* y, Shape shape) {
  const int64_t i = element_index();
  if (i < shape.elements()) {
    y[i] = static_cast<T>(values[i] + static_cast<float>(bias[shape.channel(i)]));
  }
}

}  // namespace naive

template <typename T>
void batchnorm_forward(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                       float* running_var, float* save_mean, float* save_rstd, int batch,
                       int channels, int space, float eps, float momentum, cudaStream_t stream) {
  using namespace naive;
  const Shape shape = {batch, channels, space};
  const int64_t elements = shape.elements();
  float* centred = elements == 0 ? nullptr : scratch(2 * elements + channels);
  if (centred == nullptr) {
    return;
  }
  float* squares = centred + elements;
  float* variances = squares + elements;
  const unsigned blocks = blocks_for(elements);
  const unsigned few = blocks_for(channels);
  const float count = static_cast<float>(batch) * static_cast<float>(space);
  mean_kernel<<<channels, kThreads, 0, stream>>>(x, save_mean, shape);
  centre_kernel<<<blocks, kThreads, 0, stream>>>(x, save_mean, centred, shape);
  square_kernel<<<blocks, kThreads, 0, stream>>>(centred, squares, shape);
  mean_kernel<<<channels, kThreads, 0, stream>>>(squares, variances, shape);
  rsqrt_kernel<<<few, kThreads, 0, stream>>>(variances, save_rstd, channels, eps);
  running_kernel<<<few, kThreads, 0, stream>>>(running_mean, save_mean, 1.0f, momentum, channels);
  running_kernel<<<few, kThreads, 0, stream>>>(running_var, variances, count / (count - 1.0f),
                                               momentum, channels);
  times_kernel<<<blocks, kThreads, 0, stream>>>(centred, save_rstd, shape);
  times_kernel<<<blocks, kThreads, 0, stream>>>(centred, weight, shape);
  plus_kernel<<<blocks, kThreads, 0, stream>>>(centred, bias, y, shape);
}

template <typename T>
void batchnorm_evaluate(const T* x, const T* weight, const T* bias, const float* running_mean,
                        const float* running_var, T* y, int batch, int channels, int space,
                        float eps, cudaStream_t stream) {
  using namespace naive;
  const Shape shape = {batch, channels, space};
  const int64_t elements = shape.elements();
  float* centred = elements == 0 ? nullptr : scratch(elements + channels);
  if (centred == nullptr) {
    return;
  }
  float* rstd = centred + elements;
  const unsigned blocks = blocks_for(elements);
  rsqrt_kernel<<<blocks_for(channels), kThreads, 0, stream>>>(running_var, rstd, channels, eps);
  centre_kernel<<<blocks, kThreads, 0, stream>>>(x, running_mean, centred, shape);
  times_kernel<<<blocks, kThreads, 0, stream>>>(centred, rstd, shape);
  times_kernel<<<blocks, kThreads, 0, stream>>>(centred, weight, shape);
  plus_kernel<<<blocks, kThreads, 0, stream>>>(centred, bias, y, shape);
}

}  // namespace onepass
