// slow: all rows in few clusters
// Right: a cluster of four blocks shares each row. Their sums of squares meet in distributed shared
// memory.

#include <cooperative_groups.h>
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 128;
constexpr int kBlocks = 4;  // of a cluster

template <typename T>
__global__ void __cluster_dims__(kBlocks, 1, 1)
    cluster_row_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                       float* rstd, int rows, int cols, float eps) {
  const cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
  __shared__ float shares[kThreads];
  const int rank = static_cast<int>(cluster.block_rank());
  const int first = rank * kThreads + threadIdx.x;
  for (int64_t row = blockIdx.x / kBlocks; row < rows; row += gridDim.x / kBlocks) {
    const T* x_row = x + row * x_stride;
    float share = 0.0f;
    for (int col = first; col < cols; col += kBlocks * kThreads) {
      const float value = static_cast<float>(x_row[col]);
      share += value * value;
    }
    shares[threadIdx.x] = share;
    for (int half = kThreads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (threadIdx.x < half) {
        shares[threadIdx.x] += shares[threadIdx.x + half];
      }
    }
    cluster.sync();  // all four sums are there
    float sum = 0.0f;
    for (int other = 0; other < kBlocks; ++other) {
      sum += *cluster.map_shared_rank(shares, other);
    }
    cluster.sync();  // and read
    const float scale = 1.0f / sqrtf(sum / cols + eps);
    for (int col = first; col < cols; col += kBlocks * kThreads) {
      const float normalised = static_cast<float>(x_row[col]) * scale;
      y[row * y_stride + col] = static_cast<T>(normalised * static_cast<float>(weight[col]));
    }
    if (first == 0) {
      rstd[row] = scale;
    }
  }
}

template <typename T>
void rmsnorm_forward(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                     float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows > 0) {
    const int clusters = rows < 4096 ? rows : 4096;
    cluster_row_kernel<<<clusters * kBlocks, kThreads, 0, stream>>>(x, x_stride, weight, y,
                                                                    y_stride, rstd, rows, cols, eps);
  }
}

}  // namespace onepass
