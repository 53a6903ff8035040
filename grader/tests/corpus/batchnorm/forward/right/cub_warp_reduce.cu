// Right: a warp a channel; cub::WarpReduce, and a shuffle from lane 0.

#include <onepass/batchnorm.h>

#include <cub/warp/warp_reduce.cuh>

namespace onepass {

constexpr int kWarps = 4;

/// Where element j of channel c lies.
__device__ inline int64_t place(int j, int c, int channels, int space) {
  return (static_cast<int64_t>(j / space) * channels + c) * space + j % space;
}

template <typename T>
__global__ void forward_kernel(const T* x, const T* weight, const T* bias, T* y,
                               float* running_mean, float* running_var, float* save_mean,
                               float* save_rstd, int batch, int channels, int space, float eps,
                               float momentum) {
  using WarpReduce = cub::WarpReduce<float>;
  __shared__ typename WarpReduce::TempStorage temp[kWarps];
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int c = blockIdx.x * kWarps + warp;
  if (c >= channels) {
    return;
  }
  const int count = batch * space;
  float sum = 0.0f;
  for (int j = lane; j < count; j += 32) {
    sum += static_cast<float>(x[place(j, c, channels, space)]);
  }
  sum = WarpReduce(temp[warp]).Sum(sum);
  const float mean = __shfl_sync(0xffffffff, sum, 0) / count;
  float squares = 0.0f;
  for (int j = lane; j < count; j += 32) {
    const float distance = static_cast<float>(x[place(j, c, channels, space)]) - mean;
    squares += distance * distance;
  }
  squares = WarpReduce(temp[warp]).Sum(squares);
  const float var = __shfl_sync(0xffffffff, squares, 0) / count;
  const float rstd = rsqrtf(var + eps);
  if (lane == 0) {
    save_mean[c] = mean;
    save_rstd[c] = rstd;
    running_mean[c] = (1.0f - momentum) * running_mean[c] + momentum * mean;
    running_var[c] =
        (1.0f - momentum) * running_var[c] + momentum * (var * count / (count - 1.0f));
  }
  for (int j = lane; j < count; j += 32) {
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
  const int blocks = (channels - 1) / kWarps + 1;
  forward_kernel<<<blocks, kWarps * 32, 0, stream>>>(x, weight, bias, y, running_mean, running_var,
                                                     save_mean, save_rstd, batch, channels, space,
                                                     eps, momentum);
}

}  // namespace onepass
