// Right: each thread goes over its elements once (Welford), and lanes and warps are merged (Chan),
// with counts in integers.

#include <onepass/batchnorm.h>

namespace onepass {

constexpr int kThreads = 512;
constexpr int kWarps = kThreads / 32;

struct Welford {
  int count;
  float mean;
  float m2;
};

__device__ inline void add(Welford& w, float value) {
  ++w.count;
  const float d = value - w.mean;
  w.mean += d / w.count;
  w.m2 += d * (value - w.mean);
}

__device__ inline Welford merged(const Welford& a, const Welford& b) {
  const int count = a.count + b.count;
  if (count == 0) {
    return a;
  }
  const float d = b.mean - a.mean;
  Welford sum;
  sum.count = count;
  sum.mean = a.mean + d * b.count / count;
  sum.m2 = a.m2 + b.m2 + d * d * a.count * b.count / count;
  return sum;
}

__device__ inline Welford warp_merged(Welford w) {
  for (int offset = 16; offset > 0; offset /= 2) {
    Welford other;
    other.count = __shfl_xor_sync(0xffffffff, w.count, offset);
    other.mean = __shfl_xor_sync(0xffffffff, w.mean, offset);
    other.m2 = __shfl_xor_sync(0xffffffff, w.m2, offset);
    w = (threadIdx.x & offset) == 0 ? merged(w, other) : merged(other, w);  // all lanes alike
  }
  return w;
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    forward_kernel(const T* __restrict__ x, const T* __restrict__ weight,
                   const T* __restrict__ bias, T* __restrict__ y, float* running_mean,
                   float* running_var, float* save_mean, float* save_rstd, int batch, int channels,
                   int space, float eps, float momentum) {
  __shared__ Welford partial[kWarps];
  const int c = blockIdx.x;
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int64_t step = static_cast<int64_t>(channels) * space;  // to the next sample
  Welford mine = {0, 0.0f, 0.0f};
  for (int64_t n = warp; n < batch; n += kWarps) {
    const T* x_row = x + n * step + static_cast<int64_t>(c) * space;
    for (int64_t s = lane; s < space; s += 32) {
      add(mine, static_cast<float>(x_row[s]));
    }
  }
  mine = warp_merged(mine);
  if (lane == 0) {
    partial[warp] = mine;
  }
  __syncthreads();
  const Welford all = warp_merged(lane < kWarps ? partial[lane] : Welford{0, 0.0f, 0.0f});
  const float variance = all.m2 / all.count;
  const float rstd = rsqrtf(variance + eps);
  if (threadIdx.x == 0) {
    save_mean[c] = all.mean;
    save_rstd[c] = rstd;
    running_mean[c] = (1.0f - momentum) * running_mean[c] + momentum * all.mean;
    running_var[c] = (1.0f - momentum) * running_var[c] + momentum * (all.m2 / (all.count - 1));
  }
  const float scale = static_cast<float>(weight[c]);
  const float shift = static_cast<float>(bias[c]);
  for (int64_t n = warp; n < batch; n += kWarps) {
    const int64_t row = n * step + static_cast<int64_t>(c) * space;
#pragma unroll 4
    for (int64_t s = lane; s < space; s += 32) {
      const float normalized = (static_cast<float>(x[row + s]) - all.mean) * rstd;
      y[row + s] = static_cast<T>(normalized * scale + shift);
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
  forward_kernel<<<channels, kThreads, 0, stream>>>(x, weight, bias, y, running_mean, running_var,
                                                    save_mean, save_rstd, batch, channels, space,
                                                    eps, momentum);
}

}  // namespace onepass
