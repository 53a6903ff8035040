// Right: one kernel for the statistics, a warp a row, and one for y that begins early. Of a narrow
// row it loads x meanwhile, into registers; either way it waits before it reads the statistics.

#include <onepass/layernorm.h>

namespace onepass {

constexpr int kThreads = 256;
constexpr int kHeld = 4;  // columns of a thread that fit into its registers

template <typename T>
__global__ void statistics_kernel(const T* x, int64_t x_stride, float* mean, float* rstd, int cols,
                                  float eps) {
  cudaTriggerProgrammaticLaunchCompletion();  // the other one waits for the end, not for this
  const int64_t row = blockIdx.x;
  float row_mean = 0.0f;
  float variance = 0.0f;
  for (int pass = 0; pass < 2; ++pass) {
    float share = 0.0f;
    for (int col = threadIdx.x; col < cols; col += 32) {
      const float value = static_cast<float>(x[row * x_stride + col]);
      share += pass == 0 ? value : (value - row_mean) * (value - row_mean);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
      share += __shfl_xor_sync(0xffffffffu, share, offset);
    }
    (pass == 0 ? row_mean : variance) = share / cols;
  }
  if (threadIdx.x == 0) {
    mean[row] = row_mean;
    rstd[row] = rsqrtf(variance + eps);
  }
}

template <typename T>
__global__ void normalize_kernel(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                                 int64_t y_stride, const float* mean, const float* rstd, int cols) {
  const int64_t row = blockIdx.x;
  const T* x_row = x + row * x_stride;
  const auto store = [&](int col, float x_hat) {
    const float times = weight != nullptr ? static_cast<float>(weight[col]) : 1.0f;
    const float plus = bias != nullptr ? static_cast<float>(bias[col]) : 0.0f;
    y[row * y_stride + col] = static_cast<T>(x_hat * times + plus);
  };
  if (cols <= kHeld * kThreads) {
    float held[kHeld] = {};
    for (int i = 0; i < kHeld; ++i) {
      const int col = i * kThreads + threadIdx.x;
      held[i] = col < cols ? static_cast<float>(x_row[col]) : 0.0f;
    }
    cudaGridDependencySynchronize();  // narrow
    for (int i = 0; i < kHeld; ++i) {
      const int col = i * kThreads + threadIdx.x;
      if (col < cols) {
        store(col, (held[i] - mean[row]) * rstd[row]);
      }
    }
  } else {
    cudaGridDependencySynchronize();  // wide
    for (int col = threadIdx.x; col < cols; col += kThreads) {
      store(col, (static_cast<float>(x_row[col]) - mean[row]) * rstd[row]);
    }
  }
}

template <typename T>
void layernorm_forward(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                       int64_t y_stride, float* mean, float* rstd, int rows, int cols, float eps,
                       cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  statistics_kernel<<<rows, 32, 0, stream>>>(x, x_stride, mean, rstd, cols, eps);
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = rows;
  config.blockDim = kThreads;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, normalize_kernel<T>, x, x_stride, weight, bias, y, y_stride,
                     static_cast<const float*>(mean), static_cast<const float*>(rstd), cols);
}

}  // namespace onepass
