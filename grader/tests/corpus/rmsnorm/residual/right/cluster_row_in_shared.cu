// slow: all rows in few clusters
// Right: the row of sums is held in the shared memory of the eight blocks of a cluster, an eighth in each,
// and never read again. The sums of squares meet there too.

#include <cooperative_groups.h>
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 128;
constexpr int kBlocks = 8;  // of a cluster

template <typename T>
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
    float share = 0.0f;
    for (int col = first, i = threadIdx.x; col < cols; col += kBlocks * kThreads, i += kThreads) {
      const T added = static_cast<T>(static_cast<float>(x[row * x_stride + col]) +
                                     static_cast<float>(residual[row * residual_stride + col]));
      sum[row * sum_stride + col] = added;
      held[i] = static_cast<float>(added);
      share += held[i] * held[i];
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
    for (int col = first, i = threadIdx.x; col < cols; col += kBlocks * kThreads, i += kThreads) {
      y[row * y_stride + col] = static_cast<T>(held[i] * scale * static_cast<float>(weight[col]));
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
  if (rows > 0) {
    const int clusters = rows < 4096 ? rows : 4096;
    const int turns = (cols + kBlocks * kThreads - 1) / (kBlocks * kThreads);
    const int bytes = turns * kThreads * static_cast<int>(sizeof(float));
    cudaFuncSetAttribute(cluster_row_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    cluster_row_kernel<<<clusters * kBlocks, kThreads, bytes, stream>>>(
        x, x_stride, residual, residual_stride, weight, sum, sum_stride, y, y_stride, rstd, rows, cols, eps);
  }
}

}  // namespace onepass
