// Right: 264 persistent blocks of 512 threads whatever the width, a ring without a barrier before the refill.
// slow: many shuffles for rows of a few columns

#include <onepass/layernorm.h>
#include <cuda_pipeline.h>

// Persistent blocks. Rows come through a ring of two stages in shared memory, by cp.async.
namespace onepass {

constexpr int kThreads = 512;
constexpr int kEach = 16;  // columns of a thread that are kept in registers

__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// Both sums over all threads of the block, in every thread.
__device__ inline float2 block_sums_of(float2 sums) {
  __shared__ float2 partial[32];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warps = blockDim.x / 32;
  sums = make_float2(warp_sum(sums.x), warp_sum(sums.y));
  __syncthreads();
  if (lane == 0) {
    partial[warp] = sums;
  }
  __syncthreads();
  sums = lane < warps ? partial[lane] : make_float2(0.0f, 0.0f);
  return make_float2(warp_sum(sums.x), warp_sum(sums.y));
}

template <typename T, int V>
struct alignas(sizeof(T) * V) Pack {
  T values[V];
};

template <typename T>
inline bool is_aligned(const T* pointer, int64_t stride) {
  return reinterpret_cast<uintptr_t>(pointer) % 16 == 0 &&
         stride * static_cast<int64_t>(sizeof(T)) % 16 == 0;
}

/// Two rows of dy and of x in shared memory: while one is summed, the next is on its way.
template <typename T>
__global__ void __launch_bounds__(kThreads) ring_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                const float* mean, const float* rstd, T* dx, int64_t dx_stride,
                float* partial_dweight, float* partial_dbias, int rows, int cols) {
  extern __shared__ __align__(16) unsigned char memory[];
  constexpr int V = 16 / sizeof(T);
  T* ring = reinterpret_cast<T*>(memory);  // [2][dy, x][cols]
  const auto fetch = [&](int64_t row, int stage) {
    if (row < rows) {
      T* to = ring + static_cast<int64_t>(stage) * 2 * cols;
      for (int i = threadIdx.x * V; i < cols; i += kThreads * V) {
        __pipeline_memcpy_async(to + i, dy + row * dy_stride + i, 16);
        __pipeline_memcpy_async(to + cols + i, x + row * x_stride + i, 16);
      }
    }
    __pipeline_commit();  // also where there is no row: the count of groups stays right
  };
  float sum_dweight[kEach] = {};
  float sum_dbias[kEach] = {};
  int stage = 0;
  fetch(blockIdx.x, stage);
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x, stage ^= 1) {
    // No barrier in front of the refill: a thread refills the packs that it read last itself, for
    // dx; all walks over those of others lie in front of the barriers of block_sums_of().
    fetch(row + gridDim.x, stage ^ 1);
    __pipeline_wait_prior(1);
    __syncthreads();  // everybody's copies of this row are there
    const T* dy_row = ring + static_cast<int64_t>(stage) * 2 * cols;
    const T* x_row = dy_row + cols;
    const float row_mean = mean[row];
    const float row_rstd = rstd[row];
    float2 sums = make_float2(0.0f, 0.0f);
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const int col = k * kThreads + threadIdx.x;  // neighbouring threads: no bank conflicts
      if (col < cols) {
        const float dy_value = static_cast<float>(dy_row[col]);
        const float wdy = static_cast<float>(weight[col]) * dy_value;
        const float x_hat = (static_cast<float>(x_row[col]) - row_mean) * row_rstd;
        sums.x += wdy;
        sums.y += wdy * x_hat;
        sum_dweight[k] += dy_value * x_hat;
        sum_dbias[k] += dy_value;
      }
    }
    sums = block_sums_of(sums);
    const float mean_wdy = sums.x / cols;
    const float mean_wdy_hat = sums.y / cols;
    auto* dx_row = reinterpret_cast<Pack<T, V>*>(dx + row * dx_stride);
    for (int i = threadIdx.x; i < cols / V; i += kThreads) {
      const auto dy_pack = reinterpret_cast<const Pack<T, V>*>(dy_row)[i];
      const auto x_pack = reinterpret_cast<const Pack<T, V>*>(x_row)[i];
      const auto w = reinterpret_cast<const Pack<T, V>*>(weight)[i];
      Pack<T, V> result;
      for (int j = 0; j < V; ++j) {
        const float wdy = static_cast<float>(w.values[j]) * static_cast<float>(dy_pack.values[j]);
        const float x_hat = (static_cast<float>(x_pack.values[j]) - row_mean) * row_rstd;
        result.values[j] = static_cast<T>((wdy - mean_wdy - x_hat * mean_wdy_hat) * row_rstd);
      }
      dx_row[i] = result;
    }
  }
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const int col = k * kThreads + threadIdx.x;
    if (col < cols) {
      partial_dweight[static_cast<int64_t>(blockIdx.x) * cols + col] = sum_dweight[k];
      partial_dbias[static_cast<int64_t>(blockIdx.x) * cols + col] = sum_dbias[k];
    }
  }
}

