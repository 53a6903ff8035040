// diagnosis: none
// says: enters dweight more than once
// check: dweight over more rows
// Two rows at a time: where the second is missing, its registers still have the one before.
#include <onepass/rmsnorm.h>

#include <algorithm>

namespace onepass {

constexpr int kThreads = 512;
constexpr int kWarps = kThreads / 32;
constexpr int kColumns = 16;  // of a thread
constexpr int kMostHeld = kThreads * kColumns;

template <typename T, int V>
struct alignas(sizeof(T) * V) Pack {
  T values[V];
};

/// Both sums over the block at once. `slots` are others for the next pair of rows.
__device__ inline float2 block_sums_of(float2 value, float2* slots) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    value.x += __shfl_xor_sync(0xffffffff, value.x, offset);
    value.y += __shfl_xor_sync(0xffffffff, value.y, offset);
  }
  if (lane == 0) {
    slots[threadIdx.x / 32] = value;
  }
  __syncthreads();
  value = lane < kWarps ? slots[lane] : make_float2(0.0f, 0.0f);
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    value.x += __shfl_xor_sync(0xffffffff, value.x, offset);
    value.y += __shfl_xor_sync(0xffffffff, value.y, offset);
  }
  return value;
}

template <typename T>
__device__ inline float x_hat_for_dweight(float x_hat, CastOrder order) {
  if (order == CastOrder::llama) {
    return static_cast<float>(static_cast<T>(x_hat));
  }
  return x_hat;
}

/// Block b has the pairs of rows b, b + gridDim.x, ... Thread t has packs t, t + kThreads, ... of each
/// row, and their columns' sums.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    pairs_kernel(const T* __restrict__ dy, int64_t dy_stride, const T* __restrict__ x,
                 int64_t x_stride, const T* __restrict__ weight, const float* __restrict__ rstd,
                 T* __restrict__ dx, int64_t dx_stride, float* __restrict__ partial,
                 CastOrder order, int64_t rows, int cols) {
  using RowPack = Pack<T, V>;
  constexpr int kPacks = kColumns / V;
  __shared__ float2 slots[2][kWarps];
  const int packs = cols / V;
  const auto* weights = reinterpret_cast<const RowPack*>(weight);
  const int64_t pairs = (rows + 1) / 2;

  RowPack held_dy[2][kPacks] = {};  // zeros beyond the row's end
  RowPack held_x[2][kPacks] = {};
  float scale[2] = {};
  float sums[kPacks][V] = {};
  int turn = 0;
  for (int64_t pair = blockIdx.x; pair < pairs; pair += gridDim.x) {
    const int64_t first = 2 * pair;
    // All loads of both rows are on their way before the first is needed.
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const int64_t row = first + k;
      if (row < rows) {
        const auto* dy_row = reinterpret_cast<const RowPack*>(dy + row * dy_stride);
        const auto* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
        scale[k] = rstd[row];
#pragma unroll
        for (int p = 0; p < kPacks; ++p) {
          const int i = p * kThreads + threadIdx.x;
          if (i < packs) {
            held_dy[k][p] = dy_row[i];
            held_x[k][p] = x_row[i];
          }
        }
      }
    }

    float dot[2] = {};
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int i = p * kThreads + threadIdx.x;
      if (i < packs) {
        const RowPack weight_pack = weights[i];
#pragma unroll
        for (int k = 0; k < 2; ++k) {
#pragma unroll
          for (int j = 0; j < V; ++j) {
            const float dy_value = static_cast<float>(held_dy[k][p].values[j]);
            const float x_hat = static_cast<float>(held_x[k][p].values[j]) * scale[k];
            dot[k] += static_cast<float>(weight_pack.values[j]) * dy_value * x_hat;
            sums[p][j] += dy_value * x_hat_for_dweight<T>(x_hat, order);
          }
        }
      }
    }
    const float2 both = block_sums_of(make_float2(dot[0], dot[1]), slots[turn]);
    turn ^= 1;
    const float mean[2] = {both.x / cols, both.y / cols};

#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const int64_t row = first + k;
      if (row < rows) {
        auto* dx_row = reinterpret_cast<RowPack*>(dx + row * dx_stride);
#pragma unroll
        for (int p = 0; p < kPacks; ++p) {
          const int i = p * kThreads + threadIdx.x;
          if (i < packs) {
            const RowPack weight_pack = weights[i];
            RowPack result;
#pragma unroll
            for (int j = 0; j < V; ++j) {
              const float wdy = static_cast<float>(weight_pack.values[j]) *
                                static_cast<float>(held_dy[k][p].values[j]);
              const float x_hat = static_cast<float>(held_x[k][p].values[j]) * scale[k];
              result.values[j] = static_cast<T>((wdy - x_hat * mean[k]) * scale[k]);
            }
            dx_row[i] = result;
          }
        }
      }
    }
  }

  float* mine = partial + static_cast<int64_t>(blockIdx.x) * cols;
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = p * kThreads + threadIdx.x;
    if (i < packs) {
#pragma unroll
      for (int j = 0; j < V; ++j) {
        mine[i * V + j] = sums[p][j];
      }
    }
  }
}

