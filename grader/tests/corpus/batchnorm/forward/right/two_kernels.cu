// Right: one kernel for the statistics, one over all elements for y, with scale and shift.

#include <onepass/batchnorm.h>

namespace onepass {

/// Where element j of channel c lies.
__device__ inline int64_t place(int j, int c, int channels, int space) {
  return (static_cast<int64_t>(j / space) * channels + c) * space + j % space;
}

template <typename T>
__global__ void statistics_kernel(const T* x, float* running_mean, float* running_var,
                                  float* save_mean, float* save_rstd, int batch, int channels,
                                  int space, float eps, float momentum) {
  const int c = blockIdx.x;
  const int count = batch * space;
  float mean = 0.0f;
  float var = 0.0f;
  for (int pass = 0; pass < 2; ++pass) {
    float share = 0.0f;
    for (int j = threadIdx.x; j < count; j += 32) {
      const float value = static_cast<float>(x[place(j, c, channels, space)]);
      share += pass == 0 ? value : (value - mean) * (value - mean);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
      share += __shfl_xor_sync(0xffffffffu, share, offset);
    }
    (pass == 0 ? mean : var) = share / count;
  }
  if (threadIdx.x == 0) {
    save_mean[c] = mean;
    save_rstd[c] = rsqrtf(var + eps);
    running_mean[c] = (1.0f - momentum) * running_mean[c] + momentum * mean;
    running_var[c] =
        (1.0f - momentum) * running_var[c] + momentum * (var * count / (count - 1.0f));
  }
}

template <typename T>
__global__ void normalize_kernel(const T* x, const T* weight, const T* bias, const float* mean,
                                 const float* rstd, T* y, int64_t elements, int channels,
                                 int space) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (i < elements) {
    const int64_t c = i / space % channels;
    const float scale = rstd[c] * static_cast<float>(weight[c]);
    const float shift = static_cast<float>(bias[c]) - mean[c] * scale;
    y[i] = static_cast<T>(static_cast<float>(x[i]) * scale + shift);
  }
}

template <typename T>
void batchnorm_forward(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                       float* running_var, float* save_mean, float* save_rstd, int batch,
                       int channels, int space, float eps, float momentum, cudaStream_t stream) {
  if (batch == 0 || channels == 0 || space == 0) {
    return;
  }
  const int64_t elements = static_cast<int64_t>(batch) * channels * space;
  statistics_kernel<<<channels, 32, 0, stream>>>(x, running_mean, running_var, save_mean, save_rstd,
                                                 batch, channels, space, eps, momentum);
  normalize_kernel<<<static_cast<unsigned>((elements + 255) / 256), 256, 0, stream>>>(
      x, weight, bias, save_mean, save_rstd, y, elements, channels, space);
}

}  // namespace onepass