/// Rows of up to kThreads * kEach columns: dy and x are kept in registers.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads) held_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                const float* mean, const float* rstd, T* dx, int64_t dx_stride,
                float* partial_dweight, float* partial_dbias, int rows, int cols) {
  constexpr int kPacks = kEach / V;
  const int packs = cols / V;
  float sum_dweight[kPacks][V] = {};
  float sum_dbias[kPacks][V] = {};
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const auto* dy_row = reinterpret_cast<const Pack<T, V>*>(dy + row * dy_stride);
    const auto* x_row = reinterpret_cast<const Pack<T, V>*>(x + row * x_stride);
    auto* dx_row = reinterpret_cast<Pack<T, V>*>(dx + row * dx_stride);
    Pack<T, V> kept_dy[kPacks];
    Pack<T, V> kept_x[kPacks];
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      const int i = k * kThreads + threadIdx.x;
      if (i < packs) {
        kept_dy[k] = dy_row[i];
        kept_x[k] = x_row[i];
      }
    }
    const float row_mean = mean[row];
    const float row_rstd = rstd[row];
    float2 sums = make_float2(0.0f, 0.0f);
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      const int i = k * kThreads + threadIdx.x;
      if (i < packs) {
        const auto w = reinterpret_cast<const Pack<T, V>*>(weight)[i];
#pragma unroll
        for (int j = 0; j < V; ++j) {
          const float dy_value = static_cast<float>(kept_dy[k].values[j]);
          const float wdy = static_cast<float>(w.values[j]) * dy_value;
          const float x_hat = (static_cast<float>(kept_x[k].values[j]) - row_mean) * row_rstd;
          sums.x += wdy;
          sums.y += wdy * x_hat;
          sum_dweight[k][j] += dy_value * x_hat;
          sum_dbias[k][j] += dy_value;
        }
      }
    }
    sums = block_sums_of(sums);
    const float mean_wdy = sums.x / cols;
    const float mean_wdy_hat = sums.y / cols;
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      const int i = k * kThreads + threadIdx.x;
      if (i < packs) {
        const auto w = reinterpret_cast<const Pack<T, V>*>(weight)[i];
        Pack<T, V> result;
#pragma unroll
        for (int j = 0; j < V; ++j) {
          const float wdy =
              static_cast<float>(w.values[j]) * static_cast<float>(kept_dy[k].values[j]);
          const float x_hat = (static_cast<float>(kept_x[k].values[j]) - row_mean) * row_rstd;
          result.values[j] = static_cast<T>((wdy - mean_wdy - x_hat * mean_wdy_hat) * row_rstd);
        }
        dx_row[i] = result;
      }
    }
  }
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const int i = k * kThreads + threadIdx.x;
    if (i < packs) {
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const int64_t at = static_cast<int64_t>(blockIdx.x) * cols + i * V + j;
        partial_dweight[at] = sum_dweight[k][j];
        partial_dbias[at] = sum_dbias[k][j];
      }
    }
  }
}

/// Wider rows: dx, a block a row.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    wide_dx_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                   const float* mean, const float* rstd, T* dx, int64_t dx_stride, int cols) {
  const int64_t row = blockIdx.x;
  const int packs = cols / V;
  const auto* dy_row = reinterpret_cast<const Pack<T, V>*>(dy + row * dy_stride);
  const auto* x_row = reinterpret_cast<const Pack<T, V>*>(x + row * x_stride);
  const auto* weights = reinterpret_cast<const Pack<T, V>*>(weight);
  auto* dx_row = reinterpret_cast<Pack<T, V>*>(dx + row * dx_stride);
  const float row_mean = mean[row];
  const float row_rstd = rstd[row];
  float2 sums = make_float2(0.0f, 0.0f);
  for (int i = threadIdx.x; i < packs; i += kThreads) {
    const Pack<T, V> dy_pack = dy_row[i], x_pack = x_row[i], w = weights[i];
    for (int j = 0; j < V; ++j) {
      const float wdy = static_cast<float>(w.values[j]) * static_cast<float>(dy_pack.values[j]);
      sums.x += wdy;
      sums.y += wdy * ((static_cast<float>(x_pack.values[j]) - row_mean) * row_rstd);
    }
  }
  sums = block_sums_of(sums);
  const float mean_wdy = sums.x / cols;
  const float mean_wdy_hat = sums.y / cols;
  for (int i = threadIdx.x; i < packs; i += kThreads) {
    const Pack<T, V> dy_pack = dy_row[i], x_pack = x_row[i], w = weights[i];
    Pack<T, V> result;
    for (int j = 0; j < V; ++j) {
      const float wdy = static_cast<float>(w.values[j]) * static_cast<float>(dy_pack.values[j]);
      const float x_hat = (static_cast<float>(x_pack.values[j]) - row_mean) * row_rstd;
      result.values[j] = static_cast<T>((wdy - mean_wdy - x_hat * mean_wdy_hat) * row_rstd);
    }
    dx_row[i] = result;
  }
}

