// Exercise 1.6: RMSNorm backward at the speed of memory, the gradients of x and of the weight in
// one pass.
//
//     dy, x, dx  [rows, cols]    rows dy_stride, x_stride and dx_stride elements apart
//     weight     [cols]
//     rstd       [rows]          fp32, saved by the forward pass
//     dweight    [cols]
//     scratch    [groups, cols]  fp32, contents undefined, groups = rmsnorm_groups(rows)
//
//     x̂ = x * rstd    wdy = weight * dy
//     dx      = rstd * (wdy - x̂ * mean of wdy * x̂ over the row)
//     dweight = sum of dy * x̂ over all rows
//
// One kernel reads dy and x once and makes both. Its blocks are persistent: as few as keep the GPU
// busy, each of which takes many rows. They pass through a ring in shared memory, by asynchronous
// copies: while one is summed, the next ones are in flight. A thread has the same columns in every
// row, so it keeps their sums for dweight in registers from its first row to its last.
// The ring, the sum over a row and the launch are given: read onepass/ring.h first.
//
// Grade it:   make -C build grade_rmsnorm
// Read first: docs/01_rmsnorm.md, "1.6 Backward, at the speed of memory"

#include <onepass/plain_backward.h>
#include <onepass/ring.h>
#include <onepass/rmsnorm.h>

