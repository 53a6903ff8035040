// diagnosis: scratch-overrun
// status: device error
// says: has no room at all
// Totals are set to zero and read where there are no rows too.
#include <onepass/layernorm.h>

namespace onepass {

constexpr int kThreads = 256;  // threads a block, each with a column of its own

// Enough groups of rows that their blocks keep a GPU busy, and few enough to be added up quickly.
// There is room in scratch for kLayernormMostGroups.
constexpr int kMostGroups = 128;

/// First stage: one thread for each column of each group. Group g has the rows g, g + groups,
/// g + 2 * groups, ...
template <typename T>
__global__ void sum_rows_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                                const float* mean, const float* rstd,
                                float* partial_dweight,  // [cols]
                                float* partial_dbias,    // [cols]
                                int rows, int cols) {
  const int col = blockIdx.x * kThreads + threadIdx.x;
  const int group = blockIdx.y;
  const int groups = gridDim.y;
  if (col >= cols) {
    return;  // no barrier below
  }
  float sum_dbias = 0.0f;  // of the column, over the rows of the group
  float sum_dweight = 0.0f;
#pragma unroll 4  // the loads of four rows are on their way before the first is needed
  for (int64_t row = group; row < rows; row += groups) {
    const float dy_value = static_cast<float>(dy[row * dy_stride + col]);

    // TODO 1: dbias, first stage. Add dy_value to sum_dbias.
    sum_dbias += dy_value;

    // TODO 2: dweight, first stage. Add dy_value times x̂ of that row and column to sum_dweight.
    const float x_hat = (static_cast<float>(x[row * x_stride + col]) - mean[row]) * rstd[row];
    sum_dweight += dy_value * x_hat;
  }

  // TODO 1, continued: store sum_dbias in partial_dbias, at this group's row and this column. Store
  // sum_dweight in partial_dweight likewise, which is 0 until TODO 2.
  atomicAdd(partial_dbias + col, sum_dbias);
  atomicAdd(partial_dweight + col, sum_dweight);
}

/// Second stage: adds up the sums of all groups, a thread a column, those for dbias in blocks (b,
/// 0), those for dweight in blocks (b, 1).
template <typename T>
__global__ void sum_groups_kernel(const float* partial_dweight,  // [cols]
                                  const float* partial_dbias,    // [cols]
                                  T* dweight, T* dbias, int cols) {
  const float* partial = blockIdx.y == 0 ? partial_dbias : partial_dweight;
  T* sums = blockIdx.y == 0 ? dbias : dweight;
  const int col = blockIdx.x * kThreads + threadIdx.x;

  // TODO 1, second stage, for dweight too. If there is such a column, add up its partial sums of
  // all groups, and store the result in sums[col], converted to T.
  if (col < cols) {
    sums[col] = static_cast<T>(partial[col]);
  }
}

template <typename T>
Summation layernorm_backward_dweight_dbias(const T* dy, int64_t dy_stride, const T* x,
                                           int64_t x_stride, const float* mean, const float* rstd,
                                           T* dweight, T* dbias, float* scratch, int rows, int cols,
                                           cudaStream_t stream) {
  const int groups = rows < kMostGroups ? rows : kMostGroups;
  const int col_blocks = (cols + kThreads - 1) / kThreads;
  float* partial_dweight = scratch;      // [cols]
  float* partial_dbias = scratch + cols;  // [cols]
  // The totals start at zero, which is also what the sums over no rows are.
  cudaMemsetAsync(scratch, 0, 2 * cols * sizeof(float), stream);

  if (rows > 0) {  // a grid of no blocks is a launch error
    sum_rows_kernel<<<dim3(col_blocks, groups), kThreads, 0, stream>>>(
        dy, dy_stride, x, x_stride, mean, rstd, partial_dweight, partial_dbias, rows, cols);
  }
  // Also where there are no rows: the sums over none of them are zero.
  sum_groups_kernel<<<dim3(col_blocks, 2), kThreads, 0, stream>>>(partial_dweight, partial_dbias,
                                                                  dweight, dbias, cols);
  return Summation::any_order;
}

}  // namespace onepass
