// Right: a plane is what a sample has of a channel. Each thread loads the plane's numbers once, and
// the blocks of x share it. There may be more planes than a grid has blocks in y.

#include <onepass/batchnorm.h>

namespace onepass {

template <typename T>
__global__ void plane_kernel(const T* __restrict__ x, const T* __restrict__ weight,
                             const T* __restrict__ bias, const float* __restrict__ running_mean,
                             const float* __restrict__ running_var, T* __restrict__ y, int planes,
                             int channels, int space, float eps) {
  for (int64_t plane = blockIdx.y * blockDim.y + threadIdx.y; plane < planes;
       plane += gridDim.y * blockDim.y) {
    const int c = static_cast<int>(plane % channels);
    const float mean = running_mean[c];
    const float rstd = rsqrtf(running_var[c] + eps);
    const float w = static_cast<float>(weight[c]);
    const float b = static_cast<float>(bias[c]);
    const int64_t begin = plane * space;
    for (int64_t s = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; s < space;
         s += static_cast<int64_t>(gridDim.x) * blockDim.x) {
      y[begin + s] = static_cast<T>((static_cast<float>(x[begin + s]) - mean) * rstd * w + b);
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
  const int planes = batch * channels;  // fits an int
  // Of small planes a block has many.
  const int wide = space >= 256 ? 256 : space >= 64 ? 64 : space >= 8 ? 8 : 1;
  const dim3 block(wide, 256 / wide);
  const int64_t wanted = (static_cast<int64_t>(space) + wide * 4 - 1) / (wide * 4);
  const int64_t lines = (static_cast<int64_t>(planes) + block.y - 1) / block.y;
  const dim3 grid(static_cast<unsigned>(wanted < 4096 ? wanted : 4096),
                  static_cast<unsigned>(lines < 65535 ? lines : 65535));
  plane_kernel<<<grid, block, 0, stream>>>(x, weight, bias, running_mean, running_var, y, planes,
                                           channels, space, eps);
}

}  // namespace onepass
