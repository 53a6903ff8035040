// Right: 16 bytes a thread where space and the addresses allow it.

#include <onepass/batchnorm.h>

namespace onepass {

constexpr int kThreads = 256;  // threads a block

/// kCount neighbouring elements, which are moved in one access.
template <typename T, int kCount>
struct alignas(kCount * sizeof(T)) Run {
  T values[kCount];
};

/// Normalises the run of kCount elements at x into y. mean, variance: of the channel that all of
/// them belong to.
template <int kCount, typename T>
__device__ inline void normalize(const T* x, T* y, float mean, float variance, float eps,
                                 float weight, float bias) {
  auto run = *reinterpret_cast<const Run<T, kCount>*>(x);
  const float rstd = rsqrtf(variance + eps);
  for (int i = 0; i < kCount; ++i) {
    const float normalized = (static_cast<float>(run.values[i]) - mean) * rstd;
    run.values[i] = static_cast<T>(normalized * weight + bias);
  }
  *reinterpret_cast<Run<T, kCount>*>(y) = run;
}

/// One thread for a run of kCount elements, all of one channel.
template <int kCount, typename T>
__global__ void batchnorm_evaluate_kernel(const T* x, const T* weight, const T* bias,
                                          const float* running_mean, const float* running_var, T* y,
                                          int64_t elements, int channels, int space, float eps) {
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int64_t element = thread * kCount;  // the first of this thread's, counted through all of x
  if (element >= elements) {
    return;
  }
  const int64_t c = element / space % channels;
  normalize<kCount>(x + element, y + element, running_mean[c], running_var[c], eps,
                    static_cast<float>(weight[c]), static_cast<float>(bias[c]));
}

template <int kCount, typename T>
void launch(const T* x, const T* weight, const T* bias, const float* running_mean,
            const float* running_var, T* y, int64_t elements, int channels, int space, float eps,
            cudaStream_t stream) {
  const int64_t per_block = static_cast<int64_t>(kThreads) * kCount;
  const auto blocks = static_cast<unsigned>((elements + per_block - 1) / per_block);
  batchnorm_evaluate_kernel<kCount><<<blocks, kThreads, 0, stream>>>(
      x, weight, bias, running_mean, running_var, y, elements, channels, space, eps);
}

inline bool is_aligned(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % 16 == 0;
}

template <typename T>
void batchnorm_evaluate(const T* x, const T* weight, const T* bias, const float* running_mean,
                        const float* running_var, T* y, int batch, int channels, int space,
                        float eps, cudaStream_t stream) {
  const int64_t elements = static_cast<int64_t>(batch) * channels * space;
  if (elements == 0) {
    return;  // a grid of no blocks is a launch error
  }
  constexpr int kWide = 16 / sizeof(T);  // elements in 16 bytes
  if (space % kWide == 0 && is_aligned(x) && is_aligned(y)) {
    launch<kWide>(x, weight, bias, running_mean, running_var, y, elements, channels, space, eps,
                  stream);
  } else {
    launch<1>(x, weight, bias, running_mean, running_var, y, elements, channels, space, eps,
              stream);
  }
}

}  // namespace onepass
