// A warp a plane, in a loop of as many blocks as there may be planes only up to 2^22 of them: of a
// sample of the blocks none need have the last plane.
#include <onepass/batchnorm.h>

namespace onepass {

/// A warp a plane, which is the stretch of a channel in a sample.
template <typename T>
__global__ void evaluate_planes(const T* x, const T* weight, const T* bias,
                                const float* running_mean, const float* running_var, T* y,
                                int64_t planes, int channels, int space, float eps) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.y;
  for (int64_t p = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y; p < planes;
       p += step) {
    const int c = static_cast<int>(p % channels);
    const float m = running_mean[c];
    const float r = 1.0f / sqrtf(running_var[c] + eps);
    const float w = static_cast<float>(weight[c]);
    const float b = static_cast<float>(bias[c]);
    const T* in = x + p * space;
    T* out = y + p * space;
    for (int64_t s = threadIdx.x; s < space; s += 32) {
      out[s] = static_cast<T>((static_cast<float>(in[s]) - m) * r * w + b);
    }
  }
}

template <typename T>
void batchnorm_evaluate(const T* x, const T* weight, const T* bias, const float* running_mean,
                        const float* running_var, T* y, int batch, int channels, int space,
                        float eps, cudaStream_t stream) {
  const int64_t planes = static_cast<int64_t>(batch) * channels;
  if (planes == 0 || space == 0) {
    return;
  }
  const int64_t wanted = (planes + 7) / 8;
  const unsigned blocks = wanted < (1 << 22) ? static_cast<unsigned>(wanted) : 1u << 22;
  evaluate_planes<<<blocks, dim3(32, 8), 0, stream>>>(x, weight, bias, running_mean, running_var, y,
                                                      planes, channels, space, eps);
}

}  // namespace onepass
