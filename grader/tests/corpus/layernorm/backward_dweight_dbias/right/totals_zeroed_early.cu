// Right: fp32 totals in scratch. A kernel sets them to 0, one adds to them by atomics, and one rounds
// them. The second begins early, and sums its rows before it waits: totals that are set to 0 behind
// an atomicAdd() would lose it.

#include <onepass/layernorm.h>

namespace onepass {

constexpr int kThreads = 128;
constexpr int kRows = 16;  // of a block

__global__ void zero_kernel(float* totals, int count) {
  cudaTriggerProgrammaticLaunchCompletion();
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < count) {
    totals[i] = 0.0f;
  }
}

template <typename T>
__global__ void add_rows_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                                const float* mean, const float* rstd, float* totals, int rows,
                                int cols) {
  const int col = blockIdx.y * kThreads + threadIdx.x;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kRows;
  float sum_dweight = 0.0f;
  float sum_dbias = 0.0f;
  for (int64_t row = first; row < first + kRows && row < rows && col < cols; ++row) {
    const float dy_value = static_cast<float>(dy[row * dy_stride + col]);
    sum_dweight += dy_value * (static_cast<float>(x[row * x_stride + col]) - mean[row]) * rstd[row];
    sum_dbias += dy_value;
  }
  cudaGridDependencySynchronize();  // the totals are 0
  if (col < cols) {
    atomicAdd(&totals[col], sum_dweight);
    atomicAdd(&totals[cols + col], sum_dbias);
  }
}

template <typename T>
__global__ void convert_kernel(const float* totals, T* dweight, T* dbias, int cols) {
  const int col = blockIdx.x * kThreads + threadIdx.x;
  cudaGridDependencySynchronize();  // the totals are whole
  if (col < cols) {
    dweight[col] = static_cast<T>(totals[col]);
    dbias[col] = static_cast<T>(totals[cols + col]);
  }
}

template <typename T>
Summation layernorm_backward_dweight_dbias(const T* dy, int64_t dy_stride, const T* x,
                                           int64_t x_stride, const float* mean, const float* rstd,
                                           T* dweight, T* dbias, float* scratch, int rows, int cols,
                                           cudaStream_t stream) {
  if (rows == 0) {
    cudaMemsetAsync(dweight, 0, cols * sizeof(T), stream);
    cudaMemsetAsync(dbias, 0, cols * sizeof(T), stream);
    return Summation::any_order;
  }
  const unsigned blocks = (cols + kThreads - 1) / kThreads;
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t add = {};
  add.gridDim = dim3((rows - 1) / kRows + 1, blocks);
  add.blockDim = kThreads;
  add.stream = stream;
  add.attrs = &early;
  add.numAttrs = 1;
  cudaLaunchConfig_t convert = add;
  convert.gridDim = blocks;
  zero_kernel<<<2 * blocks, kThreads, 0, stream>>>(scratch, 2 * cols);
  cudaLaunchKernelEx(&add, add_rows_kernel<T>, dy, dy_stride, x, x_stride, mean, rstd, scratch,
                     rows, cols);
  cudaLaunchKernelEx(&convert, convert_kernel<T>, static_cast<const float*>(scratch), dweight,
                     dbias, cols);
  return Summation::any_order;
}

}  // namespace onepass
