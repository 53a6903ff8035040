// Exercise 1.5: RMSNorm with the residual connection in front of it.
//
//     x, residual, sum, y  [rows, cols]  each with a stride of its own, at any address
//     weight               [cols]
//     rstd                 [rows]        fp32
//
//     sum[r][c] = T(x[r][c] + residual[r][c])     rounded, and what is normalised
//     rstd[r]   = 1 / sqrt(mean over c of sum[r][c]^2 + eps)
//     y[r][c]   = sum[r][c] * rstd[r] * weight[c]
//
// In place: sum may be residual, and y may be x.
//
// Two operators in one kernel: 4 tensors are moved instead of 6. The row of sums stays in registers
// as in 1.4. A row too wide for the registers of a block is shared by the blocks of a cluster: that
// is given, as are packs, the sum over a row and the launch. Read onepass/fast.h first.
//
// Grade it:   build/onepass grade 1.5
// Read first: docs/01_rmsnorm.md, "1.5 With the residual"

#include <onepass/fast.h>
#include <onepass/plain_rows.h>
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kMostThreads = 512;  // of a row in a block

/// How many packs a thread holds: 16 registers of x, of residual, and of the weights.
template <typename T, int V>
constexpr int kPacksOf = 64 / (V * sizeof(T) < 4 ? 4 : V * sizeof(T));

/// V columns per pack. kCluster: gridDim.y blocks, a cluster, share a row. At least two blocks have
/// to fit on an SM, so that one loads while another stores.
template <typename T, int V, bool kCluster>
__global__ void __launch_bounds__(kMostThreads, 2)
    residual_kernel(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                    const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                    float* rstd, int rows, int cols, float eps) {
  using RowPack = Pack<T, V>;
  constexpr int kPacks = kPacksOf<T, V>;
  RowSum<kCluster> row_sum;
  const Share<RowPack, kPacks, kCluster> my(rows, cols / V);
  const auto* x_row = reinterpret_cast<const RowPack*>(x + my.row * x_stride);
  const auto* residual_row = reinterpret_cast<const RowPack*>(residual + my.row * residual_stride);
  const auto* weight_row = reinterpret_cast<const RowPack*>(weight);
  auto* sum_row = reinterpret_cast<RowPack*>(sum + my.row * sum_stride);
  auto* y_row = reinterpret_cast<RowPack*>(y + my.row * y_stride);
  RowPack held[kPacks] = {};  // this thread's packs of x; zeros where there are none
  RowPack other[kPacks] = {};
  RowPack weights[kPacks];
  my.for_packs([&](int p, int i) { held[p] = x_row[i]; });
  my.for_packs([&](int p, int i) { other[p] = residual_row[i]; });
  my.for_packs([&](int p, int i) { weights[p] = weight_row[i]; });  // early: see 1.4

  // TODO 1: add. For each p below kPacks make a new RowPack: held[p] plus other[p], element by
  // element, value_of() both, rounded to T. Keep it in held[p]. (Change no element of held[p]
  // itself: two of 16 bits are one register.)

  float row_rstd = 0.0f;
  // TODO 2: reduce. Add up the squares of all held values, row_sum() them, and save row_rstd, as in
  // 1.4.

  my.for_packs([&](int p, int i) {
    // TODO 1, at last: store held[p] in sum_row[i]. (Not before the sum over the row: stores would
    // be in the way of other rows' loads.)
    // TODO 3: broadcast. Make a pack of y: the values of held[p] times row_rstd times those of
    // weights[p], converted to T at the very end. Store it in y_row[i].
  });
}

/// How many bytes may an access to the rows of a tensor have (exercise 1.4)?
template <typename T>
int access_bytes(const T* tensor, int64_t stride, int cols) {
  int bytes = sizeof(T);
  for (const int64_t size : {4, 8, 16}) {
    const bool divides = reinterpret_cast<uintptr_t>(tensor) % size == 0 &&
                         stride * sizeof(T) % size == 0 && cols * sizeof(T) % size == 0;
    bytes = divides ? size : bytes;
  }
  return bytes;
}

template <typename T>
void rmsnorm_residual(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                      const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                      float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;  // a grid of no blocks is a launch error
  }
  const int bytes =
      min(min(min(access_bytes(x, x_stride, cols), access_bytes(residual, residual_stride, cols)),
              min(access_bytes(sum, sum_stride, cols), access_bytes(y, y_stride, cols))),
          access_bytes(weight, 0, cols));
  with_pack_of<T>(bytes, [&](auto pack) {
    constexpr int V = pack.value;
    constexpr int kPacks = kPacksOf<T, V>;
    const int blocks = blocks_of_row(cols / V, kPacks);
    const RowLayout layout =
        layout_of_rows<Pack<T, V>, kPacks>(rows, cols / V, blocks, kMostThreads);
    if (layout.threads > kMostThreads) {  // a GPU without clusters
      plain::rmsnorm_residual(x, x_stride, residual, residual_stride, weight, sum, sum_stride, y,
                              y_stride, rstd, rows, cols, eps, stream);
      return;
    }
    auto* kernel = blocks > 1 ? residual_kernel<T, V, true> : residual_kernel<T, V, false>;
    launch_rows(kernel, layout, rows, stream, x, x_stride, residual, residual_stride, weight, sum,
                sum_stride, y, y_stride, rstd, rows, cols, eps);
  });
}

}  // namespace onepass
