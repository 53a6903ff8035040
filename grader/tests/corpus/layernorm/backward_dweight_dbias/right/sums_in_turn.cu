// Right: dweight first, then dbias, each with a kernel that sums groups of rows and one that adds up
// the groups, in the same scratch. All but the first begin early. Who sums rows needs nothing of the
// kernel before, but stores where that one may still be reading: it waits before it stores.

#include <onepass/layernorm.h>

namespace onepass {

constexpr int kThreads = 128;

enum class Of { dweight, dbias };

template <Of of, typename T>
__global__ void sum_rows_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                                const float* mean, const float* rstd,
                                float* partial,  // [groups, cols]
                                int rows, int cols) {
  cudaTriggerProgrammaticLaunchCompletion();
  const int col = blockIdx.x * kThreads + threadIdx.x;
  float sum = 0.0f;
  for (int64_t row = blockIdx.y; row < rows && col < cols; row += gridDim.y) {
    const float dy_value = static_cast<float>(dy[row * dy_stride + col]);
    const float centred = static_cast<float>(x[row * x_stride + col]) - mean[row];
    sum += of == Of::dweight ? dy_value * centred * rstd[row] : dy_value;
  }
  cudaGridDependencySynchronize();  // scratch is free
  if (col < cols) {
    partial[static_cast<int64_t>(blockIdx.y) * cols + col] = sum;
  }
}

template <typename T>
__global__ void sum_groups_kernel(const float* partial, T* sums, int groups, int cols) {
  cudaTriggerProgrammaticLaunchCompletion();
  const int col = blockIdx.x * kThreads + threadIdx.x;
  if (col < cols) {
    cudaGridDependencySynchronize();  // scratch is full
    float sum = 0.0f;
    for (int group = 0; group < groups; ++group) {
      sum += partial[static_cast<int64_t>(group) * cols + col];
    }
    sums[col] = static_cast<T>(sum);
  }
}

template <typename T>
Summation layernorm_backward_dweight_dbias(const T* dy, int64_t dy_stride, const T* x,
                                           int64_t x_stride, const float* mean, const float* rstd,
                                           T* dweight, T* dbias, float* scratch, int rows, int cols,
                                           cudaStream_t stream) {
  const int groups = layernorm_groups(rows) < 64 ? layernorm_groups(rows) : 64;
  const unsigned blocks = (cols + kThreads - 1) / kThreads;
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t rows_config = {};
  rows_config.gridDim = dim3(blocks, groups);
  rows_config.blockDim = kThreads;
  rows_config.stream = stream;
  rows_config.attrs = &early;
  cudaLaunchConfig_t groups_config = rows_config;
  groups_config.gridDim = blocks;
  groups_config.numAttrs = 1;
  const float* partial = scratch;
  if (groups > 0) {  // what is before it in the stream is the caller's: it does not begin early
    cudaLaunchKernelEx(&rows_config, sum_rows_kernel<Of::dweight, T>, dy, dy_stride, x, x_stride,
                       mean, rstd, scratch, rows, cols);
  }
  cudaLaunchKernelEx(&groups_config, sum_groups_kernel<T>, partial, dweight, groups, cols);
  rows_config.numAttrs = 1;
  if (groups > 0) {
    cudaLaunchKernelEx(&rows_config, sum_rows_kernel<Of::dbias, T>, dy, dy_stride, x, x_stride,
                       mean, rstd, scratch, rows, cols);
  }
  cudaLaunchKernelEx(&groups_config, sum_groups_kernel<T>, partial, dbias, groups, cols);
  return Summation::fixed_order;
}

}  // namespace onepass
