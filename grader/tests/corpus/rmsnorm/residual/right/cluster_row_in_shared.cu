// slow: all rows in few clusters
// Right: the row of sums is held in the shared memory of the eight blocks of a cluster, an eighth in each,
// and never read again. The sums of squares meet there too.

#include <cooperative_groups.h>
#include <onepass/fast.h>
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 128;
constexpr int kBlocks = 8;  // of a cluster

template <typename T, int V>
__global__ void __cluster_dims__(kBlocks, 1, 1)
    cluster_row_kernel(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                       const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                       float* rstd, int rows, int cols, float eps) {
  const cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
  extern __shared__ float held[];  // this block's columns
  __shared__ float shares[kThreads];
  const int rank = static_cast<int>(cluster.block_rank());
  const int first = rank * kThreads + threadIdx.x;
  for (int64_t row = blockIdx.x / kBlocks; row < rows; row += gridDim.x / kBlocks) {
    using Unit = Pack<T, V>;
    const auto* x_row = reinterpret_cast<const Unit*>(x + row * x_stride);
    const auto* residual_row = reinterpret_cast<const Unit*>(residual + row * residual_stride);
    const auto* weights = reinterpret_cast<const Unit*>(weight);
    auto* sum_row = reinterpret_cast<Unit*>(sum + row * sum_stride);
    auto* y_row = reinterpret_cast<Unit*>(y + row * y_stride);
    float share = 0.0f;
    int own = threadIdx.x;
    for (int i = first; i < cols / V; i += kBlocks * kThreads, own += kThreads) {
      const Unit a = x_row[i];
      const Unit b = residual_row[i];
      Unit added;
      for (int j = 0; j < V; ++j) {
        added.values[j] = static_cast<T>(value_of(a, j) + value_of(b, j));
      }
      sum_row[i] = added;
      for (int j = 0; j < V; ++j) {
        held[own * V + j] = value_of(added, j);
        share += held[own * V + j] * held[own * V + j];
      }
    }
    shares[threadIdx.x] = share;
    for (int half = kThreads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (threadIdx.x < half) {
        shares[threadIdx.x] += shares[threadIdx.x + half];
      }
    }
    cluster.sync();  // all eight sums are there
    float squares = 0.0f;
    for (int other = 0; other < kBlocks; ++other) {
      squares += *cluster.map_shared_rank(shares, other);
    }
    cluster.sync();  // and read
    const float scale = 1.0f / sqrtf(squares / cols + eps);
    own = threadIdx.x;
    for (int i = first; i < cols / V; i += kBlocks * kThreads, own += kThreads) {
      const Unit factors = weights[i];
      Unit result;
      for (int j = 0; j < V; ++j) {
        result.values[j] = static_cast<T>(held[own * V + j] * scale * value_of(factors, j));
      }
      y_row[i] = result;
    }
    if (first == 0) {
      rstd[row] = scale;
    }
  }
}

template <typename T>
void rmsnorm_residual(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                      const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                      float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  const int clusters = rows < 4096 ? rows : 4096;
  const auto bits = [](const T* tensor, int64_t stride) {
    return reinterpret_cast<uintptr_t>(tensor) | stride * sizeof(T);
  };
  const bool aligned = (bits(x, x_stride) | bits(residual, residual_stride) | bits(weight, cols) |
                        bits(sum, sum_stride) | bits(y, y_stride)) %
                           16 ==
                       0;
  with_pack_of<T>(aligned ? 16 : 1, [&](auto pack) {
    constexpr int V = pack.value;
    const int turns = (cols / V + kBlocks * kThreads - 1) / (kBlocks * kThreads);
    const int bytes = turns * kThreads * V * static_cast<int>(sizeof(float));
    cudaFuncSetAttribute(cluster_row_kernel<T, V>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         bytes);
    cluster_row_kernel<T, V><<<clusters * kBlocks, kThreads, bytes, stream>>>(
        x, x_stride, residual, residual_stride, weight, sum, sum_stride, y, y_stride, rstd, rows,
        cols, eps);
  });
}

}  // namespace onepass
