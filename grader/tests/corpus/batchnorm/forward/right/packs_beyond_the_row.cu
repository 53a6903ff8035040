// Right: a channel's rows are read in aligned packs of 16 bytes, which may begin in the row before
// and end in the one behind. What is not of this row does not count.

#include <onepass/batchnorm.h>

namespace onepass {

constexpr int kThreads = 512;

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
  for (float p : partial) {
    sum += p;
  }
  return sum;
}

template <typename T>
struct alignas(16) Pack {
  T values[16 / sizeof(T)];
};

template <typename T>
__global__ void __launch_bounds__(kThreads)
    channel_kernel(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                   float* running_var, float* save_mean, float* save_rstd, int batch, int channels,
                   int space, float eps, float momentum) {
  constexpr int V = 16 / sizeof(T);
  const int c = blockIdx.x;
  const float count = static_cast<float>(batch * space);
  const int64_t elements = static_cast<int64_t>(batch) * channels * space;
  const int lead = reinterpret_cast<uintptr_t>(x) % 16 / sizeof(T);

  // Sum of f(value) over this thread's elements of the channel.
  const auto sum_over = [&](auto f) {
    float sum = 0.0f;
    for (int n = 0; n < batch; ++n) {
      const int64_t begin = (static_cast<int64_t>(n) * channels + c) * space;
      const int64_t end = begin + space;
      const int64_t first = (begin + lead) / V * V - lead;  // the pack with the first element
      for (int64_t i = first + threadIdx.x * V; i < end; i += kThreads * V) {
        if (i >= 0 && i + V <= elements) {
          const Pack<T> pack = *reinterpret_cast<const Pack<T>*>(x + i);
#pragma unroll
          for (int j = 0; j < V; ++j) {
            const float term = f(static_cast<float>(pack.values[j]));
            sum += i + j >= begin && i + j < end ? term : 0.0f;
          }
        } else {
          for (int j = 0; j < V; ++j) {
            if (i + j >= begin && i + j < end) {
              sum += f(static_cast<float>(x[i + j]));
            }
          }
        }
      }
    }
    return block_sum_of(sum);
  };

  const float mean = sum_over([](float value) { return value; }) / count;
  const float variance =
      sum_over([=](float value) { return (value - mean) * (value - mean); }) / count;
  const float rstd = rsqrtf(variance + eps);
  if (threadIdx.x == 0) {
    save_mean[c] = mean;
    save_rstd[c] = rstd;
    const float unbiased = variance * (count / (count - 1.0f));
    running_mean[c] = (1.0f - momentum) * running_mean[c] + momentum * mean;
    running_var[c] = (1.0f - momentum) * running_var[c] + momentum * unbiased;
  }
  const float scale = static_cast<float>(weight[c]);
  const float shift = static_cast<float>(bias[c]);
  const unsigned all = static_cast<unsigned>(batch) * space;
  for (unsigned j = threadIdx.x; j < all; j += kThreads) {
    const int64_t i = (static_cast<int64_t>(j / space) * channels + c) * space + j % space;
    y[i] = static_cast<T>((static_cast<float>(x[i]) - mean) * rstd * scale + shift);
  }
}

template <typename T>
void batchnorm_forward(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                       float* running_var, float* save_mean, float* save_rstd, int batch,
                       int channels, int space, float eps, float momentum, cudaStream_t stream) {
  if (batch == 0 || channels == 0 || space == 0) {
    return;
  }
  channel_kernel<<<channels, kThreads, 0, stream>>>(x, weight, bias, y, running_mean, running_var,
                                                    save_mean, save_rstd, batch, channels, space,
                                                    eps, momentum);
}

}  // namespace onepass