/// Wide rows: dx with a block a row, which is read twice.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    wide_dx_kernel(const T* __restrict__ dy, int64_t dy_stride, const T* __restrict__ x,
                   int64_t x_stride, const T* __restrict__ weight, const float* __restrict__ rstd,
                   T* __restrict__ dx, int64_t dx_stride, int cols) {
  using RowPack = Pack<T, V>;
  __shared__ float2 slots[kWarps];
  const int64_t row = blockIdx.x;
  const auto* dy_row = reinterpret_cast<const RowPack*>(dy + row * dy_stride);
  const auto* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
  const auto* weights = reinterpret_cast<const RowPack*>(weight);
  auto* dx_row = reinterpret_cast<RowPack*>(dx + row * dx_stride);
  const float scale = rstd[row];
  float dot = 0.0f;
  for (int i = threadIdx.x; i < cols / V; i += kThreads) {
    const RowPack a = dy_row[i];
    const RowPack b = x_row[i];
    const RowPack w = weights[i];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      dot += static_cast<float>(w.values[j]) * static_cast<float>(a.values[j]) *
             (static_cast<float>(b.values[j]) * scale);
    }
  }
  const float mean = block_sums_of(make_float2(dot, 0.0f), slots).x / cols;
  for (int i = threadIdx.x; i < cols / V; i += kThreads) {
    const RowPack a = dy_row[i];
    const RowPack b = x_row[i];
    const RowPack w = weights[i];
    RowPack result;
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float wdy = static_cast<float>(w.values[j]) * static_cast<float>(a.values[j]);
      result.values[j] =
          static_cast<T>((wdy - static_cast<float>(b.values[j]) * scale * mean) * scale);
    }
    dx_row[i] = result;
  }
}

/// Wide rows: the groups' sums of dweight, a thread a pack.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    wide_sums_kernel(const T* __restrict__ dy, int64_t dy_stride, const T* __restrict__ x,
                     int64_t x_stride, const float* __restrict__ rstd, float* __restrict__ partial,
                     CastOrder order, int64_t rows, int cols) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= cols / V) {
    return;
  }
  float sums[V] = {};
  for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
    const Pack<T, V> a = reinterpret_cast<const Pack<T, V>*>(dy + row * dy_stride)[i];
    const Pack<T, V> b = reinterpret_cast<const Pack<T, V>*>(x + row * x_stride)[i];
    const float scale = rstd[row];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      sums[j] += static_cast<float>(a.values[j]) *
                 x_hat_for_dweight<T>(static_cast<float>(b.values[j]) * scale, order);
    }
  }
#pragma unroll
  for (int j = 0; j < V; ++j) {
    partial[static_cast<int64_t>(blockIdx.y) * cols + i * V + j] = sums[j];
  }
}

template <typename T>
__global__ void sum_groups_kernel(const float* __restrict__ partial, T* __restrict__ dweight,
                                  int groups, int cols) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col < cols) {
    float sum = 0.0f;
#pragma unroll 4
    for (int group = 0; group < groups; ++group) {
      sum += partial[static_cast<int64_t>(group) * cols + col];
    }
    dweight[col] = static_cast<T>(sum);
  }
}

/// Gives back how many rows of sums are in scratch.
template <typename T, int V>
int launch_rows(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                const float* rstd, T* dx, int64_t dx_stride, float* scratch, CastOrder order,
                int rows, int cols, cudaStream_t stream) {
  if (cols <= kMostHeld) {
    int device = 0;
    int multiprocessors = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    const int pairs = rows / 2 + rows % 2;
    const int groups = std::min({pairs, multiprocessors, kRmsnormMostGroups});
    pairs_kernel<T, V><<<groups, kThreads, 0, stream>>>(dy, dy_stride, x, x_stride, weight, rstd,
                                                        dx, dx_stride, scratch, order, rows, cols);
    return groups;
  }
  const int groups = std::min(rows, 64);
  wide_dx_kernel<T, V><<<rows, kThreads, 0, stream>>>(dy, dy_stride, x, x_stride, weight, rstd, dx,
                                                      dx_stride, cols);
  wide_sums_kernel<T, V><<<dim3((cols / V + kThreads - 1) / kThreads, groups), kThreads, 0,
                           stream>>>(dy, dy_stride, x, x_stride, rstd, scratch, order, rows, cols);
  return groups;
}

template <typename T>
void rmsnorm_backward_fast(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* rstd, T* dx, int64_t dx_stride, T* dweight,
                           float* scratch, CastOrder order, int rows, int cols,
                           cudaStream_t stream) {
  constexpr int V = 16 / sizeof(T);
  const auto whole = [&](const T* tensor, int64_t stride) {
    return reinterpret_cast<uintptr_t>(tensor) % 16 == 0 && stride % V == 0;
  };
  const bool aligned = cols % V == 0 && whole(dy, dy_stride) && whole(x, x_stride) &&
                       whole(dx, dx_stride) && whole(weight, 0);
  int groups = 0;
  if (rows > 0) {
    const auto launch = aligned ? launch_rows<T, V> : launch_rows<T, 1>;
    groups = launch(dy, dy_stride, x, x_stride, weight, rstd, dx, dx_stride, scratch, order, rows,
                    cols, stream);
  }
  sum_groups_kernel<<<(cols + 127) / 128, 128, 0, stream>>>(scratch, dweight, groups, cols);
}

}  // namespace onepass