namespace onepass {

/// x̂ as it counts in dweight (exercise 1.3).
template <typename T>
__device__ inline float x_hat_for_dweight(float x_hat, CastOrder order) {
  return order == CastOrder::llama ? static_cast<float>(static_cast<T>(x_hat)) : x_hat;
}

constexpr int kSumColumns = 32, kSlices = 16;  // of a block of sum_groups_kernel: a small one
constexpr int kEnoughBytes = 11 << 10;         // of each tensor in flight on an SM

/// A thread has up to kColumns columns of each of its rows: packs ring.first, ring.first + 32, ...
template <typename T, int V, int kColumns, bool kCluster>
__global__ void __launch_bounds__(32 * Shape<T, V, kColumns>::kMostWarps)
    backward_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                    const float* rstd, T* dx, int64_t dx_stride,
                    float* partial,  // [groups, cols]
                    CastOrder order, int rows, int cols, int slots) {
  using RowPack = Pack<T, V>;
  constexpr int kPacks = kColumns / V;
  constexpr bool kHeld = V > 1 && kColumns == 16;  // in registers: there are enough
  let_next_kernel_begin();
  Ring<T, V, kPacks, kHeld> ring(dy, dy_stride, x, x_stride, rows, cols);
  RowSums<kCluster> row_sums;
  unsigned row = ring.first_row;  // this thread's
  // TODO 1: fill the ring. For each slot below slots, ring.begin_copy(slot, row) of this thread's
  // next row. They are ring.step apart. Commit after each.
  // [solution 1]
  for (int slot = 0; slot < slots; ++slot) {
    ring.begin_copy(slot, row + slot * ring.step);
    __pipeline_commit();
  }
  // [end]
  RowPack weights[kPacks] = {};       // of this thread's columns
  float sum_dweight[kPacks][V] = {};  // of the same columns, over this thread's rows
  const auto* weight_packs = reinterpret_cast<const RowPack*>(weight + ring.first_column);
  for_packs<kPacks>(ring.first, ring.end(0), [&](int p, int i) { weights[p] = weight_packs[i]; });
  float next_rstd = row < rows ? rstd[row] : 0.0f;  // loaded one row ahead
  const float per_column = 1.0f / cols;             // a division in each row would take long
  int slot = 0;
  // All threads of a block take equally many steps. In the last one, some may have no row.
  for (; row - threadIdx.y < rows; row += ring.step) {
    const unsigned next = row + ring.step;
    const float row_rstd = next_rstd;
    next_rstd = next < rows ? rstd[next] : 0.0f;
    const auto refill = [&] {
      // TODO 1, refill this slot, with the row that is `slots` steps further. Commit.
      // [solution 1]
      ring.begin_copy(slot, row + slots * ring.step);
      __pipeline_commit();
      // [end]
    };

    // TODO 1, wait until this row has landed: __pipeline_wait_prior(n) waits for all batches but
    // the last n. One or two (`slots`) are in flight; n has to be a constant.
    // [solution 1]
    if (slots == 1) {
      __pipeline_wait_prior(0);
    } else {
      __pipeline_wait_prior(1);
    }
    // [end]
    ring.take(slot, row);
    if (ring.kFreeAtOnce) {
      refill();
    }

    float sum = 0.0f;  // over the row, of wdy * x̂ with wdy = weight * dy
    for_packs<kPacks>(ring.first, ring.end(row), [&](int p, int) {
      const RowPack dy_pack = ring.dy(p);
      const RowPack x_pack = ring.x(p);
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const float dy_value = value_of(dy_pack, j);
        const float x_hat = value_of(x_pack, j) * row_rstd;
        // TODO 1, the sum of dx: add wdy * x̂ to sum. weights[p] has the weights.
        // [solution 1]
        sum += value_of(weights[p], j) * dy_value * x_hat;
        // [end]
        // TODO 2: add dy * x̂ to sum_dweight[p][j], with what x_hat_for_dweight<T>() makes
        // of x_hat and order.
        // [solution 2]
        sum_dweight[p][j] += dy_value * x_hat_for_dweight<T>(x_hat, order);
        // [end]
      }
    });

    // TODO 1, dx: row_sums({sum, 0.0f}).x is the sum over the row (2.6 needs two sums at once);
    // multiply it by per_column. Then a loop as above makes pack i of dx and stores it: this
    // block's packs begin at dx + row * dx_stride + ring.first_column.
    // [solution 1]
    const float mean_wdy_hat = row_sums({sum, 0.0f}).x * per_column;
    const float slope = mean_wdy_hat * row_rstd;
    auto* dx_packs = reinterpret_cast<RowPack*>(dx + row * dx_stride + ring.first_column);
    for_packs<kPacks>(ring.first, ring.end(row), [&](int p, int i) {
      const RowPack dy_pack = ring.dy(p);
      const RowPack x_pack = ring.x(p);
      RowPack dx_pack;
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const float wdy = value_of(weights[p], j) * value_of(dy_pack, j);
        dx_pack.values[j] = static_cast<T>((wdy - value_of(x_pack, j) * slope) * row_rstd);
      }
      dx_packs[i] = dx_pack;
    });
    // [end]
    if (!ring.kFreeAtOnce) {
      refill();
    }
    slot = slot + 1 < slots ? slot + 1 : 0;
  }

  float* meet = reinterpret_cast<float*>(ring.memory());  // [blockDim.y, most]
  const int most = blockDim.x * kColumns;
  const int columns = min(most, cols - static_cast<int>(ring.first_column));  // of this block
  const int thread = threadIdx.y * blockDim.x + threadIdx.x;
  // TODO 2, continued: the last row is done. Rows side by side have sums of their own, which meet
  // in the ring: store_sums() of this thread's packs in row threadIdx.y of `meet`, with a barrier
  // before and one behind. Then the block's threads share its columns: add up the blockDim.y sums
  // of column c, in order, into row blockIdx.x of partial, column ring.first_column + c.
  // [solution 2]
  __syncthreads();
  for (int p = 0; p < kPacks; ++p) {
    store_sums(meet + threadIdx.y * most, ring.first + p * 32, sum_dweight[p]);
  }
  __syncthreads();
  for (int c = thread; c < columns; c += blockDim.x * blockDim.y) {
    float sum = 0.0f;
    for (int y = 0; y < blockDim.y; ++y) {
      sum += meet[y * most + c];
    }
    partial[static_cast<int64_t>(blockIdx.x) * cols + ring.first_column + c] = sum;
  }
  // [end]
}

