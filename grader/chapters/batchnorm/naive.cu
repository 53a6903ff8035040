// The naive baseline of chapter 4: the same contract, run the way a framework without fusion runs
// it (chapters/common/naive.h). The arithmetic is right; the traffic is the lesson.
//
// Bytes moved per element of x, size bytes each:
//   forward    mean size, centre size + 4, square 8, mean 4, times rstd 8, times weight 8,
//              plus bias 4 + size: 3 size + 36
//   evaluate   centre size + 4, times rstd 8, times weight 8, plus bias 4 + size: 2 size + 24

#include <onepass/batchnorm.h>

#include "chapters/common/naive.h"

namespace onepass {
namespace naive {

/// A number a channel, where the rows are the planes of [batch, channels].
struct OneEachChannel {
  int channels;

  __device__ int64_t operator()(int64_t plane, int) const { return plane % channels; }
};

template <typename T>
View<T, OneEachChannel> one_each_channel(T* data, int channels) {
  return {data, {channels}};
}

/// Channels as rows, all samples of each behind one another.
struct Channels {
  int channels, space;

  __device__ int64_t operator()(int64_t channel, int j) const {
    const int64_t sample = j / space;
    return (sample * channels + channel) * space + j % space;
  }
};

/// running[c] = (1 - momentum) * running[c] + momentum * batch[c] * factor.
struct Blend {
  float factor, momentum;

  __device__ float operator()(float running, float batch) const {
    return (1.0f - momentum) * running + momentum * (batch * factor);
  }
};

/// y = (x - mean) * rstd * weight + bias, a pass each; the first one is the caller's.
template <typename T>
void scale(const Operators& run, View<float, Steps> centred, const float* rstd, const T* weight,
           const T* bias, T* y, int channels) {
  run.multiply(centred, one_each_channel(rstd, channels), centred);
  run.multiply(centred, one_each_channel(weight, channels), centred);
  run.add(centred, one_each_channel(bias, channels), tensor(y, run.cols));
}

}  // namespace naive

template <typename T>
void batchnorm_forward(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                       float* running_var, float* save_mean, float* save_rstd, int batch,
                       int channels, int space, float eps, float momentum, cudaStream_t stream) {
  using namespace naive;
  const Operators run = {static_cast<int64_t>(batch) * channels, space, stream};
  const Operators on_channels = {channels, batch * space, stream};
  float* memory = run.memory(2, channels);
  if (memory == nullptr) {
    return;
  }
  const auto x_planes = tensor(x, space);
  const auto centred = tensor(memory, space);
  const auto squares = tensor(memory + run.size(), space);
  float* variances = memory + 2 * run.size();
  const Channels in_channels = {channels, space};
  on_channels.mean(View<const T, Channels>{x, in_channels}, save_mean);
  run.subtract(x_planes, one_each_channel(save_mean, channels), centred);
  run.map(Square(), centred, squares);
  on_channels.mean(View<float, Channels>{squares.data, in_channels}, variances);
  rsqrt(variances, eps, save_rstd, channels, stream);

  const float count = static_cast<float>(batch) * static_cast<float>(space);
  const Operators on_statistics = {1, channels, stream};
  const auto update = [&](float* running, float* of_batch, float factor) {
    on_statistics.combine(Blend{factor, momentum}, one_each_col(running), one_each_col(of_batch),
                          one_each_col(running));
  };
  update(running_mean, save_mean, 1.0f);
  update(running_var, variances, count / (count - 1.0f));
  scale(run, centred, save_rstd, weight, bias, y, channels);
}

template <typename T>
void batchnorm_forward_fast(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                            float* running_var, float* save_mean, float* save_rstd, float*,
                            int batch, int channels, int space, float eps, float momentum,
                            cudaStream_t stream) {
  batchnorm_forward(x, weight, bias, y, running_mean, running_var, save_mean, save_rstd, batch,
                    channels, space, eps, momentum, stream);
}

template <typename T>
void batchnorm_evaluate(const T* x, const T* weight, const T* bias, const float* running_mean,
                        const float* running_var, T* y, int batch, int channels, int space,
                        float eps, cudaStream_t stream) {
  using namespace naive;
  const Operators run = {static_cast<int64_t>(batch) * channels, space, stream};
  float* memory = run.memory(1, channels);
  if (memory == nullptr) {
    return;
  }
  const auto centred = tensor(memory, space);
  float* rstd = memory + run.size();
  rsqrt(running_var, eps, rstd, channels, stream);
  run.subtract(tensor(x, space), one_each_channel(running_mean, channels), centred);
  scale(run, centred, rstd, weight, bias, y, channels);
}

}  // namespace onepass
