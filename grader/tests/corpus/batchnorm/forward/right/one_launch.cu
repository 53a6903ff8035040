// Right: each channel shared by all blocks of one cooperative launch. save_mean and save_rstd serve
// as the sums: zeroed, added to by atomics, read again, each step behind a grid.sync().

#include <cooperative_groups.h>
#include <onepass/batchnorm.h>

namespace onepass {

constexpr int kThreads = 256;
constexpr int kBlocks = 64;

/// The sum over the warp of each lane's value.
__device__ float sum_of_warp(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  return value;
}

template <typename T>
__global__ void shared_channels_kernel(const T* x, const T* weight, const T* bias, T* y,
                                       float* running_mean, float* running_var, float* save_mean,
                                       float* save_rstd, int batch, int channels, int space,
                                       float eps, float momentum) {
  const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  const int threads = static_cast<int>(grid.num_threads());
  const int me = static_cast<int>(grid.thread_rank());
  const int64_t count = static_cast<int64_t>(batch) * space;
  const auto place = [&](int64_t i, int c) {  // of element i of channel c
    return (i / space * channels + c) * space + i % space;
  };

  for (int c = me; c < channels; c += threads) {
    save_mean[c] = 0.0f;
    save_rstd[c] = 0.0f;
  }
  grid.sync();  // all are zero
  for (int c = 0; c < channels; ++c) {
    float share = 0.0f;
    for (int64_t i = me; i < count; i += threads) {
      share += static_cast<float>(x[place(i, c)]) / count;
    }
    const float sum = sum_of_warp(share);
    if (threadIdx.x % 32 == 0 && me < count) {
      atomicAdd(&save_mean[c], sum);
    }
  }
  grid.sync();  // the means are there
  for (int c = 0; c < channels; ++c) {
    float share = 0.0f;
    for (int64_t i = me; i < count; i += threads) {
      const float deviation = static_cast<float>(x[place(i, c)]) - save_mean[c];
      share += deviation * deviation;
    }
    const float sum = sum_of_warp(share);
    if (threadIdx.x % 32 == 0 && me < count) {
      atomicAdd(&save_rstd[c], sum);
    }
  }
  grid.sync();  // the sums of squares are there
  for (int c = me; c < channels; c += threads) {
    const float squares = save_rstd[c];
    running_mean[c] = (1.0f - momentum) * running_mean[c] + momentum * save_mean[c];
    running_var[c] = (1.0f - momentum) * running_var[c] + momentum * squares / (count - 1);
    save_rstd[c] = 1.0f / sqrtf(squares / count + eps);
  }
  grid.sync();  // 1 / deviation is there
  for (int c = 0; c < channels; ++c) {
    for (int64_t i = me; i < count; i += threads) {
      const float x_hat = (static_cast<float>(x[place(i, c)]) - save_mean[c]) * save_rstd[c];
      y[place(i, c)] =
          static_cast<T>(x_hat * static_cast<float>(weight[c]) + static_cast<float>(bias[c]));
    }
  }
}

template <typename T>
void batchnorm_forward(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                       float* running_var, float* save_mean, float* save_rstd, int batch,
                       int channels, int space, float eps, float momentum, cudaStream_t stream) {
  if (batch == 0 || channels == 0 || space == 0) {
    return;
  }
  const int64_t filled = (static_cast<int64_t>(batch) * space + kThreads - 1) / kThreads;
  const int blocks = filled < kBlocks ? static_cast<int>(filled) : kBlocks;
  void* arguments[] = {&x,         &weight,    &bias,  &y,        &running_mean, &running_var,
                       &save_mean, &save_rstd, &batch, &channels, &space,        &eps,
                       &momentum};
  cudaLaunchCooperativeKernel((void*)shared_channels_kernel<T>, blocks, kThreads, arguments, 0,
                              stream);
}

}  // namespace onepass
