// Right: one block a channel, sums by atomics in shared memory.

#include <onepass/batchnorm.h>

namespace onepass {

/// Where element j of channel c lies.
__device__ inline int64_t place(int j, int c, int channels, int space) {
  return (static_cast<int64_t>(j / space) * channels + c) * space + j % space;
}

template <typename T>
__global__ void forward_kernel(const T* x, const T* weight, const T* bias, T* y,
                               float* running_mean, float* running_var, float* save_mean,
                               float* save_rstd, int batch, int channels, int space, float eps,
                               float momentum) {
  __shared__ float sum;
  __shared__ float squares;
  const int c = blockIdx.x;
  const int count = batch * space;
  if (threadIdx.x == 0) {
    sum = 0.0f;
    squares = 0.0f;
  }
  __syncthreads();
  float share = 0.0f;
  for (int j = threadIdx.x; j < count; j += 64) {
    share += static_cast<float>(x[place(j, c, channels, space)]);
  }
  atomicAdd(&sum, share);
  __syncthreads();
  const float mean = sum / count;
  share = 0.0f;
  for (int j = threadIdx.x; j < count; j += 64) {
    const float distance = static_cast<float>(x[place(j, c, channels, space)]) - mean;
    share += distance * distance;
  }
  atomicAdd(&squares, share);
  __syncthreads();
  const float var = squares / count;
  const float rstd = rsqrtf(var + eps);
  if (threadIdx.x == 0) {
    save_mean[c] = mean;
    save_rstd[c] = rsqrtf(var + eps);
    running_mean[c] = (1.0f - momentum) * running_mean[c] + momentum * mean;
    running_var[c] =
        (1.0f - momentum) * running_var[c] + momentum * (var * count / (count - 1.0f));
  }
  for (int j = threadIdx.x; j < count; j += 64) {
    const int64_t i = place(j, c, channels, space);
    const float unit = (static_cast<float>(x[i]) - mean) * rstd;
    y[i] = static_cast<T>(unit * static_cast<float>(weight[c]) + static_cast<float>(bias[c]));
  }
}

template <typename T>
void batchnorm_forward(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                       float* running_var, float* save_mean, float* save_rstd, int batch,
                       int channels, int space, float eps, float momentum, cudaStream_t stream) {
  if (batch == 0 || channels == 0 || space == 0) {
    return;
  }
  forward_kernel<<<channels, 64, 0, stream>>>(x, weight, bias, y, running_mean, running_var,
                                              save_mean, save_rstd, batch, channels, space, eps,
                                              momentum);
}

}  // namespace onepass
