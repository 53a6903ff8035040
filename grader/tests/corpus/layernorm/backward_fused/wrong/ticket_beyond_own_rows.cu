// diagnosis: order-varies
// Rows beyond 64 a block are taken by whoever comes first.
// Exercise 2.4: LayerNorm backward, all of it in one pass over x and dy.
//
//     dy, x, dx       [rows, cols]  rows dy_stride, x_stride and dx_stride elements apart
//     weight          [cols]
//     mean, rstd      [rows]        fp32, saved by the forward pass
//     dweight, dbias  [cols]
//     scratch         layernorm_scratch_size(rows, cols) numbers, fp32, contents undefined
//
// Exercises 2.2 and 2.3 both read x and dy: 4 tensors in and 1 out. Here a block takes a row of
// both, once, for all three results. The blocks are persistent: there are only as many as keep the
// GPU busy, and each walks through many rows. A thread sees the same columns in each of them, so it
// keeps their sums for dweight and dbias in registers. After its last row they go to scratch.
//
// Grade it:   make -C build grade_layernorm
// Read first: docs/02_layernorm.md, "2.4 One pass"

#include <onepass/layernorm.h>

namespace onepass {

constexpr int kMostThreads = 512;  // threads a block; narrow rows take fewer
constexpr int kMostWarps = kMostThreads / 32;
/// Rows that each block has for certain. What is left of a tall tensor goes to whoever is free, so
/// that no block waits for a slower one.
constexpr int kOwnRows = 64;

constexpr int kMostBlocks = 256;  // two for each multiprocessor of a large GPU

/// The two sums over a row that dx needs.
struct RowSums {
  float wdy;      // of wdy = weight * dy
  float wdy_hat;  // of wdy * x̂
};

/// The sum of `value` over the 32 lanes of a warp, in every lane (exercise 1.1).
__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// Both sums over all threads of the block, in every thread (exercise 2.2). Called for one row
/// after another: its first barrier waits for those who still read the last row's slots.
__device__ inline RowSums block_sums_of(RowSums sums) {
  __shared__ RowSums partial[kMostWarps];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warps = blockDim.x / 32;
  sums = {warp_sum(sums.wdy), warp_sum(sums.wdy_hat)};
  __syncthreads();
  if (lane == 0) {
    partial[warp] = sums;
  }
  __syncthreads();
  sums = lane < warps ? partial[lane] : RowSums{0.0f, 0.0f};
  return {warp_sum(sums.wdy), warp_sum(sums.wdy_hat)};
}

/// For rows of up to kColumns columns a thread: threadIdx.x, then every blockDim.x further on. The
/// sums of block b are left in row b of partial_dweight and partial_dbias, [gridDim.x, cols].
template <typename T, int kColumns>
__global__ void __launch_bounds__(kMostThreads)
    layernorm_backward_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                              const T* weight, const float* mean, const float* rstd, T* dx,
                              int64_t dx_stride, float* partial_dweight, float* partial_dbias,
                              unsigned* next_row, int rows, int cols) {
  __shared__ unsigned taken;
  float sum_dweight[kColumns] = {};  // of this thread's columns, over this block's rows
  float sum_dbias[kColumns] = {};
  const int64_t own = static_cast<int64_t>(kOwnRows) * gridDim.x;
  for (int64_t row = blockIdx.x;;) {
    if (row >= rows) {
      break;
    }
    const T* dy_row = dy + row * dy_stride;  // [cols]
    const T* x_row = x + row * x_stride;     // [cols]
    T* dx_row = dx + row * dx_stride;        // [cols]
    const float row_mean = mean[row];
    const float row_rstd = rstd[row];

    // TODO 1: dx of this row, as in exercise 2.2: add up wdy and wdy * x̂ over this thread's
    // columns, call block_sums_of(), divide, and walk over the columns again.
    // [solution 1]
    RowSums sums = {0.0f, 0.0f};
    for (int col = threadIdx.x; col < cols; col += blockDim.x) {
      const float wdy = static_cast<float>(weight[col]) * static_cast<float>(dy_row[col]);
      const float x_hat = (static_cast<float>(x_row[col]) - row_mean) * row_rstd;
      sums.wdy += wdy;
      sums.wdy_hat += wdy * x_hat;
    }
    sums = block_sums_of(sums);
    const float mean_wdy = sums.wdy / cols;
    const float mean_wdy_hat = sums.wdy_hat / cols;
    for (int col = threadIdx.x; col < cols; col += blockDim.x) {
      const float wdy = static_cast<float>(weight[col]) * static_cast<float>(dy_row[col]);
      const float x_hat = (static_cast<float>(x_row[col]) - row_mean) * row_rstd;
      dx_row[col] = static_cast<T>((wdy - mean_wdy - x_hat * mean_wdy_hat) * row_rstd);
    }
    // [end]

    // TODO 2: dweight and dbias. Add this row's dy * x̂ to sum_dweight[k] and its dy to
    // sum_dbias[k], for k < kColumns: that is column k * blockDim.x + threadIdx.x, if it is there.
    // [solution 2]
#pragma unroll
    for (int k = 0; k < kColumns; ++k) {
      const int col = k * blockDim.x + threadIdx.x;
      if (col < cols) {
        const float x_hat = (static_cast<float>(x_row[col]) - row_mean) * row_rstd;
        sum_dweight[k] += static_cast<float>(dy_row[col]) * x_hat;
        sum_dbias[k] += static_cast<float>(dy_row[col]);
      }
    }
    // [end]
    row += gridDim.x;
    if (row >= own) {
      __syncthreads();  // all have read the number before
      if (threadIdx.x == 0) {
        taken = atomicAdd(next_row, 1u);
      }
      __syncthreads();
      row = own + taken;
    }
  }

  // TODO 2, continued: the last row is done. Store the sums of this thread's columns.
  // [solution 2]
#pragma unroll
  for (int k = 0; k < kColumns; ++k) {
    const int col = k * blockDim.x + threadIdx.x;
    if (col < cols) {
      partial_dweight[blockIdx.x * cols + col] = sum_dweight[k];
      partial_dbias[blockIdx.x * cols + col] = sum_dbias[k];
    }
  }
  // [end]
}

