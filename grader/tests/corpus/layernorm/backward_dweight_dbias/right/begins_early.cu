// Right: a block for each group of rows, and a second kernel that adds up the groups. That one begins
// early: it finds its columns meanwhile, and all of its threads wait before they read a sum.

#include <onepass/layernorm.h>

namespace onepass {

constexpr int kThreads = 256;
constexpr int kSlices = 8;  // threads that share a column in the second kernel

template <typename T>
__global__ void sum_rows_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                                const float* mean, const float* rstd,
                                float* partial,  // [groups, 2, cols]
                                int rows, int cols) {
  float* sums = partial + static_cast<int64_t>(blockIdx.x) * 2 * cols;
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    float sum_dweight = 0.0f;
    float sum_dbias = 0.0f;
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
      const float dy_value = static_cast<float>(dy[row * dy_stride + col]);
      const float centred = static_cast<float>(x[row * x_stride + col]) - mean[row];
      sum_dweight += dy_value * centred * rstd[row];
      sum_dbias += dy_value;
    }
    if (col + kThreads >= cols) {
      cudaTriggerProgrammaticLaunchCompletion();  // only the last stores are left
    }
    sums[col] = sum_dweight;
    sums[cols + col] = sum_dbias;
  }
}

template <typename T>
__global__ void sum_groups_kernel(const float* partial, T* dweight, T* dbias, int groups,
                                  int cols) {
  __shared__ float shares[2][kSlices][32];
  const int col = blockIdx.x * 32 + threadIdx.x;
  const int slice = threadIdx.y;
  cudaGridDependencySynchronize();
  float sum_dweight = 0.0f;
  float sum_dbias = 0.0f;
  for (int group = slice; group < groups && col < cols; group += kSlices) {
    const float* sums = partial + static_cast<int64_t>(group) * 2 * cols;
    sum_dweight += sums[col];
    sum_dbias += sums[cols + col];
  }
  shares[0][slice][threadIdx.x] = sum_dweight;
  shares[1][slice][threadIdx.x] = sum_dbias;
  __syncthreads();
  if (slice < 2 && col < cols) {
    float sum = 0.0f;
    for (int i = 0; i < kSlices; ++i) {
      sum += shares[slice][i][threadIdx.x];
    }
    (slice == 0 ? dweight : dbias)[col] = static_cast<T>(sum);
  }
}

template <typename T>
Summation layernorm_backward_dweight_dbias(const T* dy, int64_t dy_stride, const T* x,
                                           int64_t x_stride, const float* mean, const float* rstd,
                                           T* dweight, T* dbias, float* scratch, int rows, int cols,
                                           cudaStream_t stream) {
  const int groups = layernorm_groups(rows);
  if (groups > 0) {
    sum_rows_kernel<<<groups, kThreads, 0, stream>>>(dy, dy_stride, x, x_stride, mean, rstd, scratch,
                                                     rows, cols);
  }
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = (cols + 31) / 32;
  config.blockDim = dim3(32, kSlices);
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, sum_groups_kernel<T>, static_cast<const float*>(scratch), dweight,
                     dbias, groups, cols);
  return Summation::fixed_order;
}

}  // namespace onepass
