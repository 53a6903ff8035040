// Right: the blocks of a cluster keep their parts in registers, and each reads the others' sums behind a
// cluster.sync(). Version 1 of the ladder of 1.7.

#include <onepass/fast.h>
#include <onepass/plain_rows.h>
#include <onepass/rmsnorm.h>

#include <algorithm>

namespace onepass {

constexpr int kColumns = 32;  // per thread

template <typename T, int V>
__global__ void __launch_bounds__(1024)
    rmsnorm_wide_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                        float* rstd, int cols, float eps) {
  constexpr int kPacks = kColumns / V;
  using RowPack = Pack<T, V>;
  __shared__ float own_sum;
  RowSum<false> block_sum;
  const int64_t row = blockIdx.x;
  const int packs = cols / V;
  const int first = blockIdx.y * kPacks * blockDim.x + threadIdx.x;
  const auto* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
  auto* y_row = reinterpret_cast<RowPack*>(y + row * y_stride);
  RowPack held[kPacks] = {};
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = first + p * static_cast<int>(blockDim.x);
    if (i < packs) {
      held[p] = x_row[i];
    }
  }
  float squares = 0.0f;
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float value = value_of(held[p], j);
      squares += value * value;
    }
  }
  float sum = block_sum(squares);
#ifdef ONEPASS_CLUSTERS
  const auto cluster = cooperative_groups::this_cluster();
  if (threadIdx.x == 0) {
    own_sum = sum;
  }
  cluster.sync();
  sum = 0.0f;
  for (unsigned block = 0; block < gridDim.y; ++block) {
    sum += *cluster.map_shared_rank(&own_sum, block);
  }
#endif
  const float row_rstd = rsqrtf(sum / cols + eps);
  if (first == 0) {
    rstd[row] = row_rstd;
  }
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = first + p * static_cast<int>(blockDim.x);
    if (i < packs) {
      const RowPack weights = pack_or<false, V>(weight, i, 1.0f);
      RowPack y_pack;
#pragma unroll
      for (int j = 0; j < V; ++j) {
        y_pack.values[j] = static_cast<T>(value_of(held[p], j) * row_rstd * value_of(weights, j));
      }
      y_row[i] = y_pack;
    }
  }
#ifdef ONEPASS_CLUSTERS
  cluster.sync();
#endif
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
  int blocks = 1;
  while (has_clusters() && blocks < kMostBlocks && cols > blocks * kColumns * 512) {
    blocks *= 2;
  }
  if (cols > blocks * kColumns * 1024) {
    plain::rmsnorm(x, x_stride, weight, y, y_stride, rstd, rows, cols, eps, stream);
    return;
  }
  const uint64_t bytes = std::min({uint64_t{16}, access_bytes(x, x_stride, cols),
                                   access_bytes(y, y_stride, cols), access_bytes(weight, 0, cols)});
  with_pack_of<T>(static_cast<int>(bytes), [&](auto columns) {
    constexpr int V = decltype(columns)::value;
    const int threads = (cols - 1) / (blocks * kColumns * 32) * 32 + 32;
    launch_rows(rmsnorm_wide_kernel<T, V>, {threads, 1, blocks}, rows, stream, x, x_stride, weight,
                y, y_stride, rstd, cols, eps);
  });
}

}  // namespace onepass