/// Adds up the blocks' sums in their order, a thread a column (exercise 2.3).
template <typename T>
__global__ void sum_blocks_kernel(const float* partial, T* sums, int blocks, int cols) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col < cols) {
    float sum = 0.0f;
    for (int block = 0; block < blocks; ++block) {
      sum += partial[block * cols + col];
    }
    sums[col] = static_cast<T>(sum);
  }
}

template <typename T>
Summation layernorm_backward(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                             const T* weight, const float* mean, const float* rstd, T* dx,
                             int64_t dx_stride, T* dweight, T* dbias, float* scratch, int rows,
                             int cols, cudaStream_t stream) {
  // Registers hold the sums of 16 columns a thread. For more the compiler takes memory.
  const auto kernel = cols <= 4 * kMostThreads    ? layernorm_backward_kernel<T, 4>
                      : cols <= 16 * kMostThreads ? layernorm_backward_kernel<T, 16>
                                                  : layernorm_backward_kernel<T, 128>;
  const int threads = cols < kMostThreads ? (cols + 31) / 32 * 32 : kMostThreads;
  const int blocks = rows < kMostBlocks ? rows : kMostBlocks;
  float* partial_dweight = scratch;                // [blocks, cols]; an int will do for its indices
  float* partial_dbias = scratch + blocks * cols;  // [blocks, cols]
  // Behind the sums scratch has two numbers more for each block.
  auto* next_row = reinterpret_cast<unsigned*>(scratch + 2 * static_cast<int64_t>(blocks) * cols);
  if (blocks > 0) {
    cudaMemsetAsync(next_row, 0, sizeof(unsigned), stream);
    kernel<<<blocks, threads, 0, stream>>>(dy, dy_stride, x, x_stride, weight, mean, rstd, dx,
                                           dx_stride, partial_dweight, partial_dbias, next_row, rows,
                                           cols);
  }
  // TODO 2, at last: launch sum_blocks_kernel, which is complete, for dweight and for dbias, with a
  // thread a column, also where there are no rows: the sums over none of them are zero.
  // [solution 2]
  sum_blocks_kernel<<<(cols + 63) / 64, 64, 0, stream>>>(partial_dweight, dweight, blocks, cols);
  sum_blocks_kernel<<<(cols + 63) / 64, 64, 0, stream>>>(partial_dbias, dbias, blocks, cols);
  // [end]
  return Summation::fixed_order;
}

}  // namespace onepass
