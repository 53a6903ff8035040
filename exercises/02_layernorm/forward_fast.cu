// Exercise 2.5: LayerNorm at the speed of memory.
//
//     x, y          [rows, cols]  rows x_stride and y_stride elements apart, at any address
//     weight, bias  [cols]        each may be null: a layer without it
//     mean          [rows]        mean[r] = mean over c of x[r][c], in fp32
//     rstd          [rows]        rstd[r] = 1 / sqrt(mean over c of (x[r][c] - mean[r])^2 + eps)
//                                 y[r][c] = (x[r][c] - mean[r]) * rstd[r] * weight[c] + bias[c]
//
// The function of exercise 2.1, which loads a row three times. Here the row is loaded once, as in
// 1.4, and the three loops go over registers. What changes with two sums:
//   - A row waits twice for all of its threads. So a thread holds twice as many packs as in 1.4: a
//     row has fewer warps to wait for, and more bytes in flight while it waits.
//   - Weight and bias come late, from the L1 cache: there are no registers left for them.
//   - A very wide row is shared by the blocks of a cluster.
// Packs, the sum over a row and the launch are given: read onepass/fast.h first.
//
// Grade it:   build/onepass grade 2.5
// Read first: docs/02_layernorm.md, "2.5 Forward, at the speed of memory"

#include <onepass/fast.h>
#include <onepass/layernorm.h>
#include <onepass/plain_rows.h>

namespace onepass {

/// How many packs a thread holds: 32 registers of 16-byte packs, 16 registers of smaller ones.
template <typename T, int V>
constexpr int kPacksOf = V * sizeof(T) == 16  ? 8
                         : V * sizeof(T) == 4 ? 16
                                              : 16;

/// Threads of a row in a block, at most. An SM has room for 1024, which leaves 64 registers each.
template <typename T, int V>
constexpr int kMostThreads = V * sizeof(T) == 16 ? 512 : 1024;

/// V columns per pack. kAffine: neither weight nor bias is null. kCluster: gridDim.y blocks share a
/// row.
template <typename T, int V, bool kAffine, bool kCluster>
__global__ void __launch_bounds__(kMostThreads<T, V>, 1024 / kMostThreads<T, V>)
    layernorm_kernel(const T* x, int64_t x_stride, const T* __restrict__ weight,
                     const T* __restrict__ bias, T* y, int64_t y_stride, float* mean, float* rstd,
                     int rows, int cols, float eps) {
  using RowPack = Pack<T, V>;
  constexpr int kPacks = kPacksOf<T, V>;
  RowSum<kCluster> row_sum;
  const Share<RowPack, kPacks, kCluster> my(rows, cols / V);
  const auto* x_row = reinterpret_cast<const RowPack*>(x + my.row * x_stride);
  auto* y_row = reinterpret_cast<RowPack*>(y + my.row * y_stride);
  RowPack held[kPacks] = {};  // this thread's packs of the row; zeros where there are none
  float row_mean = 0.0f;
  float row_rstd = 0.0f;

  // TODO 1: the row, and its statistics. my.for_packs(body) calls body(p, i) for each pack of this
  // thread: its own number p is number i of the row. Load x_row[i] into held[p], for all packs.
  // Then add up all held values, value_of(held[p], j), in fp32. Write "#pragma unroll" in front of
  // the loops over p and j: held has to stay in registers. Give each pack a sum of its own, so that
  // additions of different packs do not wait for each other. row_sum(sum) is the sum over the row,
  // in each of its threads: divide it by cols, and you have row_mean. Now add up the squares of
  // value - row_mean. A zero beyond the end of the row would count here, so use for_packs() again.
  // row_sum() of the squares, divided by cols, plus eps, and rsqrtf() of that: row_rstd. The thread
  // with my.leads saves both, in mean[my.row] and rstd[my.row].

  // TODO 2: y. For each pack of this thread make a new RowPack from held[p], not from x_row. Its
  // weights and biases are pack_or<kAffine, V>(weight, i, 1.0f) and the same of bias, with 0.0f.
  // Compute (value - row_mean) * row_rstd * weight + bias in floats, convert to T at the very end,
  // and store the pack in y_row[i].
}

/// How many bytes may an access to the rows of a tensor have? A null pointer allows any.
template <typename T>
int access_bytes(const T* tensor, int64_t stride, int cols) {
  int bytes = sizeof(T);
  // TODO 3: as in 1.4, the largest power of two, 16 at most, that divides the address of the first
  // row (reinterpret_cast<uintptr_t>(tensor)), the bytes from one row to the next, and the bytes of
  // a row. Without this every access has one element.
  return bytes;
}

/// How many blocks share a row that `threads` threads hold.
inline int blocks_for(int threads, int most_threads) {
  int blocks = 1;
  // TODO 4: wide rows. One block has the row as long as most_threads threads hold it. A wider row
  // is shared by as few blocks as hold it with 128 threads each, kMostBlocks at most, but only if
  // has_clusters(). Without this a wide row is loaded three times, one element at a time.
  return blocks;
}

template <typename T>
void layernorm_forward_fast(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                            int64_t y_stride, float* mean, float* rstd, int rows, int cols,
                            float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;  // a grid of no blocks is a launch error
  }
  const int bytes = min(min(access_bytes(x, x_stride, cols), access_bytes(y, y_stride, cols)),
                        min(access_bytes(weight, 0, cols), access_bytes(bias, 0, cols)));
  with_pack_of<T>(bytes, [&](auto pack) {
    constexpr int V = pack.value;
    constexpr int kPacks = kPacksOf<T, V>;
    constexpr int kMost = kMostThreads<T, V>;
    const int blocks = blocks_for((cols / V - 1) / kPacks + 1, kMost);
    const RowLayout layout = layout_of_rows<Pack<T, V>, kPacks>(rows, cols / V, blocks, kMost);
    if (layout.threads > kMost) {  // too wide for a block, and no cluster
      plain::layernorm(x, x_stride, weight, bias, y, y_stride, mean, rstd, rows, cols, eps, stream);
      return;
    }
    const bool affine = weight != nullptr && bias != nullptr;
    auto* kernel = blocks > 1 ? affine ? layernorm_kernel<T, V, true, true>
                                       : layernorm_kernel<T, V, false, true>
                   : affine ? layernorm_kernel<T, V, true, false>
                              : layernorm_kernel<T, V, false, false>;
    launch_rows(kernel, layout, rows, stream, x, x_stride, weight, bias, y, y_stride, mean, rstd,
                rows, cols, eps);
  });
}

}  // namespace onepass
