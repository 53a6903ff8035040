// diagnosis: grid-limit
// status: launch error
// The chunks of a plane lie in y, where a grid ends at 65,535.

#include <onepass/batchnorm.h>
// A block has a chunk of one plane (a sample's channel): no division an element, and the channel's
// numbers are loaded once a thread.
namespace onepass {

constexpr int kThreads = 256;
constexpr int kEach = 4;

template <typename T>
__global__ void batchnorm_evaluate_kernel(const T* x, const T* weight, const T* bias,
                                          const float* running_mean, const float* running_var, T* y,
                                          int channels, int space, float eps) {
  const int c = blockIdx.x % channels;
  const float mean = running_mean[c];
  const float rstd = rsqrtf(running_var[c] + eps);
  const float scale = static_cast<float>(weight[c]);
  const float shift = static_cast<float>(bias[c]);
  const int64_t plane = static_cast<int64_t>(blockIdx.x) * space;
  const int64_t first = static_cast<int64_t>(blockIdx.y) * (kThreads * kEach) + threadIdx.x;
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const int64_t s = first + k * kThreads;
    if (s < space) {
      y[plane + s] = static_cast<T>((static_cast<float>(x[plane + s]) - mean) * rstd * scale + shift);
    }
  }
}

template <typename T>
void batchnorm_evaluate(const T* x, const T* weight, const T* bias, const float* running_mean,
                        const float* running_var, T* y, int batch, int channels, int space,
                        float eps, cudaStream_t stream) {
  if (batch == 0 || channels == 0 || space == 0) {
    return;
  }
  // batch * channels fits an int, and so a grid's x.
  const dim3 grid(batch * channels, (space - 1) / (kThreads * kEach) + 1);
  batchnorm_evaluate_kernel<<<grid, kThreads, 0, stream>>>(x, weight, bias, running_mean,
                                                           running_var, y, channels, space, eps);
}

}  // namespace onepass
