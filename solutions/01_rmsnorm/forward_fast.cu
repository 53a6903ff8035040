// Exercise 1.4: RMSNorm at the speed of memory.
//
//     x, y    [rows, cols]  rows x_stride and y_stride elements apart, at any address
//     weight  [cols]        or null, which means ones
//     rstd    [rows]        rstd[r] = 1 / sqrt(mean over c of x[r][c]^2 + eps), in fp32
//                           y[r][c] = x[r][c] * rstd[r] * weight[c], rounded to T once
//
// The function of exercise 1.2, and three ideas to make it fast:
//   - A row is read once. Its values stay in registers between reduce and broadcast.
//   - All loads are in flight before the first sum. That includes the weights, which are needed
//     last: otherwise a row waits for memory twice.
//   - An access moves 16 bytes, a pack of neighbouring columns, or as many as alignment allows.
// Packs, the sum over a row and the launch are given: read onepass/fast.h first.
//
// Grade it:   build/onepass grade 1.4
// Read first: docs/01_rmsnorm.md, "1.4 At the speed of memory"

#include <onepass/fast.h>
#include <onepass/plain_rows.h>
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kMostThreads = 512;  // of a row, and of a block

/// How many packs a thread holds: 16 registers of x and as many of the weights, or 32 of x alone.
template <typename T, int V, bool kEarly>
constexpr int kPacksOf = (kEarly ? 64 : 128) / (V * sizeof(T) < 4 ? 4 : V * sizeof(T));

/// V columns per pack. kEarly: weights are loaded before the first sum, and are not null. At least
/// two blocks have to fit on an SM, so that one loads while another stores.
template <typename T, int V, bool kEarly>
__global__ void __launch_bounds__(kMostThreads, 2)
    rmsnorm_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                   float* rstd, int rows, int cols, float eps) {
  using RowPack = Pack<T, V>;
  constexpr int kPacks = kPacksOf<T, V, kEarly>;
  RowSum<false> row_sum;
  const Share<RowPack, kPacks> my(rows, cols / V);
  const auto* x_row = reinterpret_cast<const RowPack*>(x + my.row * x_stride);
  const auto* weight_row = reinterpret_cast<const RowPack*>(weight);
  auto* y_row = reinterpret_cast<RowPack*>(y + my.row * y_stride);
  RowPack held[kPacks] = {};  // this thread's packs of the row; zeros where there are none
  RowPack weights[kPacks];
  float row_rstd = 0.0f;

  // TODO 1: reduce. my.for_packs(body) calls body(p, i) for each pack of this thread: its own
  // number p is number i of the row. Load x_row[i] into held[p], for all packs. If kEarly, load
  // weights[p] next, in a for_packs() of its own: weight_row[i]. Only then add up the squares of
  // all held values, value_of(held[p], j), in fp32: zeros add nothing. Write "#pragma unroll" in
  // front of the loops over p and j: held has to stay in registers. row_sum(squares) is the sum
  // over the row, in each of its threads. Divide by cols, add eps, take rsqrtf(): row_rstd. The
  // thread with my.leads saves it in rstd[my.row].
  // [solution 1]
  my.for_packs([&](int p, int i) { held[p] = x_row[i]; });
  if (kEarly) {
    my.for_packs([&](int p, int i) { weights[p] = weight_row[i]; });
  }
  float squares = 0.0f;
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
#pragma unroll
    for (int j = 0; j < V; ++j) {
      squares += value_of(held[p], j) * value_of(held[p], j);
    }
  }
  row_rstd = rsqrtf(row_sum(squares) / cols + eps);
  if (my.leads) {
    rstd[my.row] = row_rstd;
  }
  // [end]

  // TODO 2: broadcast. For each pack of this thread make a new RowPack from held[p], not from
  // x_row: x has been read. Its weights are weights[p], or if they did not come early
  // pack_or<false, V>(weight, i, 1.0f). Multiply value, row_rstd and weight as floats, convert to T
  // at the very end, and store the pack in y_row[i].
  // [solution 2]
  my.for_packs([&](int p, int i) {
    const RowPack weight_pack = kEarly ? weights[p] : pack_or<false, V>(weight, i, 1.0f);
    RowPack pack;
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float normalized = value_of(held[p], j) * row_rstd;
      pack.values[j] = static_cast<T>(normalized * value_of(weight_pack, j));
    }
    y_row[i] = pack;
  });
  // [end]
}

/// How many bytes may an access to the rows of a tensor have? A null pointer allows any.
template <typename T>
int access_bytes(const T* tensor, int64_t stride, int cols) {
  int bytes = sizeof(T);
  // TODO 3: the largest power of two, 16 at most, that divides the address of the first row
  // (reinterpret_cast<uintptr_t>(tensor)), the bytes from one row to the next, and the bytes of a
  // row. Without this every access has one element.
  // [solution 3]
  for (const int64_t size : {4, 8, 16}) {
    const bool divides = reinterpret_cast<uintptr_t>(tensor) % size == 0 &&
                         stride * sizeof(T) % size == 0 && cols * sizeof(T) % size == 0;
    bytes = divides ? size : bytes;
  }
  // [end]
  return bytes;
}

template <typename T>
void rmsnorm_forward_fast(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                          float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;  // a grid of no blocks is a launch error
  }
  const int bytes = min(access_bytes(weight, 0, cols),
                        min(access_bytes(x, x_stride, cols), access_bytes(y, y_stride, cols)));
  with_pack_of<T>(bytes, [&](auto pack) {
    constexpr int V = pack.value;
    using RowPack = Pack<T, V>;
    constexpr int kPacks = kPacksOf<T, V, true>;
    constexpr int kMorePacks = kPacksOf<T, V, false>;
    const int packs = cols / V;
    if (packs <= kMostThreads * kPacks && weight != nullptr) {
      launch_rows(rmsnorm_kernel<T, V, true>,
                  layout_of_rows<RowPack, kPacks>(rows, packs, 1, kMostThreads), rows, stream, x,
                  x_stride, weight, y, y_stride, rstd, rows, cols, eps);
    } else if (packs <= kMostThreads * kMorePacks) {
      launch_rows(rmsnorm_kernel<T, V, false>,
                  layout_of_rows<RowPack, kMorePacks>(rows, packs, 1, kMostThreads), rows, stream,
                  x, x_stride, weight, y, y_stride, rstd, rows, cols, eps);
    } else {  // too wide for registers: exercise 1.7
      plain::rmsnorm(x, x_stride, weight, y, y_stride, rstd, rows, cols, eps, stream);
    }
  });
}

}  // namespace onepass
