// Right: Welford, one warp a channel, the lanes merged by shuffles.

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
  const int c = blockIdx.x;
  const int all = batch * space;
  float n = 0.0f;
  float mean = 0.0f;
  float m2 = 0.0f;
  for (int j = threadIdx.x; j < all; j += 32) {
    const float value = static_cast<float>(x[place(j, c, channels, space)]);
    n += 1.0f;
    const float delta = value - mean;
    mean += delta / n;
    m2 += delta * (value - mean);
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    const float other_n = __shfl_xor_sync(0xffffffffu, n, offset);
    const float other_mean = __shfl_xor_sync(0xffffffffu, mean, offset);
    const float other_m2 = __shfl_xor_sync(0xffffffffu, m2, offset);
    const float together = n + other_n;
    if (together > 0.0f) {
      const float delta = other_mean - mean;
      // The same sum in both lanes, whichever is the other's other.
      mean = (n * mean + other_n * other_mean) / together;
      m2 += other_m2 + delta * delta * n * other_n / together;
    }
    n = together;
  }
  const float count = n;
  const float var = m2 / n;
  const float rstd = rsqrtf(var + eps);
  if (threadIdx.x == 0) {
    save_mean[c] = mean;
    save_rstd[c] = rsqrtf(var + eps);
    running_mean[c] = (1.0f - momentum) * running_mean[c] + momentum * mean;
    running_var[c] =
        (1.0f - momentum) * running_var[c] + momentum * (var * count / (count - 1.0f));
  }
  for (int j = threadIdx.x; j < all; j += 32) {
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
  forward_kernel<<<channels, 32, 0, stream>>>(x, weight, bias, y, running_mean, running_var,
                                              save_mean, save_rstd, batch, channels, space, eps,
                                              momentum);
}

}  // namespace onepass
