// Exercise 2.1: LayerNorm, the whole row in one kernel.
//
//     x, y          [rows, cols]  rows x_stride and y_stride elements apart
//     weight, bias  [cols]        each may be null: a layer without it
//     mean          [rows]        mean[r] = mean over c of x[r][c], in fp32
//     rstd          [rows]        rstd[r] = 1 / sqrt(mean over c of (x[r][c] - mean[r])^2 + eps)
//                                 y[r][c] = (x[r][c] - mean[r]) * rstd[r] * weight[c] + bias[c]
//
// Reduce, reduce, broadcast: the variance is summed only when the mean is known. One pass over the
// row would do on paper, with the sums of x and x^2; in fp32 it loses the digits that matter.
//
// Grade it:   make -C build grade_layernorm
// Read first: docs/02_layernorm.md, "2.1 The forward pass"

#include <onepass/layernorm.h>

namespace onepass {

constexpr int kThreads = 256;  // threads a block
constexpr int kWarps = kThreads / 32;

/// The sum of `value` over the 32 lanes of a warp, in every lane (exercise 1.1).
__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// The sum of `value` over all threads of the block, in every thread (exercise 1.1). It may be
/// called again and again: its first barrier waits for those who still read the last call's slots.
__device__ inline float block_sum_of(float value) {
  __shared__ float partial[kWarps];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  value = warp_sum(value);
  __syncthreads();
  if (lane == 0) {
    partial[warp] = value;
  }
  __syncthreads();
  return warp_sum(lane < kWarps ? partial[lane] : 0.0f);
}

/// `__restrict__`: no two of the buffers overlap (exercise 1.2).
template <typename T>
__global__ void layernorm_forward_kernel(const T* __restrict__ x, int64_t x_stride,
                                         const T* __restrict__ weight, const T* __restrict__ bias,
                                         T* __restrict__ y, int64_t y_stride,
                                         float* __restrict__ mean, float* __restrict__ rstd,
                                         int cols, float eps) {
  const int64_t row = blockIdx.x;
  const T* x_row = x + row * x_stride;  // [cols]
  T* y_row = y + row * y_stride;        // [cols]

  // TODO 1: the mean. Add up this thread's columns (threadIdx.x, then every kThreads further on) in
  // fp32, call block_sum_of() for the sum over the row, and divide by cols. Let one thread save the
  // result in mean[row].

  // TODO 2: the variance. Walk over the same columns again, and add up the squares of what is left
  // of each value when the mean is subtracted. Sum over the block, divide by cols, add eps, take
  // rsqrtf(). Let one thread save the result in rstd[row].

  // TODO 3: broadcast. Walk over the same columns once more and store y_row[col]: (value - mean) *
  // rstd, times weight[col] if there are weights, plus bias[col] if there are biases, all in fp32,
  // converted to T at the very end.
}

template <typename T>
void layernorm_forward(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                       int64_t y_stride, float* mean, float* rstd, int rows, int cols, float eps,
                       cudaStream_t stream) {
  if (rows == 0) {
    return;  // a grid of no blocks is a launch error
  }
  layernorm_forward_kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, weight, bias, y, y_stride,
                                                          mean, rstd, cols, eps);
}

}  // namespace onepass
