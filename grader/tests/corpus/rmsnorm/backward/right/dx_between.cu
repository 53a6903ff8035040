// Right: three kernels. The first sums groups of rows for dweight, the second makes dx, the third
// adds up the groups. The second and the third begin early. dx needs nothing of the first kernel, but
// the third does: the second waits at its end, so that who waits for it has waited for both.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 128;

template <typename T>
__global__ void sum_rows_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                                const float* rstd,
                                float* partial,  // [groups, cols]
                                CastOrder order, int rows, int cols) {
  cudaTriggerProgrammaticLaunchCompletion();
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    float sum = 0.0f;
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
      float x_hat = static_cast<float>(x[row * x_stride + col]) * rstd[row];
      if (order == CastOrder::llama) {
        x_hat = static_cast<float>(static_cast<T>(x_hat));
      }
      sum += static_cast<float>(dy[row * dy_stride + col]) * x_hat;
    }
    partial[static_cast<int64_t>(blockIdx.x) * cols + col] = sum;
  }
}

template <typename T>
__global__ void dx_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                          const T* weight, const float* rstd, T* dx, int64_t dx_stride, int cols) {
  cudaTriggerProgrammaticLaunchCompletion();
  __shared__ float shares[kThreads / 32];
  const int64_t row = blockIdx.x;
  const float row_rstd = rstd[row];
  float share = 0.0f;
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float wdy =
        static_cast<float>(weight[col]) * static_cast<float>(dy[row * dy_stride + col]);
    share += wdy * (static_cast<float>(x[row * x_stride + col]) * row_rstd);
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    share += __shfl_xor_sync(0xffffffffu, share, offset);
  }
  if (threadIdx.x % 32 == 0) {
    shares[threadIdx.x / 32] = share;
  }
  __syncthreads();
  float mean = 0.0f;
  for (int warp = 0; warp < kThreads / 32; ++warp) {
    mean += shares[warp];
  }
  mean /= cols;
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float wdy =
        static_cast<float>(weight[col]) * static_cast<float>(dy[row * dy_stride + col]);
    const float x_hat = static_cast<float>(x[row * x_stride + col]) * row_rstd;
    dx[row * dx_stride + col] = static_cast<T>((wdy - x_hat * mean) * row_rstd);
  }
  cudaGridDependencySynchronize();  // at the end of dx
}

template <typename T>
__global__ void sum_groups_kernel(const float* partial, T* dweight, int groups, int cols) {
  const int col = blockIdx.x * kThreads + threadIdx.x;
  if (threadIdx.x == 0) {
    cudaGridDependencySynchronize();
  }
  __syncthreads();  // one thread has waited: all have
  float sum = 0.0f;
  for (int group = 0; group < groups && col < cols; ++group) {
    sum += partial[static_cast<int64_t>(group) * cols + col];
  }
  if (col < cols) {
    dweight[col] = static_cast<T>(sum);
  }
}

template <typename T>
void rmsnorm_backward(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                      const float* rstd, T* dx, int64_t dx_stride, T* dweight, float* scratch,
                      CastOrder order, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) {
    cudaMemsetAsync(dweight, 0, cols * sizeof(T), stream);
    return;
  }
  const int groups = rmsnorm_groups(rows) < 128 ? rmsnorm_groups(rows) : 128;
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = rows;
  config.blockDim = kThreads;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  sum_rows_kernel<<<groups, kThreads, 0, stream>>>(dy, dy_stride, x, x_stride, rstd, scratch, order,
                                                   rows, cols);
  cudaLaunchKernelEx(&config, dx_kernel<T>, dy, dy_stride, x, x_stride, weight, rstd, dx, dx_stride,
                     cols);
  config.gridDim = (cols + kThreads - 1) / kThreads;
  cudaLaunchKernelEx(&config, sum_groups_kernel<T>, static_cast<const float*>(scratch), dweight,
                     groups, cols);
}

}  // namespace onepass
