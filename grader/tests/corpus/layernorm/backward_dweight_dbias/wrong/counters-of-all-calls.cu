// diagnosis: state-kept
// not: block-order, memory-kept
// Which block comes last is counted in memory that all calls share: two calls on two streams count in
// the same counters. (And blocks of a sample leave counters behind, which are no block order.)
#include <onepass/layernorm.h>

namespace onepass {

constexpr int kColumns = 128;

// How many groups of these columns are done. atomicInc() goes back to 0 at the last one, so the
// counters are ready for the next call.
__device__ unsigned int groups_done[512];

template <typename T>
__global__ void column_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                              const float* mean, const float* rstd, T* dweight, T* dbias,
                              float* scratch, int rows, int cols) {
  __shared__ bool last;
  const int c = blockIdx.x * kColumns + threadIdx.x;
  const int groups = gridDim.y;
  float dw = 0.0f, db = 0.0f;
  if (c < cols) {
    for (int64_t r = blockIdx.y; r < rows; r += groups) {
      const float g = static_cast<float>(dy[r * dy_stride + c]);
      dw += g * (static_cast<float>(x[r * x_stride + c]) - mean[r]) * rstd[r];
      db += g;
    }
    __stcg(&scratch[(2 * static_cast<int64_t>(blockIdx.y)) * cols + c], dw);
    __stcg(&scratch[(2 * static_cast<int64_t>(blockIdx.y) + 1) * cols + c], db);
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicInc(&groups_done[blockIdx.x], groups - 1) == groups - 1;
  }
  __syncthreads();
  if (last && c < cols) {
    __threadfence();
    dw = 0.0f;
    db = 0.0f;
    for (int g = 0; g < groups; ++g) {
      dw += __ldcg(&scratch[(2 * static_cast<int64_t>(g)) * cols + c]);
      db += __ldcg(&scratch[(2 * static_cast<int64_t>(g) + 1) * cols + c]);
    }
    dweight[c] = static_cast<T>(dw);
    dbias[c] = static_cast<T>(db);
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
    return Summation::fixed_order;
  }
  const int groups = rows < 256 ? rows : 256;
  column_kernel<<<dim3((cols + kColumns - 1) / kColumns, groups), kColumns, 0, stream>>>(
      dy, dy_stride, x, x_stride, mean, rstd, dweight, dbias, scratch, rows, cols);
  return Summation::fixed_order;
}

}  // namespace onepass
