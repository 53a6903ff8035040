// Right: rows of whole packs go 16 bytes at a time, with one channel's numbers for all of a pack.
// Of a 2-D tensor (space = 1) a pack has neighbouring channels instead, and so their numbers come
// in packs, too.

#include <onepass/batchnorm.h>

namespace onepass {

constexpr int kThreads = 256;

template <typename T, int V>
struct alignas(sizeof(T) * V < 16 ? sizeof(T) * V : 16) Pack {
  T values[V];
};

template <typename T, int V, bool kAcross>
__global__ void __launch_bounds__(kThreads)
    evaluate_kernel(const T* __restrict__ x, const T* __restrict__ weight,
                    const T* __restrict__ bias, const float* __restrict__ running_mean,
                    const float* __restrict__ running_var, T* __restrict__ y, int64_t packs,
                    int channels, int space, float eps) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < packs;
       i += step) {
    auto pack = reinterpret_cast<const Pack<T, V>*>(x)[i];
    if constexpr (kAcross) {
      const int64_t c = i % (channels / V);
      const auto w = reinterpret_cast<const Pack<T, V>*>(weight)[c];
      const auto b = reinterpret_cast<const Pack<T, V>*>(bias)[c];
      const auto mean = reinterpret_cast<const Pack<float, V>*>(running_mean)[c];
      const auto var = reinterpret_cast<const Pack<float, V>*>(running_var)[c];
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const float normalized =
            (static_cast<float>(pack.values[j]) - mean.values[j]) * rsqrtf(var.values[j] + eps);
        pack.values[j] = static_cast<T>(normalized * static_cast<float>(w.values[j]) +
                                        static_cast<float>(b.values[j]));
      }
    } else {
      const int64_t c = i / (space / V) % channels;
      const float mean = running_mean[c];
      const float rstd = rsqrtf(running_var[c] + eps);
      const float w = static_cast<float>(weight[c]);
      const float b = static_cast<float>(bias[c]);
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const float normalized = (static_cast<float>(pack.values[j]) - mean) * rstd;
        pack.values[j] = static_cast<T>(normalized * w + b);
      }
    }
    reinterpret_cast<Pack<T, V>*>(y)[i] = pack;
  }
}

template <typename T>
void batchnorm_evaluate(const T* x, const T* weight, const T* bias, const float* running_mean,
                        const float* running_var, T* y, int batch, int channels, int space,
                        float eps, cudaStream_t stream) {
  const int64_t elements = static_cast<int64_t>(batch) * channels * space;
  if (elements == 0) {
    return;
  }
  constexpr int V = 16 / sizeof(T);
  const auto aligned = [](const void* tensor) {
    return reinterpret_cast<uintptr_t>(tensor) % 16 == 0;
  };
  const auto launch = [&](auto kernel, int each) {
    const int64_t packs = elements / each;
    const int64_t blocks = (packs + kThreads - 1) / kThreads;
    kernel<<<static_cast<unsigned>(blocks < 65536 ? blocks : 65536), kThreads, 0, stream>>>(
        x, weight, bias, running_mean, running_var, y, packs, channels, space, eps);
  };
  const bool both = aligned(x) && aligned(y);
  if (both && space % V == 0) {
    launch(evaluate_kernel<T, V, false>, V);
  } else if (both && space == 1 && channels % V == 0 && aligned(weight) && aligned(bias) &&
             aligned(running_mean) && aligned(running_var)) {
    launch(evaluate_kernel<T, V, true>, V);
  } else {
    launch(evaluate_kernel<T, 1, false>, 1);
  }
}

}  // namespace onepass
