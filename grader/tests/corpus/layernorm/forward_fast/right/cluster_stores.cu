// Right: a row is held in the shared memory of the four blocks of a cluster. Each warp stores its two sums, for
// the mean and for the squares, into all of them asynchronously, at a barrier for each; no other barrier
// of the cluster comes behind the first, which says that all blocks have begun.

#include <cooperative_groups.h>
#include <cuda/ptx>
#include <onepass/layernorm.h>

namespace onepass {

namespace ptx = cuda::ptx;

constexpr int kMostThreads = 128;
constexpr int kMostWarps = kMostThreads / 32;
constexpr int kBlocks = 4;  // of a cluster
constexpr int kSums = 2;    // of a row

template <typename T, int V>
struct alignas(sizeof(T) * V) Pack {
  T values[V];
};

/// What the warps of the cluster's blocks have stored, and where that counts.
struct Shares {
  float of_warps[kBlocks * kMostWarps];
  uint64_t arrived;
};

__device__ float warp_sum(float value) {
  for (int step = 1; step < 32; step *= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, step);
  }
  return value;
}

__device__ float sum_of_cluster(float value, Shares* shares) {
  const cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
  value = warp_sum(value);
  const unsigned lane = threadIdx.x % 32;
  const unsigned warps = blockDim.x / 32;
  if (lane < kBlocks) {
    Shares* there = cluster.map_shared_rank(shares, lane);
    ptx::st_async(&there->of_warps[cluster.block_rank() * warps + threadIdx.x / 32], value, &there->arrived);
  }
  while (!ptx::mbarrier_try_wait_parity(&shares->arrived, 0)) {
  }
  return warp_sum(lane < kBlocks * warps ? shares->of_warps[lane] : 0.0f);
}

template <typename T, int V>
__global__ void __cluster_dims__(kBlocks, 1, 1)
    cluster_row_kernel(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y, int64_t y_stride,
                       float* mean, float* rstd, int cols, float eps) {
  using RowPack = Pack<T, V>;
  extern __shared__ float4 shared_row[];
  __shared__ Shares shares[kSums];
  const cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
  if (threadIdx.x == 0) {
    for (Shares& of_sum : shares) {
      ptx::mbarrier_init(&of_sum.arrived, 1);
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cluster, ptx::space_shared, &of_sum.arrived,
                                     static_cast<uint32_t>(sizeof(float)) * kBlocks * (blockDim.x / 32));
    }
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  cluster.barrier_arrive();
  const int packs = cols / V;
  const int64_t row = blockIdx.x / kBlocks;
  const int threads = static_cast<int>(blockDim.x);
  const int first = static_cast<int>(cluster.block_rank()) * threads + threadIdx.x;
  const RowPack* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
  RowPack* y_row = reinterpret_cast<RowPack*>(y + row * y_stride);
  RowPack* held = reinterpret_cast<RowPack*>(shared_row);
  float sum = 0.0f;
  for (int k = first, i = threadIdx.x; k < packs; k += kBlocks * threads, i += threads) {
    held[i] = x_row[k];
    for (int j = 0; j < V; ++j) {
      sum += static_cast<float>(held[i].values[j]);
    }
  }
  cluster.barrier_wait();
  const float centre = sum_of_cluster(sum, &shares[0]) / cols;
  float squares = 0.0f;
  for (int k = first, i = threadIdx.x; k < packs; k += kBlocks * threads, i += threads) {
    for (int j = 0; j < V; ++j) {
      const float left = static_cast<float>(held[i].values[j]) - centre;
      squares += left * left;
    }
  }
  const float scale = 1.0f / sqrtf(sum_of_cluster(squares, &shares[1]) / cols + eps);
  for (int k = first, i = threadIdx.x; k < packs; k += kBlocks * threads, i += threads) {
    RowPack weights{};
    RowPack biases{};
    if (weight != nullptr) {
      weights = reinterpret_cast<const RowPack*>(weight)[k];
    }
    if (bias != nullptr) {
      biases = reinterpret_cast<const RowPack*>(bias)[k];
    }
    RowPack y_pack;
    for (int j = 0; j < V; ++j) {
      float value = (static_cast<float>(held[i].values[j]) - centre) * scale;
      value *= weight != nullptr ? static_cast<float>(weights.values[j]) : 1.0f;
      value += bias != nullptr ? static_cast<float>(biases.values[j]) : 0.0f;
      y_pack.values[j] = static_cast<T>(value);
    }
    y_row[k] = y_pack;
  }
  if (first == 0) {
    mean[row] = centre;
    rstd[row] = scale;
  }
}

template <typename T, int V>
void launch(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y, int64_t y_stride, float* mean,
            float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  const int threads = cols / V <= 32 * kBlocks ? 32 : kMostThreads;
  const int turns = (cols / V + kBlocks * threads - 1) / (kBlocks * threads);
  const int bytes = turns * threads * static_cast<int>(sizeof(Pack<T, V>));
  cudaFuncSetAttribute(cluster_row_kernel<T, V>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  cluster_row_kernel<T, V><<<rows * kBlocks, threads, bytes, stream>>>(x, x_stride, weight, bias, y, y_stride,
                                                                       mean, rstd, cols, eps);
}

template <typename T>
bool fits(const T* tensor, int64_t stride) {
  return reinterpret_cast<uintptr_t>(tensor) % 16 == 0 && stride * sizeof(T) % 16 == 0;
}

template <typename T>
void layernorm_forward_fast(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y, int64_t y_stride,
                            float* mean, float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  const bool packs = fits(x, x_stride) && fits(weight, cols) && fits(bias, cols) && fits(y, y_stride);
  const auto launcher = packs ? launch<T, 16 / sizeof(T)> : launch<T, 1>;
  // A grid has 2^31 - 1 blocks at most.
  constexpr int kMostRows = 1 << 28;
  for (int64_t row = 0; row < rows; row += kMostRows) {
    const int some = rows - row < kMostRows ? static_cast<int>(rows - row) : kMostRows;
    launcher(x + row * x_stride, x_stride, weight, bias, y + row * y_stride, y_stride, mean + row, rstd + row, some,
             cols, eps, stream);
  }
}

}  // namespace onepass
