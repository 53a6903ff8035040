// Right: Kahan's sums in 64 threads a channel, meeting in a tree; fast division; y in one fused
// multiply-add, with mean, rstd, weight and bias folded into a scale and a shift.

#include <onepass/batchnorm.h>

namespace onepass {

constexpr int kThreads = 64;

struct Kahan {
  float sum = 0.0f;
  float lost = 0.0f;
  __device__ void add(float value) {
    const float corrected = value - lost;
    const float next = sum + corrected;
    lost = (next - sum) - corrected;
    sum = next;
  }
};

__device__ inline float tree_sum(float value) {
  __shared__ float shares[kThreads];
  __syncthreads();  // the last sum has been read
  shares[threadIdx.x] = value;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      shares[threadIdx.x] += shares[threadIdx.x + half];
    }
  }
  __syncthreads();
  return shares[0];
}

template <typename T>
__global__ void forward_kernel(const T* x, const T* weight, const T* bias, T* y,
                               float* running_mean, float* running_var, float* save_mean,
                               float* save_rstd, int batch, int channels, int space, float eps,
                               float momentum) {
  const int c = blockIdx.x;
  const int count = batch * space;
  const auto place = [&](int j) {
    return (static_cast<int64_t>(j / space) * channels + c) * space + j % space;
  };
  Kahan sum;
  for (int j = threadIdx.x; j < count; j += kThreads) {
    sum.add(static_cast<float>(x[place(j)]));
  }
  const float mean = __fdividef(tree_sum(sum.sum), static_cast<float>(count));
  Kahan squares;
  for (int j = threadIdx.x; j < count; j += kThreads) {
    const float distance = static_cast<float>(x[place(j)]) - mean;
    squares.add(distance * distance);
  }
  const float all = tree_sum(squares.sum);
  const float rstd = __fdividef(1.0f, sqrtf(__fdividef(all, static_cast<float>(count)) + eps));
  if (threadIdx.x == 0) {
    save_mean[c] = mean;
    save_rstd[c] = rstd;
    running_mean[c] = fmaf(1.0f - momentum, running_mean[c], momentum * mean);
    running_var[c] = fmaf(1.0f - momentum, running_var[c], momentum * all / (count - 1));
  }
  const float scale = rstd * static_cast<float>(weight[c]);
  const float shift = fmaf(-mean, scale, static_cast<float>(bias[c]));
  for (int j = threadIdx.x; j < count; j += kThreads) {
    y[place(j)] = static_cast<T>(fmaf(static_cast<float>(x[place(j)]), scale, shift));
  }
}

template <typename T>
void batchnorm_forward(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                       float* running_var, float* save_mean, float* save_rstd, int batch,
                       int channels, int space, float eps, float momentum, cudaStream_t stream) {
  if (batch == 0 || channels == 0 || space == 0) {
    return;
  }
  forward_kernel<<<channels, kThreads, 0, stream>>>(x, weight, bias, y, running_mean, running_var,
                                                    save_mean, save_rstd, batch, channels, space,
                                                    eps, momentum);
}

}  // namespace onepass
