// diagnosis: no-tail-mask
// status: device error
// A thread goes on by additions; the carry from position to channel comes after the channel was wrapped.

#include <onepass/batchnorm.h>

namespace onepass {

constexpr int kThreads = 256;

// Position and channel of an element. To go `step` elements on takes additions only.
struct Cursor {
  int channels, space;
  int channel, position;
  int channel_step, position_step;

  __device__ Cursor(int64_t element, int64_t step, int channels_, int space_)
      : channels(channels_),
        space(space_),
        channel(static_cast<int>(element / space_ % channels_)),
        position(static_cast<int>(element % space_)),
        channel_step(static_cast<int>(step / space_ % channels_)),
        position_step(static_cast<int>(step % space_)) {}

  __device__ void advance() {
    if (channel >= channels - channel_step) {
      channel -= channels - channel_step;
    } else {
      channel += channel_step;
    }
    if (position >= space - position_step) {
      position -= space - position_step;
      ++channel;
    } else {
      position += position_step;
    }
  }
};

template <typename T>
__global__ void __launch_bounds__(kThreads)
    evaluate_kernel(const T* x, const T* weight, const T* bias, const float* running_mean,
                    const float* running_var, T* y, int64_t elements, int channels, int space,
                    float eps) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  Cursor cursor(i, step, channels, space);
  for (; i < elements; i += step, cursor.advance()) {
    const int c = cursor.channel;
    const float rstd = 1.0f / sqrtf(running_var[c] + eps);
    const float x_hat = (static_cast<float>(x[i]) - running_mean[c]) * rstd;
    y[i] = static_cast<T>(x_hat * static_cast<float>(weight[c]) + static_cast<float>(bias[c]));
  }
}

template <typename T>
void batchnorm_evaluate(const T* x, const T* weight, const T* bias, const float* running_mean,
                        const float* running_var, T* y, int batch, int channels, int space,
                        float eps, cudaStream_t stream) {
  const int64_t elements = static_cast<int64_t>(batch) * channels * space;
  if (elements == 0) return;
  int device = 0, processors = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  const int64_t wanted = (elements + kThreads - 1) / kThreads;
  const int64_t most = 4 * static_cast<int64_t>(processors);
  evaluate_kernel<<<static_cast<unsigned>(wanted < most ? wanted : most), kThreads, 0, stream>>>(
      x, weight, bias, running_mean, running_var, y, elements, channels, space, eps);
}

}  // namespace onepass
