// diagnosis: one-pass-variance
// Channels of more than 65,536 elements are summed in one pass, E[x^2] - mean^2, to save a walk
// through memory: their variance is lost where the mean is large.
#include <onepass/batchnorm.h>

namespace onepass {

// A block a channel; its threads walk through the samples one after another.
constexpr int kThreads = 256;

__device__ inline float block_sum(float v) {
  __shared__ float slots[kThreads / 32];
  __shared__ float total;
  for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(0xffffffff, v, o);
  if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < kThreads / 32 ? slots[threadIdx.x] : 0.0f;
    for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(0xffffffff, v, o);
    if (threadIdx.x == 0) total = v;
  }
  __syncthreads();
  return total;
}

template <typename T>
__global__ void forward_kernel(const T* x, const T* weight, const T* bias, T* y, float* running_mean, float* running_var, float* save_mean, float* save_rstd, int batch, int channels, int space, float eps, float momentum) {
  const int c = blockIdx.x;
  const int count = batch * space;
  float sum = 0.0f;
  for (int j = threadIdx.x; j < count; j += kThreads) {
    const int64_t e = (static_cast<int64_t>(j / space) * channels + c) * space + j % space;
    sum += static_cast<float>(x[e]);
  }
  const float mu = block_sum(sum) / count;
  float squares = 0.0f;
  const bool long_channel = count > 65536;  // a second walk would come from device memory
  for (int j = threadIdx.x; j < count; j += kThreads) {
    const int64_t e = (static_cast<int64_t>(j / space) * channels + c) * space + j % space;
    const float d = static_cast<float>(x[e]) - (long_channel ? 0.0f : mu);
    squares += d * d;
  }
  float var = block_sum(squares) / count;
  if (long_channel) var = fmaxf(var - mu * mu, 0.0f);
  const float r = rsqrtf(var + eps);
  if (threadIdx.x == 0) {
    const float unbiased = var * (static_cast<float>(count) / static_cast<float>(count - 1));
    save_mean[c] = mu;
    save_rstd[c] = r;
    running_mean[c] = (1.0f - momentum) * running_mean[c] + momentum * mu;
    running_var[c] = (1.0f - momentum) * running_var[c] + momentum * unbiased;
  }
  const float w = static_cast<float>(weight[c]);
  const float b = static_cast<float>(bias[c]);
  for (int j = threadIdx.x; j < count; j += kThreads) {
    const int64_t e = (static_cast<int64_t>(j / space) * channels + c) * space + j % space;
    y[e] = static_cast<T>((static_cast<float>(x[e]) - mu) * r * w + b);
  }
}

template <typename T>
void batchnorm_forward(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                       float* running_var, float* save_mean, float* save_rstd, int batch,
                       int channels, int space, float eps, float momentum, cudaStream_t stream) {
  if (batch == 0 || channels == 0 || space == 0) return;
  forward_kernel<T><<<channels, kThreads, 0, stream>>>(x, weight, bias, y, running_mean, running_var, save_mean, save_rstd, batch, channels, space, eps, momentum);
}

}  // namespace onepass
