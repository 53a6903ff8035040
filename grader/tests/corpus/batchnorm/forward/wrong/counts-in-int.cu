// diagnosis: none
// says: From 46341 on
// The product of two counts is an int.
#include <algorithm>

#include <onepass/batchnorm.h>

namespace onepass {

constexpr int kWarps = 16;
constexpr int kLanes = 32;

/// Of some elements: how many, their mean, and the sum of the squared distances from it.
struct Group {
  int n = 0;
  float mean = 0.0f;
  float m2 = 0.0f;

  __device__ void add(float value) {  // Welford
    ++n;
    const float d = value - mean;
    mean += d / static_cast<float>(n);
    m2 += d * (value - mean);
  }

  __device__ void merge(const Group& other) {  // Chan, Golub and LeVeque
    if (other.n == 0) {
      return;
    }
    const int both = n + other.n;
    const float d = other.mean - mean;
    const float weight = static_cast<float>(n * other.n) / static_cast<float>(both);
    mean += d * (static_cast<float>(other.n) / static_cast<float>(both));
    m2 += other.m2 + d * d * weight;
    n = both;
  }

  __device__ Group from(int lane_mask) const {
    Group other;
    other.n = __shfl_xor_sync(0xffffffffu, n, lane_mask);
    other.mean = __shfl_xor_sync(0xffffffffu, mean, lane_mask);
    other.m2 = __shfl_xor_sync(0xffffffffu, m2, lane_mask);
    return other;
  }
};

/// One block a channel. Each warp has a stretch of it: neighbours, so that lanes read neighbours.
template <typename T>
__global__ void __launch_bounds__(kWarps* kLanes)
    channel_kernel(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                   float* running_var, float* save_mean, float* save_rstd, int channels, int space,
                   unsigned count, float eps, float momentum) {
  __shared__ float means[kWarps], m2s[kWarps];
  __shared__ int counts[kWarps];
  const int c = blockIdx.x;
  const int warp = threadIdx.x / kLanes;
  const int lane = threadIdx.x % kLanes;
  const unsigned stretch = (count + kWarps - 1) / kWarps;
  const unsigned begin = min(warp * stretch, count);
  const unsigned end = min(begin + stretch, count);
  const auto place = [&](unsigned j) {
    return (static_cast<int64_t>(j / space) * channels + c) * space + j % space;
  };

  Group mine;
  for (unsigned j = begin + lane; j < end; j += kLanes) {
    mine.add(static_cast<float>(x[place(j)]));
  }
  for (int offset = kLanes / 2; offset > 0; offset /= 2) {
    mine.merge(mine.from(offset));
  }
  if (lane == 0) {
    counts[warp] = mine.n;
    means[warp] = mine.mean;
    m2s[warp] = mine.m2;
  }
  __syncthreads();
  Group channel;  // in every warp: lane l begins with warp l % 16's, two lanes have each
  channel.n = counts[lane % kWarps];
  channel.mean = means[lane % kWarps];
  channel.m2 = m2s[lane % kWarps];
  for (int offset = 1; offset < kWarps; offset *= 2) {
    channel.merge(channel.from(offset));
  }
  // Lanes have merged in orders of their own: all go on with lane 0's bits.
  const float mean = __shfl_sync(0xffffffffu, channel.mean, 0);
  const float m2 = __shfl_sync(0xffffffffu, channel.m2, 0);

  const float rstd = rsqrtf(m2 / static_cast<float>(count) + eps);
  if (threadIdx.x == 0) {
    save_mean[c] = mean;
    save_rstd[c] = rstd;
    const float unbiased = m2 / static_cast<float>(count - 1);
    running_mean[c] = (1.0f - momentum) * running_mean[c] + momentum * mean;
    running_var[c] = (1.0f - momentum) * running_var[c] + momentum * unbiased;
  }
  const float scale = static_cast<float>(weight[c]);
  const float shift = static_cast<float>(bias[c]);
  for (unsigned j = begin + lane; j < end; j += kLanes) {
    const int64_t i = place(j);
    y[i] = static_cast<T>((static_cast<float>(x[i]) - mean) * rstd * scale + shift);
  }
}

template <typename T>
void batchnorm_forward(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                       float* running_var, float* save_mean, float* save_rstd, int batch,
                       int channels, int space, float eps, float momentum, cudaStream_t stream) {
  if (batch == 0 || channels == 0 || space == 0) {
    return;
  }
  const unsigned count = static_cast<unsigned>(batch) * static_cast<unsigned>(space);
  channel_kernel<<<channels, kWarps * kLanes, 0, stream>>>(
      x, weight, bias, y, running_mean, running_var, save_mean, save_rstd, channels, space, count,
      eps, momentum);
}

}  // namespace onepass
