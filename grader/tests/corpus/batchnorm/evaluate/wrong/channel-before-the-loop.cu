// diagnosis: first-turn-only
// The channel is worked out once, before the grid-stride loop, as if the stride were a multiple
// of channels * space: elements after the grid's first round get another channel's statistics.
#include <onepass/batchnorm.h>

namespace onepass {

template <typename T>
__global__ void evaluate_kernel(const T* x, const T* weight, const T* bias, const float* running_mean,
                                const float* running_var, T* y, int64_t elements, int channels, int space, float eps) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (first >= elements) return;
  const int c = static_cast<int>(first / space % channels);
  const float mu = running_mean[c];
  const float scale = rsqrtf(running_var[c] + eps) * static_cast<float>(weight[c]);
  const float shift = static_cast<float>(bias[c]);
  for (int64_t e = first; e < elements; e += static_cast<int64_t>(gridDim.x) * blockDim.x)
    y[e] = static_cast<T>((static_cast<float>(x[e]) - mu) * scale + shift);
}

template <typename T>
void batchnorm_evaluate(const T* x, const T* weight, const T* bias, const float* running_mean,
                        const float* running_var, T* y, int batch, int channels, int space,
                        float eps, cudaStream_t stream) {
  const int64_t elements = static_cast<int64_t>(batch) * channels * space;
  if (elements == 0) return;
  int64_t blocks = (elements + 255) / 256;
  if (blocks > 1056) blocks = 1056;  // 8 a multiprocessor
  evaluate_kernel<T><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(x, weight, bias, running_mean, running_var, y,
                                                                     elements, channels, space, eps);
}

}  // namespace onepass
