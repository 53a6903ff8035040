// diagnosis: none
// The counts of two halves are multiplied as ints. Where the halves have one mean nothing hangs on it.
// Batch normalisation in training by Welford's method. Each warp has a stretch of the channel, which
// it reads in order; its lanes are merged two by two, and then the warps, by the formula of Chan,
// Golub and LeVeque.

#include <onepass/batchnorm.h>

namespace onepass {

namespace {

constexpr int kWarps = 32;

/// Of n elements: their mean, and the sum of their squared distances from it.
struct Welford {
  int n;
  float mean, m2;

  __device__ void add(float value) {
    ++n;
    const float distance = value - mean;
    mean += distance / n;
    m2 += distance * (value - mean);
  }

  __device__ void add(const Welford& other) {
    const int both = n + other.n;
    if (both == 0) {
      return;
    }
    const float distance = other.mean - mean;
    const float shares = static_cast<float>(n * other.n) / both;
    mean += distance * (static_cast<float>(other.n) / both);
    m2 += other.m2 + distance * distance * shares;
    n = both;
  }

  __device__ Welford of_lane(int mask) const {
    Welford other = {0, 0.0f, 0.0f};
    other.n = __shfl_xor_sync(0xffffffffu, n, mask);
    other.mean = __shfl_xor_sync(0xffffffffu, mean, mask);
    other.m2 = __shfl_xor_sync(0xffffffffu, m2, mask);
    return other;
  }

  __device__ void add_lanes() {
    for (int mask = 1; mask < 32; mask *= 2) {
      add(of_lane(mask));
    }
  }
};

template <typename T>
__global__ void __launch_bounds__(32 * kWarps)
    welford_kernel(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                   float* running_var, float* save_mean, float* save_rstd, unsigned count,
                   int channels, int space, float eps, float momentum) {
  __shared__ int counts[kWarps];
  __shared__ float means[kWarps];
  __shared__ float m2s[kWarps];
  __shared__ float results[2];
  const int c = blockIdx.x;
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const unsigned length = ((count + kWarps - 1) / kWarps + 31) / 32 * 32;  // of a stretch
  const unsigned begin = min(warp * length, count);
  const unsigned end = min(begin + length, count);
  const auto place = [&](unsigned j) {
    const unsigned sample = j / space;
    return (static_cast<int64_t>(sample) * channels + c) * space + (j - sample * space);
  };

  Welford mine = {0, 0.0f, 0.0f};
  for (unsigned j = begin + lane; j < end; j += 32) {
    mine.add(static_cast<float>(x[place(j)]));
  }
  mine.add_lanes();
  if (lane == 0) {
    counts[warp] = mine.n;
    means[warp] = mine.mean;
    m2s[warp] = mine.m2;
  }
  __syncthreads();
  if (warp == 0) {
    Welford all = {counts[lane], means[lane], m2s[lane]};
    all.add_lanes();
    if (lane == 0) {
      const float rstd = rsqrtf(all.m2 / count + eps);
      results[0] = all.mean;
      results[1] = rstd;
      save_mean[c] = all.mean;
      save_rstd[c] = rstd;
      running_mean[c] = (1.0f - momentum) * running_mean[c] + momentum * all.mean;
      running_var[c] = (1.0f - momentum) * running_var[c] + momentum * (all.m2 / (count - 1));
    }
  }
  __syncthreads();
  const float mean = results[0];
  const float scale = results[1] * static_cast<float>(weight[c]);
  const float shift = static_cast<float>(bias[c]);
  for (unsigned j = begin + lane; j < end; j += 32) {
    const int64_t at = place(j);
    y[at] = static_cast<T>((static_cast<float>(x[at]) - mean) * scale + shift);
  }
}

}  // namespace

template <typename T>
void batchnorm_forward(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                       float* running_var, float* save_mean, float* save_rstd, int batch,
                       int channels, int space, float eps, float momentum, cudaStream_t stream) {
  if (batch == 0 || channels == 0 || space == 0) {
    return;
  }
  welford_kernel<T><<<channels, 32 * kWarps, 0, stream>>>(
      x, weight, bias, y, running_mean, running_var, save_mean, save_rstd,
      static_cast<unsigned>(batch) * space, channels, space, eps, momentum);
}

}  // namespace onepass
