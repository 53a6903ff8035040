// A rung of the ladder of 1.6: dy and x are loaded 16 bytes at a time, and the row stays in
// registers until its dx is stored. It is loaded when its turn comes: nothing is in flight while it
// is summed.

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
                    CastOrder order, int rows, int cols, int /*slots*/) {
  using RowPack = Pack<T, V>;
  constexpr int kPacks = kColumns / V;
  let_next_kernel_begin();
  Ring<T, V, kPacks, false> ring(dy, dy_stride, x, x_stride, rows, cols);
  RowSums<kCluster> row_sums;
  unsigned row = ring.first_row;      // this thread's
  RowPack weights[kPacks] = {};       // of this thread's columns
  float sum_dweight[kPacks][V] = {};  // of the same columns, over this thread's rows
  const auto* weight_packs = reinterpret_cast<const RowPack*>(weight + ring.first_column);
  for_packs<kPacks>(ring.first, ring.end(0), [&](int p, int i) { weights[p] = weight_packs[i]; });
  float next_rstd = row < rows ? rstd[row] : 0.0f;  // loaded one row ahead
  const float per_column = 1.0f / cols;             // a division in each row would take long
  // All threads of a block take equally many steps. In the last one, some may have no row.
  for (; row - threadIdx.y < rows; row += ring.step) {
    const unsigned next = row + ring.step;
    const float row_rstd = next_rstd;
    next_rstd = next < rows ? rstd[next] : 0.0f;
    const T* dy_row = dy + row * dy_stride + ring.first_column;
    const T* x_row = x + row * x_stride + ring.first_column;
    RowPack held_dy[kPacks];
    RowPack held_x[kPacks];
    for_packs<kPacks>(ring.first, ring.end(row), [&](int p, int i) {
      held_dy[p] = reinterpret_cast<const RowPack*>(dy_row)[i];
      held_x[p] = reinterpret_cast<const RowPack*>(x_row)[i];
    });

    float sum = 0.0f;  // over the row, of wdy * x̂ with wdy = weight * dy
    for_packs<kPacks>(ring.first, ring.end(row), [&](int p, int) {
      const RowPack dy_pack = held_dy[p];
      const RowPack x_pack = held_x[p];
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const float dy_value = value_of(dy_pack, j);
        const float x_hat = value_of(x_pack, j) * row_rstd;
        sum += value_of(weights[p], j) * dy_value * x_hat;
        sum_dweight[p][j] += dy_value * x_hat_for_dweight<T>(x_hat, order);
      }
    });

    const float mean_wdy_hat = row_sums({sum, 0.0f}).x * per_column;
    const float slope = mean_wdy_hat * row_rstd;
    auto* dx_packs = reinterpret_cast<RowPack*>(dx + row * dx_stride + ring.first_column);
    for_packs<kPacks>(ring.first, ring.end(row), [&](int p, int i) {
      const RowPack dy_pack = held_dy[p];
      const RowPack x_pack = held_x[p];
      RowPack dx_pack;
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const float wdy = value_of(weights[p], j) * value_of(dy_pack, j);
        dx_pack.values[j] = static_cast<T>((wdy - value_of(x_pack, j) * slope) * row_rstd);
      }
      dx_packs[i] = dx_pack;
    });
  }

  float* meet = reinterpret_cast<float*>(ring.memory());  // [blockDim.y, most]
  const int most = blockDim.x * kColumns;
  const int columns = ring.end(0) * V;  // of this block
  const int thread = threadIdx.y * blockDim.x + threadIdx.x;
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
}

/// Adds up the groups' sums (a group is a block or a cluster). Thread (c, s) has groups s,
/// s + blockDim.y, ... of column c of its block's kSumColumns columns.
template <typename T>
__global__ void sum_groups_kernel(const float* partial, T* dweight, int groups, int cols) {
  wait_for_kernel_before();
  const int column = blockIdx.x * kSumColumns + threadIdx.x;
  __shared__ float slices[kSlices][kSumColumns];
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
}

/// Can every row of a tensor be accessed in packs of 16 bytes?
template <typename T>
bool is_aligned(const T* tensor, int64_t stride, int cols) {
  constexpr int V = 16 / sizeof(T);
  if (reinterpret_cast<uintptr_t>(tensor) % 16 == 0 && stride % V == 0 && cols % V == 0) {
    return true;
  }
  return false;
}

/// How many blocks share a row of so many columns, of which each takes most_columns at most.
inline int blocks_for(int cols, int most_columns) {
  int blocks = 1;
  while (has_clusters() && blocks * most_columns < cols && blocks < kMostBlocks) {
    blocks = blocks < 5 ? blocks + 1 : kMostBlocks;
  }
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