/// Wider rows: the sums of a group of rows, a thread a pack.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    wide_sums_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                     const float* mean, const float* rstd, float* partial_dweight,
                     float* partial_dbias, int rows, int cols) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= cols / V) {
    return;
  }
  float sum_dweight[V] = {};
  float sum_dbias[V] = {};
  for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
    const auto dy_pack = reinterpret_cast<const Pack<T, V>*>(dy + row * dy_stride)[i];
    const auto x_pack = reinterpret_cast<const Pack<T, V>*>(x + row * x_stride)[i];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float dy_value = static_cast<float>(dy_pack.values[j]);
      sum_dweight[j] += dy_value * ((static_cast<float>(x_pack.values[j]) - mean[row]) * rstd[row]);
      sum_dbias[j] += dy_value;
    }
  }
#pragma unroll
  for (int j = 0; j < V; ++j) {
    const int64_t at = static_cast<int64_t>(blockIdx.y) * cols + i * V + j;
    partial_dweight[at] = sum_dweight[j];
    partial_dbias[at] = sum_dbias[j];
  }
}

/// Adds up the groups' sums, a thread a column; blockIdx.y 0 is dbias, 1 dweight.
template <typename T>
__global__ void sum_groups_kernel(const float* partial_dweight, const float* partial_dbias,
                                  T* dweight, T* dbias, int groups, int cols) {
  const float* partial = blockIdx.y == 0 ? partial_dbias : partial_dweight;
  T* sums = blockIdx.y == 0 ? dbias : dweight;
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col < cols) {
    float sum = 0.0f;
    for (int group = 0; group < groups; ++group) {
      sum += partial[static_cast<int64_t>(group) * cols + col];
    }
    sums[col] = static_cast<T>(sum);
  }
}

template <typename T>
Summation layernorm_backward_fast(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                             const T* weight, const float* mean, const float* rstd, T* dx,
                             int64_t dx_stride, T* dweight, T* dbias, float* scratch, int rows,
                             int cols, cudaStream_t stream) {
  constexpr int V = 16 / sizeof(T);
  const bool aligned = is_aligned(dy, dy_stride) && is_aligned(x, x_stride) &&
                       is_aligned(weight, cols) && is_aligned(dx, dx_stride);
  constexpr int kMostGroups = 264;
  const int groups = rows < kMostGroups ? rows : kMostGroups;
  float* partial_dweight = scratch;
  float* partial_dbias = scratch + static_cast<int64_t>(groups) * cols;
  static const int most = [] {
    int device = 0, bytes = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    bytes -= 1024;  // less what is static
    cudaFuncSetAttribute(ring_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    return bytes;
  }();
  const int64_t bytes = 4 * sizeof(T) * static_cast<int64_t>(cols);
  if (rows > 0 && cols <= kThreads * kEach) {
    if (aligned && bytes <= most) {
      ring_kernel<T><<<groups, kThreads, bytes, stream>>>(dy, dy_stride, x, x_stride, weight, mean,
                                                          rstd, dx, dx_stride, partial_dweight,
                                                          partial_dbias, rows, cols);
    } else {
      const auto kernel = aligned ? held_kernel<T, V> : held_kernel<T, 1>;
      kernel<<<groups, kThreads, 0, stream>>>(dy, dy_stride, x, x_stride, weight, mean, rstd, dx,
                                              dx_stride, partial_dweight, partial_dbias, rows,
                                              cols);
    }
  } else if (rows > 0) {
    const auto dx_kernel = aligned ? wide_dx_kernel<T, V> : wide_dx_kernel<T, 1>;
    const auto sums_kernel = aligned ? wide_sums_kernel<T, V> : wide_sums_kernel<T, 1>;
    const int packs = aligned ? cols / V : cols;
    dx_kernel<<<rows, kThreads, 0, stream>>>(dy, dy_stride, x, x_stride, weight, mean, rstd, dx,
                                             dx_stride, cols);
    sums_kernel<<<dim3((packs + kThreads - 1) / kThreads, groups), kThreads, 0, stream>>>(
        dy, dy_stride, x, x_stride, mean, rstd, partial_dweight, partial_dbias, rows, cols);
  }
  sum_groups_kernel<<<dim3((cols + 127) / 128, 2), 128, 0, stream>>>(
      partial_dweight, partial_dbias, dweight, dbias, groups, cols);
  return Summation::fixed_order;
}

}  // namespace onepass