/// Adds up the groups' sums (a group is a block or a cluster). Thread (c, s) has groups s,
/// s + blockDim.y, ... of column c of its block's kSumColumns columns.
template <typename T>
__global__ void sum_groups_kernel(const float* partial, T* dweight, int groups, int cols) {
  wait_for_kernel_before();
  const int column = blockIdx.x * kSumColumns + threadIdx.x;
  __shared__ float slices[kSlices][kSumColumns];
  // TODO 2, second stage: if there is such a column, add up its sums of this thread's groups. The
  // slices meet: after a barrier one thread adds them up, in order, and stores the result.
  // [solution 2]
  constexpr int kBatch = 9;  // are loaded before the first is added
  float sum = 0.0f;
  for (int batch = threadIdx.y; column < cols && batch < groups; batch += kBatch * blockDim.y) {
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int group = batch + k * blockDim.y;
      sum += group < groups ? partial[static_cast<int64_t>(group) * cols + column] : 0.0f;
    }
  }
  slices[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y == 0 && column < cols) {
    for (int slice = 1; slice < blockDim.y; ++slice) {
      sum += slices[slice][threadIdx.x];
    }
    dweight[column] = static_cast<T>(sum);
  }
  // [end]
}

/// Can every row of a tensor be accessed in packs of 16 bytes?
template <typename T>
bool is_aligned(const T* tensor, int64_t stride, int cols) {
  constexpr int V = 16 / sizeof(T);
  // TODO 3: say when, as in 1.4.
  // [solution 3]
  if (reinterpret_cast<uintptr_t>(tensor) % 16 == 0 && stride % V == 0 && cols % V == 0) {
    return true;
  }
  // [end]
  return false;
}

/// How many blocks share a row of so many columns, of which each takes most_columns at most.
inline int blocks_for(int cols, int most_columns) {
  int blocks = 1;
  // TODO 4: if has_clusters(), as few as are enough, but 8 rather than 6 or 7: few of these fit.
  // [solution 4]
  while (has_clusters() && blocks * most_columns < cols && blocks < kMostBlocks) {
    blocks = blocks < 5 ? blocks + 1 : kMostBlocks;
  }
  // [end]
  return blocks;
}

template <typename T>
void rmsnorm_backward_fast(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* rstd, T* dx, int64_t dx_stride, T* dweight,
                           float* scratch, CastOrder order, int rows, int cols,
                           cudaStream_t stream) {
  const bool aligned = is_aligned(dy, dy_stride, cols) && is_aligned(x, x_stride, cols) &&
                       is_aligned(weight, 0, cols) && is_aligned(dx, dx_stride, cols);
  const int blocks = blocks_for(cols, kMostColumns<T>);
  const int most_groups = rmsnorm_groups(rows);  // as scratch has room for
  int groups = with_shape<T>(aligned, cols, blocks, kEnoughBytes, [&](auto shape) {
    constexpr int V = shape.V, kColumns = shape.kColumns;
    const auto kernel =
        blocks > 1 ? backward_kernel<T, V, kColumns, true> : backward_kernel<T, V, kColumns, false>;
    return launch_groups(kernel, shape, rows, most_groups, stream, dy, dy_stride, x, x_stride,
                         weight, rstd, dx, dx_stride, scratch, order, rows, cols);
  });
  if (groups == 0 && rows > 0) {  // this GPU has no room for a row
    groups = plain_backward<false>(dy, dy_stride, x, x_stride, weight, nullptr, rstd, dx, dx_stride,
                                   scratch, nullptr, order == CastOrder::llama, most_groups, rows,
                                   cols, stream);
  }
  // Also if there are no rows: the sums over none of them are 0.
  launch_early(sum_groups_kernel<T>, (cols - 1) / kSumColumns + 1,
               dim3(kSumColumns, min(max(groups, 1), kSlices)), stream, scratch, dweight, groups,
               cols);
}

}  // namespace onepass
