// slow: all rows in few clusters
// Right: the row is held in the shared memory of the eight blocks of a cluster, an eighth in each, and
// read once, 16 bytes at a time where that is possible. The sums of squares meet there too.

#include <cooperative_groups.h>
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 128;
constexpr int kBlocks = 8;  // of a cluster

template <typename T, int V>
struct alignas(sizeof(T) * V) Pack {
  T values[V];
};

template <typename T, int V>
__global__ void __cluster_dims__(kBlocks, 1, 1)
    cluster_row_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                       float* rstd, int rows, int cols, float eps) {
  using P = Pack<T, V>;
  const cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
  extern __shared__ __align__(16) unsigned char memory[];
  P* held = reinterpret_cast<P*>(memory);  // this block's columns
  __shared__ float shares[kThreads];
  const P* weights = reinterpret_cast<const P*>(weight);
  const int packs = cols / V;
  const int first = static_cast<int>(cluster.block_rank()) * kThreads + threadIdx.x;
  for (int64_t row = blockIdx.x / kBlocks; row < rows; row += gridDim.x / kBlocks) {
    const P* source = reinterpret_cast<const P*>(x + row * x_stride);
    P* target = reinterpret_cast<P*>(y + row * y_stride);
    float share = 0.0f;
    for (int k = first, i = threadIdx.x; k < packs; k += kBlocks * kThreads, i += kThreads) {
      const P pack = source[k];
      held[i] = pack;
      for (int j = 0; j < V; ++j) {
        share += static_cast<float>(pack.values[j]) * static_cast<float>(pack.values[j]);
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
    float sum = 0.0f;
    for (int other = 0; other < kBlocks; ++other) {
      sum += *cluster.map_shared_rank(shares, other);
    }
    cluster.sync();  // and read
    const float scale = 1.0f / sqrtf(sum / cols + eps);
    for (int k = first, i = threadIdx.x; k < packs; k += kBlocks * kThreads, i += kThreads) {
      P result;
      for (int j = 0; j < V; ++j) {
        const float factor = weight == nullptr ? 1.0f : static_cast<float>(weights[k].values[j]);
        result.values[j] = static_cast<T>(static_cast<float>(held[i].values[j]) * scale * factor);
      }
      target[k] = result;
    }
    if (first == 0) {
      rstd[row] = scale;
    }
  }
}

template <typename T, int V>
void launch(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride, float* rstd,
            int rows, int cols, float eps, cudaStream_t stream) {
  const int clusters = rows < 4096 ? rows : 4096;
  const int turns = (cols / V + kBlocks * kThreads - 1) / (kBlocks * kThreads);
  const int bytes = turns * kThreads * static_cast<int>(sizeof(Pack<T, V>));
  cudaFuncSetAttribute(cluster_row_kernel<T, V>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       bytes);
  cluster_row_kernel<T, V><<<clusters * kBlocks, kThreads, bytes, stream>>>(
      x, x_stride, weight, y, y_stride, rstd, rows, cols, eps);
}

template <typename T>
bool is_aligned(const T* tensor, int64_t stride, int cols) {
  constexpr int V = 16 / sizeof(T);
  return reinterpret_cast<uintptr_t>(tensor) % 16 == 0 && stride % V == 0 && cols % V == 0;
}

template <typename T>
void rmsnorm_wide_rows(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                          float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  const bool aligned = is_aligned(x, x_stride, cols) && is_aligned(y, y_stride, cols) &&
                       is_aligned(weight, 0, cols);
  const auto launcher = aligned ? launch<T, 16 / sizeof(T)> : launch<T, 1>;
  launcher(x, x_stride, weight, y, y_stride, rstd, rows, cols, eps, stream);
}

}  // namespace onepass
