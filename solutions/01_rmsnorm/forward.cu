// Exercise 1.2: RMSNorm, the whole row in one kernel.
//
//     x, y    [rows, cols]  rows x_stride and y_stride elements apart
//     weight  [cols]
//     rstd    [rows]        rstd[r] = 1 / sqrt(mean over c of x[r][c]^2 + eps), in fp32
//                           y[r][c] = x[r][c] * rstd[r] * weight[c], rounded to T once
//
// Reduce, then broadcast: one block reads a row to find a single number, and then every thread
// needs that number. The row is read twice, the second time mostly from a cache, and the result is
// written once; the square, the mean and the scaled row never leave the chip.
//
// Grade it:   make -C build grade_rmsnorm
// Read first: docs/01_rmsnorm.md, "1.2 The forward pass"

#include <onepass/rmsnorm.h>

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

/// The sum of `value` over all threads of the block, in every thread (exercise 1.1).
__device__ inline float block_sum_of(float value) {
  __shared__ float partial[kWarps];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  value = warp_sum(value);
  if (lane == 0) {
    partial[warp] = value;
  }
  __syncthreads();
  return warp_sum(lane < kWarps ? partial[lane] : 0.0f);
}

/// `__restrict__` promises that no two of the buffers overlap. Without it the compiler would have
/// to assume that storing y changes x, and could not load the next columns before the store.
template <typename T>
__global__ void rmsnorm_forward_kernel(const T* __restrict__ x, int64_t x_stride,
                                       const T* __restrict__ weight, T* __restrict__ y,
                                       int64_t y_stride, float* __restrict__ rstd, int cols,
                                       float eps) {
  const int64_t row = blockIdx.x;
  const T* x_row = x + row * x_stride;  // [cols]
  T* y_row = y + row * y_stride;        // [cols]

  // TODO 1: reduce. Add up the squares of this thread's columns (threadIdx.x, then every kThreads
  // further on) in fp32, and call block_sum_of() for the sum over the row. Divide by cols, add
  // eps, take rsqrtf(). Let one thread save the result in rstd[row].
  // [solution 1]
  float squares = 0.0f;
#pragma unroll 8  // eight loads are on their way before the first is needed
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float value = static_cast<float>(x_row[col]);
    squares += value * value;
  }
  const float row_rstd = rsqrtf(block_sum_of(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = row_rstd;
  }
  // [end]

  // TODO 2: broadcast. Walk over the same columns again and write y_row[col]: the value times the
  // row's rstd times weight[col], all in fp32, converted to T at the very end.
  // [solution 2]
#pragma unroll 8
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float normalized = static_cast<float>(x_row[col]) * row_rstd;
    y_row[col] = static_cast<T>(normalized * static_cast<float>(weight[col]));
  }
  // [end]
}

template <typename T>
void rmsnorm_forward(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                     float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;  // a grid of no blocks is a launch error
  }
  rmsnorm_forward_kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd,
                                                        cols, eps);
}

}  // namespace onepass
