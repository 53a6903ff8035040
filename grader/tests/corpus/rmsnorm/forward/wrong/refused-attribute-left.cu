// diagnosis: launch-failed
// status: launch error
// says: No launch was refused
// Rows too wide for shared memory have a kernel of their own, and the error of having asked stays.

#include <onepass/rmsnorm.h>

namespace onepass {

__device__ inline float warp_sum(float v) {
#pragma unroll
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffff, v, o);
  return v;
}

// Sum over the block, in every thread; may be called again and again.
__device__ inline float block_sum_of(float v) {
  __shared__ float partial[32];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  __syncthreads();  // the previous call's slots have been read
  v = warp_sum(v);
  if (lane == 0) partial[warp] = v;
  __syncthreads();
  return warp_sum(lane < static_cast<int>(blockDim.x >> 5) ? partial[lane] : 0.0f);
}

constexpr int kThreads = 512;

// The row waits in shared memory, as floats.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    shared_forward_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                          float* rstd, int cols, float eps) {
  extern __shared__ float held[];
  const int64_t row = blockIdx.x;
  float squares = 0.0f;
#pragma unroll 4
  for (int c = threadIdx.x; c < cols; c += kThreads) {
    const float v = static_cast<float>(x[row * x_stride + c]);
    held[c] = v;
    squares += v * v;
  }
  const float s = rsqrtf(block_sum_of(squares) / cols + eps);
  if (threadIdx.x == 0) rstd[row] = s;
  for (int c = threadIdx.x; c < cols; c += kThreads) {
    y[row * y_stride + c] = static_cast<T>(held[c] * s * static_cast<float>(weight[c]));
  }
}

// For rows that shared memory has no room for: read twice.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    plain_forward_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                         float* rstd, int cols, float eps) {
  const int64_t row = blockIdx.x;
  float squares = 0.0f;
  for (int c = threadIdx.x; c < cols; c += kThreads) {
    const float v = static_cast<float>(x[row * x_stride + c]);
    squares += v * v;
  }
  const float s = rsqrtf(block_sum_of(squares) / cols + eps);
  if (threadIdx.x == 0) rstd[row] = s;
  for (int c = threadIdx.x; c < cols; c += kThreads) {
    y[row * y_stride + c] = static_cast<T>(static_cast<float>(x[row * x_stride + c]) * s *
                                           static_cast<float>(weight[c]));
  }
}

template <typename T>
void rmsnorm_forward(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                     float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) return;
  const int bytes = cols * static_cast<int>(sizeof(float));
  const cudaError_t status = cudaFuncSetAttribute(
      shared_forward_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (status == cudaSuccess) {
    shared_forward_kernel<<<rows, kThreads, bytes, stream>>>(x, x_stride, weight, y, y_stride, rstd,
                                                             cols, eps);
  } else {
    plain_forward_kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd,
                                                        cols, eps);
  }
}

}  // namespace onepass
