// LayerNorm forward, version 1: packs. A thread loads and stores 16 bytes per access, or as many as
// alignment allows: fewer requests, and more bytes in flight.
//
// Version 0, the plain solution, moves one column per access. In version 2 the row stays in
// registers.

#include <onepass/fast.h>
#include <onepass/layernorm.h>

namespace onepass {

constexpr int kThreads = 256;  // per row

/// One block per row, which is loaded three times. The loops are unrolled: several loads are in
/// flight before the first is needed.
template <typename T, int V>
__global__ void layernorm_kernel(const T* __restrict__ x, int64_t x_stride,
                                 const T* __restrict__ weight, const T* __restrict__ bias,
                                 T* __restrict__ y, int64_t y_stride, float* __restrict__ mean,
                                 float* __restrict__ rstd, int cols, float eps) {
  using RowPack = Pack<T, V>;
  RowSum<false> row_sum;
  const int64_t row = blockIdx.x;
  const int packs = cols / V;  // of the row
  const auto* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
  auto* y_row = reinterpret_cast<RowPack*>(y + row * y_stride);

  float sum = 0.0f;
#pragma unroll 4
  for (int i = threadIdx.x; i < packs; i += kThreads) {
    const RowPack x_pack = x_row[i];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      sum += value_of(x_pack, j);
    }
  }
  const float row_mean = row_sum(sum) / cols;

  float squares = 0.0f;
#pragma unroll 4
  for (int i = threadIdx.x; i < packs; i += kThreads) {
    const RowPack x_pack = x_row[i];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float centred = value_of(x_pack, j) - row_mean;
      squares += centred * centred;
    }
  }
  const float row_rstd = rsqrtf(row_sum(squares) / cols + eps);
  if (threadIdx.x == 0) {
    mean[row] = row_mean;
    rstd[row] = row_rstd;
  }

#pragma unroll 4
  for (int i = threadIdx.x; i < packs; i += kThreads) {
    const RowPack x_pack = x_row[i];
    const RowPack weights = pack_or<false, V>(weight, i, 1.0f);
    const RowPack biases = pack_or<false, V>(bias, i, 0.0f);
    RowPack pack;
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float x_hat = (value_of(x_pack, j) - row_mean) * row_rstd;
      pack.values[j] = static_cast<T>(x_hat * value_of(weights, j) + value_of(biases, j));
    }
    y_row[i] = pack;
  }
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
    layernorm_kernel<T, pack.value><<<rows, kThreads, 0, stream>>>(x, x_stride, weight, bias, y,
                                                                   y_stride, mean, rstd, cols, eps);
  });
}

}  // namespace onepass
