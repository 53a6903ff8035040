// slow: all rows in few clusters
// Right: a cluster of two blocks shares each row. What they add up goes to both, and the cluster's
// barrier is in two halves: between them each block adds its own share, which takes no barrier.

#include <cooperative_groups.h>
#include <onepass/layernorm.h>

namespace onepass {

namespace cg = cooperative_groups;

constexpr int kThreads = 128;
constexpr int kBlocks = 2;  // of a cluster

/// The sum over the cluster of each thread's value. `slot` alternates between two calls: so a block
/// that is ahead does not overwrite what the other one still reads.
__device__ float sum_of_cluster(float value, float (&own)[2], float* shares, int slot) {
  const cg::cluster_group cluster = cg::this_cluster();
  __syncthreads();
  shares[threadIdx.x] = value;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      shares[threadIdx.x] += shares[threadIdx.x + half];
    }
  }
  if (threadIdx.x == 0) {
    own[slot] = shares[0];
  }
  cluster.barrier_arrive();  // own[slot] is written
  __syncthreads();
  const float sum = shares[0];
  cluster.barrier_wait();
  return sum + *cluster.map_shared_rank(&own[slot], cluster.block_rank() ^ 1);
}

template <typename T>
__global__ void __cluster_dims__(kBlocks)
    cluster_row_kernel(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                       int64_t y_stride, float* mean, float* rstd, int rows, int cols, float eps) {
  const cg::cluster_group cluster = cg::this_cluster();
  __shared__ float shares[kThreads];
  __shared__ float own[2];
  const int first = static_cast<int>(cluster.thread_rank());
  for (int64_t row = blockIdx.x / kBlocks; row < rows; row += gridDim.x / kBlocks) {
    const T* x_row = x + row * x_stride;
    float share = 0.0f;
    for (int col = first; col < cols; col += kBlocks * kThreads) {
      share += static_cast<float>(x_row[col]);
    }
    const float row_mean = sum_of_cluster(share, own, shares, 0) / cols;
    share = 0.0f;
    for (int col = first; col < cols; col += kBlocks * kThreads) {
      const float deviation = static_cast<float>(x_row[col]) - row_mean;
      share += deviation * deviation;
    }
    const float scale = 1.0f / sqrtf(sum_of_cluster(share, own, shares, 1) / cols + eps);
    for (int col = first; col < cols; col += kBlocks * kThreads) {
      const float factor = weight == nullptr ? 1.0f : static_cast<float>(weight[col]);
      const float shift = bias == nullptr ? 0.0f : static_cast<float>(bias[col]);
      y[row * y_stride + col] =
          static_cast<T>((static_cast<float>(x_row[col]) - row_mean) * scale * factor + shift);
    }
    if (first == 0) {
      mean[row] = row_mean;
      rstd[row] = scale;
    }
  }
  cluster.sync();  // nobody reads any more: the blocks may end
}

template <typename T>
void layernorm_forward(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                       int64_t y_stride, float* mean, float* rstd, int rows, int cols, float eps,
                       cudaStream_t stream) {
  if (rows > 0) {
    const int clusters = rows < 4096 ? rows : 4096;
    cluster_row_kernel<<<clusters * kBlocks, kThreads, 0, stream>>>(
        x, x_stride, weight, bias, y, y_stride, mean, rstd, rows, cols, eps);
  }
}

}  // namespace onepass
