// diagnosis: missing-barrier
// says: dx_kernel, which lies between the two, may begin as soon as sum_rows_kernel has called
// The second kernel needs nothing of the first, and so it waits for nobody: it may be over before the
// first one, and the third, which adds up what the first has left, waits for the second alone.

#include <onepass/layernorm.h>

namespace onepass {

constexpr int kThreads = 256;
constexpr int kMostGroups = 64;

/// The sum of `value` over the 32 lanes of a warp, in every lane.
__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

struct Sums {
  float wdy;
  float wdy_hat;
};

/// One block a row.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    dx_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
              const float* mean, const float* rstd, T* dx, int64_t dx_stride, int cols) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
  __shared__ Sums partial[kThreads / 32];
  const int64_t row = blockIdx.x;
  const T* dy_row = dy + row * dy_stride;
  const T* x_row = x + row * x_stride;
  const float row_mean = mean[row];
  const float row_rstd = rstd[row];
  Sums sums = {0.0f, 0.0f};
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float wdy = static_cast<float>(weight[col]) * static_cast<float>(dy_row[col]);
    sums.wdy += wdy;
    sums.wdy_hat += wdy * ((static_cast<float>(x_row[col]) - row_mean) * row_rstd);
  }
  sums = {warp_sum(sums.wdy), warp_sum(sums.wdy_hat)};
  if (threadIdx.x % 32 == 0) {
    partial[threadIdx.x / 32] = sums;
  }
  __syncthreads();
  sums = {0.0f, 0.0f};
#pragma unroll
  for (int warp = 0; warp < kThreads / 32; ++warp) {
    sums.wdy += partial[warp].wdy;
    sums.wdy_hat += partial[warp].wdy_hat;
  }
  const float mean_wdy = sums.wdy / cols;
  const float mean_wdy_hat = sums.wdy_hat / cols;
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float wdy = static_cast<float>(weight[col]) * static_cast<float>(dy_row[col]);
    const float x_hat = (static_cast<float>(x_row[col]) - row_mean) * row_rstd;
    dx[row * dx_stride + col] = static_cast<T>((wdy - mean_wdy - x_hat * mean_wdy_hat) * row_rstd);
  }
}

/// Group g has the rows g, g + groups, ...
template <typename T>
__global__ void sum_rows_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                                const float* mean, const float* rstd, float* partial_dweight,
                                float* partial_dbias, int rows, int cols) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();  // dx may begin beside this kernel
#endif
  const int col = blockIdx.x * kThreads + threadIdx.x;
  if (col < cols) {
    float sum_dweight = 0.0f;
    float sum_dbias = 0.0f;
#pragma unroll 4
    for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
      const float value = static_cast<float>(dy[row * dy_stride + col]);
      sum_dbias += value;
      sum_dweight +=
          value * ((static_cast<float>(x[row * x_stride + col]) - mean[row]) * rstd[row]);
    }
    partial_dweight[static_cast<int64_t>(blockIdx.y) * cols + col] = sum_dweight;
    partial_dbias[static_cast<int64_t>(blockIdx.y) * cols + col] = sum_dbias;
  }
}

template <typename T>
__global__ void sum_groups_kernel(const float* partial_dweight, const float* partial_dbias,
                                  T* dweight, T* dbias, int groups, int cols) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
  const int col = blockIdx.x * kThreads + threadIdx.x;
  if (col < cols) {
    float sum_dweight = 0.0f;
    float sum_dbias = 0.0f;
    for (int group = 0; group < groups; ++group) {
      sum_dweight += partial_dweight[static_cast<int64_t>(group) * cols + col];
      sum_dbias += partial_dbias[static_cast<int64_t>(group) * cols + col];
    }
    dweight[col] = static_cast<T>(sum_dweight);
    dbias[col] = static_cast<T>(sum_dbias);
  }
}

template <typename T>
Summation layernorm_backward(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                             const T* weight, const float* mean, const float* rstd, T* dx,
                             int64_t dx_stride, T* dweight, T* dbias, float* scratch, int rows,
                             int cols, cudaStream_t stream) {
  int device = 0;
  int major = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.blockDim = kThreads;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = major >= 9 && rows > 0 ? 1 : 0;
  const int groups = rows < kMostGroups ? rows : kMostGroups;
  const int col_blocks = (cols + kThreads - 1) / kThreads;
  float* partial_dweight = scratch;
  float* partial_dbias = scratch + static_cast<int64_t>(groups) * cols;
  if (rows > 0) {
    sum_rows_kernel<<<dim3(col_blocks, groups), kThreads, 0, stream>>>(
        dy, dy_stride, x, x_stride, mean, rstd, partial_dweight, partial_dbias, rows, cols);
    config.gridDim = rows;
    cudaLaunchKernelEx(&config, dx_kernel<T>, dy, dy_stride, x, x_stride, weight, mean, rstd, dx,
                       dx_stride, cols);
  }
  config.gridDim = col_blocks;
  cudaLaunchKernelEx(&config, sum_groups_kernel<T>, static_cast<const float*>(partial_dweight),
                     static_cast<const float*>(partial_dbias), dweight, dbias, groups, cols);
  return Summation::fixed_order;
}

}  // namespace onepass
