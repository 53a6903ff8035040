// RMSNorm with the residual, version 1: packs. A thread loads and stores 16 bytes per access, or as
// many as alignment allows: fewer requests, and more bytes in flight.
//
// Version 0 moves one column per access. In version 2 the sum stays in registers.

#include <onepass/fast.h>
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 256;  // per row

/// One block per row. No `__restrict__`: sum may be residual, and y may be x.
template <typename T, int V>
__global__ void residual_kernel(const T* x, int64_t x_stride, const T* residual,
                                int64_t residual_stride, const T* weight, T* sum,
                                int64_t sum_stride, T* y, int64_t y_stride, float* rstd, int cols,
                                float eps) {
  using RowPack = Pack<T, V>;
  RowSum<false> row_sum;
  const int64_t row = blockIdx.x;
  const int packs = cols / V;  // of the row
  const auto* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
  const auto* residual_row = reinterpret_cast<const RowPack*>(residual + row * residual_stride);
  const auto* weight_row = reinterpret_cast<const RowPack*>(weight);
  auto* sum_row = reinterpret_cast<RowPack*>(sum + row * sum_stride);
  auto* y_row = reinterpret_cast<RowPack*>(y + row * y_stride);

  float squares = 0.0f;
  for (int i = threadIdx.x; i < packs; i += kThreads) {
    const RowPack x_pack = x_row[i];
    const RowPack other = residual_row[i];
    RowPack pack;
#pragma unroll
    for (int j = 0; j < V; ++j) {
      pack.values[j] = static_cast<T>(value_of(x_pack, j) + value_of(other, j));
    }
#pragma unroll
    for (int j = 0; j < V; ++j) {
      squares += value_of(pack, j) * value_of(pack, j);
    }
    sum_row[i] = pack;
  }
  const float row_rstd = rsqrtf(row_sum(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = row_rstd;
  }

  for (int i = threadIdx.x; i < packs; i += kThreads) {
    const RowPack sum_pack = sum_row[i];
    const RowPack weight_pack = weight_row[i];
    RowPack pack;
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float normalized = value_of(sum_pack, j) * row_rstd;
      pack.values[j] = static_cast<T>(normalized * value_of(weight_pack, j));
    }
    y_row[i] = pack;
  }
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
    residual_kernel<T, pack.value>
        <<<rows, kThreads, 0, stream>>>(x, x_stride, residual, residual_stride, weight, sum,
                                        sum_stride, y, y_stride, rstd, cols, eps);
  });
}

}  // namespace onepass
