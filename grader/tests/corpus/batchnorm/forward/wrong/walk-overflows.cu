// diagnosis: index-overflow
// A channel of 2^31 - 1 elements: the number of the one after a thread's last is negative.

#include <onepass/batchnorm.h>

namespace onepass {

/// The sum over the lanes of a warp, in every lane.
__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// The sum over the block, in every thread; may be called again and again.
__device__ inline float block_sum(float value) {
  __shared__ float partial[32];
  const int lane = threadIdx.x % 32;
  value = warp_sum(value);
  __syncthreads();
  if (lane == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  return warp_sum(lane < blockDim.x / 32 ? partial[lane] : 0.0f);
}

template <typename T>
__global__ void __launch_bounds__(512)
    channel_kernel(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                   float* running_var, float* save_mean, float* save_rstd, int batch, int channels,
                   int space, float eps, float momentum) {
  const int c = blockIdx.x;
  const int count = batch * space;
  const auto place = [&](int j) {
    return (static_cast<int64_t>(j / space) * channels + c) * space + j % space;
  };
  float sum = 0.0f;
#pragma unroll 4
  for (int j = threadIdx.x; j < count; j += blockDim.x) sum += static_cast<float>(x[place(j)]);
  const float mean = block_sum(sum) / static_cast<float>(count);
  float squares = 0.0f;
#pragma unroll 4
  for (int j = threadIdx.x; j < count; j += blockDim.x) {
    const float d = static_cast<float>(x[place(j)]) - mean;
    squares += d * d;
  }
  squares = block_sum(squares);
  const float rstd = rsqrtf(squares / static_cast<float>(count) + eps);
  if (threadIdx.x == 0) {
    const float unbiased = squares / static_cast<float>(count - 1);
    save_mean[c] = mean;
    save_rstd[c] = rstd;
    running_mean[c] = (1.0f - momentum) * running_mean[c] + momentum * mean;
    running_var[c] = (1.0f - momentum) * running_var[c] + momentum * unbiased;
  }
  const float w = static_cast<float>(weight[c]), b = static_cast<float>(bias[c]);
#pragma unroll 4
  for (int j = threadIdx.x; j < count; j += blockDim.x) {
    const int64_t i = place(j);
    y[i] = static_cast<T>((static_cast<float>(x[i]) - mean) * rstd * w + b);
  }
}
template <typename T>
void batchnorm_forward(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                       float* running_var, float* save_mean, float* save_rstd, int batch,
                       int channels, int space, float eps, float momentum, cudaStream_t stream) {
  if (batch == 0 || channels == 0 || space == 0) return;
  const int count = batch * space;
  const int threads = count < 512 ? (count + 31) / 32 * 32 : 512;
  channel_kernel<<<channels, threads, 0, stream>>>(x, weight, bias, y, running_mean, running_var,
                                                   save_mean, save_rstd, batch, channels, space, eps,
                                                   momentum);
}

}  // namespace onepass
