// Exercise 1.3: RMSNorm backward, the gradients of x and of the weight.
//
//     dy, x, dx  [rows, cols]    rows dy_stride, x_stride and dx_stride elements apart
//     weight     [cols]
//     rstd       [rows]          fp32, saved by the forward pass
//     dweight    [cols]
//     scratch    [groups, cols]  fp32, contents undefined
//
//     x̂ = x * rstd    wdy = weight * dy
//     dx      = rstd * (wdy - x̂ * mean of wdy * x̂ over the row)
//     dweight = sum of dy * x̂ over all rows
//
// dx needs a sum along each row: a block a row, as in 1.2. dweight needs one down each column, in
// two stages: a thread adds up one column of a group of rows and leaves the sum in scratch, and a
// second kernel adds up the groups.
//
// Grade it:   make -C build grade_rmsnorm
// Read first: docs/01_rmsnorm.md, "1.3 The backward pass"

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 256;  // threads a block
constexpr int kWarps = kThreads / 32;

// Enough groups of rows that their blocks keep a GPU busy, and few enough to be added up quickly.
// There is room in scratch for kRmsnormMostGroups.
constexpr int kMostGroups = 128;

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

template <typename T>
__global__ void dx_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                          const T* weight, const float* rstd, T* dx, int64_t dx_stride, int cols) {
  const int64_t row = blockIdx.x;
  const T* dy_row = dy + row * dy_stride;  // [cols]
  const T* x_row = x + row * x_stride;     // [cols]
  T* dx_row = dx + row * dx_stride;        // [cols]
  const float row_rstd = rstd[row];
  // TODO 1: dx. Add up wdy * x̂ over this thread's columns in fp32, let block_sum_of() make it the
  // sum over the row, and divide by cols. Then walk over the same columns again and write dx_row.
}

/// x̂ as it counts in dweight: TODO 3, at the end of the file.
template <typename T>
__device__ float x_hat_for_dweight(float x_hat, CastOrder order);

/// First stage of dweight: one thread for each column of each group. Group g has the rows g,
/// g + groups, g + 2 * groups, ...
template <typename T>
__global__ void sum_rows_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                                const float* rstd,
                                float* partial,  // [groups, cols]
                                CastOrder order, int rows, int cols) {
  const int col = blockIdx.x * kThreads + threadIdx.x;
  const int group = blockIdx.y;
  const int groups = gridDim.y;
  // TODO 2: dweight, first stage. If there is such a column, add up its dy * x̂ over the rows of the
  // group, below rows, with x̂ as x_hat_for_dweight<T>(x̂, order) gives it. Store the sum in the
  // group's row of partial.
}

/// Second stage: one thread a column.
template <typename T>
__global__ void sum_groups_kernel(const float* partial,  // [groups, cols]
                                  T* dweight, int groups, int cols) {
  const int col = blockIdx.x * kThreads + threadIdx.x;
  // TODO 2, second stage. If there is such a column, add up its sums of all groups and store the
  // result in dweight[col], converted to T.
}

template <typename T>
__device__ float x_hat_for_dweight(float x_hat, CastOrder order) {
  // TODO 3: where order is CastOrder::llama the forward pass rounded x̂ to T before it met the
  // weight. Round it here in the same way, and go on with a float.
  return x_hat;
}

template <typename T>
void rmsnorm_backward(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                      const float* rstd, T* dx, int64_t dx_stride, T* dweight, float* scratch,
                      CastOrder order, int rows, int cols, cudaStream_t stream) {
  const int groups = rows < kMostGroups ? rows : kMostGroups;
  const int col_blocks = (cols + kThreads - 1) / kThreads;
  if (rows > 0) {  // a grid of no blocks is a launch error
    dx_kernel<<<rows, kThreads, 0, stream>>>(dy, dy_stride, x, x_stride, weight, rstd, dx,
                                             dx_stride, cols);
    sum_rows_kernel<<<dim3(col_blocks, groups), kThreads, 0, stream>>>(
        dy, dy_stride, x, x_stride, rstd, scratch, order, rows, cols);
  }
  // Also where there are no rows: the sums over none of them are zero.
  sum_groups_kernel<<<col_blocks, kThreads, 0, stream>>>(scratch, dweight, groups, cols);
}

}  // namespace onepass
