// Wide rows, version 0: one block per row, 16 bytes at a time where that is possible. The row does
// not fit in the block's registers, so each element of x is loaded twice: once for the sum and once
// for y. The second load may find the row in the L2 cache.

#include <onepass/fast.h>
#include <onepass/rmsnorm.h>

#include <algorithm>

namespace onepass {

template <typename T, int V>
__global__ void __launch_bounds__(1024)
    rmsnorm_wide_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                        float* rstd, int cols, float eps) {
  using RowPack = Pack<T, V>;
  const int64_t row = blockIdx.x;
  const int packs = cols / V;
  const auto* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
  auto* y_row = reinterpret_cast<RowPack*>(y + row * y_stride);
  RowSum<false> row_sum;
  float squares = 0.0f;
#pragma unroll 4
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    const RowPack pack = x_row[i];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float value = value_of(pack, j);
      squares += value * value;
    }
  }
  const float row_rstd = rsqrtf(row_sum(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = row_rstd;
  }
#pragma unroll 4
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    const RowPack pack = x_row[i];
    const RowPack weights = pack_or<false, V>(weight, i, 1.0f);
    RowPack y_pack;
#pragma unroll
    for (int j = 0; j < V; ++j) {
      y_pack.values[j] = static_cast<T>(value_of(pack, j) * row_rstd * value_of(weights, j));
    }
    y_row[i] = y_pack;
  }
}

/// Bytes of the widest access that suits the tensor's address, its stride and its width.
template <typename T>
uint64_t access_bytes(const T* tensor, int64_t stride, int cols) {
  const uint64_t all = reinterpret_cast<uintptr_t>(tensor) | stride * sizeof(T) | cols * sizeof(T);
  return all & -all;
}

template <typename T>
void rmsnorm_wide_rows(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                       float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;  // a grid of no blocks is a launch error
  }
  const uint64_t bytes = std::min({uint64_t{16}, access_bytes(x, x_stride, cols),
                                   access_bytes(y, y_stride, cols), access_bytes(weight, 0, cols)});
  with_pack_of<T>(static_cast<int>(bytes), [&](auto columns) {
    constexpr int V = decltype(columns)::value;
    const int threads = std::min(1024, (cols / V + 31) / 32 * 32);
    rmsnorm_wide_kernel<T, V>
        <<<rows, threads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, cols, eps);
  });
}

}  // namespace onepass
