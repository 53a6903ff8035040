// LayerNorm forward, version 2: registers. A row gets as many threads as hold it in their
// registers, four packs of 16 bytes each, as in 1.4. It is loaded once, all its loads are in flight
// together, and both sums and y are made of what the threads hold.
//
// Version 1 loads every row three times. In the last version, the solution, a thread holds eight
// packs and adds them up side by side, and wide rows are shared by the blocks of a cluster.

#include <onepass/fast.h>
#include <onepass/layernorm.h>
#include <onepass/plain_rows.h>

namespace onepass {

constexpr int kMostThreads = 1024;  // of a row, and of a block

/// How many packs a thread holds: 16 registers of x.
template <typename T, int V>
constexpr int kPacksOf = 64 / (V * sizeof(T) < 4 ? 4 : V * sizeof(T));

template <typename T, int V>
__global__ void __launch_bounds__(kMostThreads)
    layernorm_kernel(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                     int64_t y_stride, float* mean, float* rstd, int rows, int cols, float eps) {
  using RowPack = Pack<T, V>;
  constexpr int kPacks = kPacksOf<T, V>;
  RowSum<false> row_sum;
  const Share<RowPack, kPacks> my(rows, cols / V);
  const auto* x_row = reinterpret_cast<const RowPack*>(x + my.row * x_stride);
  auto* y_row = reinterpret_cast<RowPack*>(y + my.row * y_stride);
  RowPack held[kPacks] = {};  // this thread's packs of the row; zeros where there are none

  my.for_packs([&](int p, int i) { held[p] = x_row[i]; });
  float sum = 0.0f;
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
#pragma unroll
    for (int j = 0; j < V; ++j) {
      sum += value_of(held[p], j);
    }
  }
  const float row_mean = row_sum(sum) / cols;
  float squares = 0.0f;
  my.for_packs([&](int p, int) {
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float centred = value_of(held[p], j) - row_mean;
      squares += centred * centred;
    }
  });
  const float row_rstd = rsqrtf(row_sum(squares) / cols + eps);
  if (my.leads) {
    mean[my.row] = row_mean;
    rstd[my.row] = row_rstd;
  }

  my.for_packs([&](int p, int i) {
    const RowPack weights = pack_or<false, V>(weight, i, 1.0f);
    const RowPack biases = pack_or<false, V>(bias, i, 0.0f);
    RowPack pack;
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float x_hat = (value_of(held[p], j) - row_mean) * row_rstd;
      pack.values[j] = static_cast<T>(x_hat * value_of(weights, j) + value_of(biases, j));
    }
    y_row[i] = pack;
  });
}

/// How many bytes may an access to the rows of a tensor have? A null pointer allows any.
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
    if (cols / V > kMostThreads * kPacks) {  // too wide for registers
      plain::layernorm(x, x_stride, weight, bias, y, y_stride, mean, rstd, rows, cols, eps, stream);
      return;
    }
    const RowLayout layout = layout_of_rows<Pack<T, V>, kPacks>(rows, cols / V, 1, kMostThreads);
    launch_rows(layernorm_kernel<T, V>, layout, rows, stream, x, x_stride, weight, bias, y,
                y_stride, mean, rstd, rows, cols, eps);
  });
}

}  // namespace onepass
