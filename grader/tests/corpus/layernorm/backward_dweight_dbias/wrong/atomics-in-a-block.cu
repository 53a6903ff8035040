// diagnosis: order-varies
// check: 20 calls
// The 32 slices of rows of a block meet by atomicAdd() in shared memory: in the order in which its
// warps come.
#include <onepass/layernorm.h>

namespace onepass {

constexpr int kCols = 32;
constexpr int kSlices = 32;

/// One block for 32 columns and all rows; each of its warps takes every 32nd row.
template <typename T>
__global__ void column_sums(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                            const float* mean, const float* rstd, T* dweight, T* dbias, int rows,
                            int cols) {
  __shared__ float total_dweight[kCols];
  __shared__ float total_dbias[kCols];
  const int col = blockIdx.x * kCols + threadIdx.x;
  if (threadIdx.y == 0) {
    total_dweight[threadIdx.x] = 0.0f;
    total_dbias[threadIdx.x] = 0.0f;
  }
  __syncthreads();
  float dw = 0.0f;
  float db = 0.0f;
  if (col < cols) {
    for (int64_t row = threadIdx.y; row < rows; row += kSlices) {
      const float g = static_cast<float>(dy[row * dy_stride + col]);
      dw += g * (static_cast<float>(x[row * x_stride + col]) - mean[row]) * rstd[row];
      db += g;
    }
  }
  atomicAdd(&total_dweight[threadIdx.x], dw);
  atomicAdd(&total_dbias[threadIdx.x], db);
  __syncthreads();
  if (threadIdx.y == 0 && col < cols) {
    dweight[col] = static_cast<T>(total_dweight[threadIdx.x]);
    dbias[col] = static_cast<T>(total_dbias[threadIdx.x]);
  }
}

template <typename T>
Summation layernorm_backward_dweight_dbias(const T* dy, int64_t dy_stride, const T* x,
                                           int64_t x_stride, const float* mean, const float* rstd,
                                           T* dweight, T* dbias, float* scratch, int rows, int cols,
                                           cudaStream_t stream) {
  (void)scratch;  // nothing crosses a block
  column_sums<<<(cols + kCols - 1) / kCols, dim3(kCols, kSlices), 0, stream>>>(
      dy, dy_stride, x, x_stride, mean, rstd, dweight, dbias, rows, cols);
  return Summation::fixed_order;
}

}  // namespace onepass
