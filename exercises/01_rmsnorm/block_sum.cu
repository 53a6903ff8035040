// Exercise 1.1: the sum of each row, one block of threads a row.
//
//     x     [rows, cols]  rows x_stride elements apart
//     sums  [rows]        sums[r] = x[r][0] + x[r][1] + ... + x[r][cols - 1], in fp32
//
// Three steps: each thread adds up its own share of the row, a warp adds its 32 shares with
// shuffles, and the warps meet in shared memory. Every kernel of this workbook is built on them.
//
// Grade it:   make -C build grade_rmsnorm
// Read first: docs/01_rmsnorm.md, "1.1 Sum a row"

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 256;  // threads a block
constexpr int kWarps = kThreads / 32;

/// The sum of `value` over all threads of the block, in thread 0 at least. All threads call it
/// together. It is defined below, TODO 3.
__device__ inline float block_sum_of(float value);

template <typename T>
__global__ void block_sum_kernel(const T* x, int64_t x_stride, float* sums, int cols) {
  const int64_t row = blockIdx.x;
  const T* x_row = x + row * x_stride;  // [cols]
  // TODO 1: add up this thread's share of the row in fp32: columns threadIdx.x,
  // threadIdx.x + kThreads, threadIdx.x + 2 * kThreads, ... below cols. Give the share to
  // block_sum_of(), which all threads must call, and let thread 0 write the result to sums[row].
}

/// The sum of `value` over the 32 lanes of a warp, in lane 0 at least. All 32 call it together.
__device__ inline float warp_sum(float value) {
  // TODO 2: add the other 31 lanes' values. In each of five steps, add the value of the lane whose
  // number differs from yours in one bit: __shfl_xor_sync(0xffffffff, value, 16), then 8, 4, 2, 1.
  return value;
}

__device__ inline float block_sum_of(float value) {
  value = warp_sum(value);
  // TODO 3: so far each warp knows its own sum only. Let lane 0 of each warp store it in a
  // __shared__ array with one slot a warp, wait for all warps at a barrier, and add up the slots.
  return value;
}

template <typename T>
void block_sum(const T* x, int64_t x_stride, float* sums, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) {
    return;  // a grid of no blocks is a launch error
  }
  block_sum_kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, sums, cols);
}

}  // namespace onepass
