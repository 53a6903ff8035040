// Right: each channel shared by a cluster of four blocks, whose warps add to the sums in the shared
// memory of the first one by atomics. The cluster's size is an attribute of the launch.

#include <cooperative_groups.h>
#include <onepass/batchnorm.h>

namespace onepass {

constexpr int kThreads = 128;
constexpr int kBlocks = 4;  // of a cluster

template <typename T>
__global__ void cluster_channel_kernel(const T* x, const T* weight, const T* bias, T* y,
                                       float* running_mean, float* running_var, float* save_mean,
                                       float* save_rstd, int batch, int channels, int space,
                                       float eps, float momentum) {
  const cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
  __shared__ float sums[2];  // of the elements and of the squares of their deviations
  float* const of_cluster = cluster.map_shared_rank(sums, 0);
  const int64_t c = blockIdx.x / kBlocks;
  const int64_t count = static_cast<int64_t>(batch) * space;
  const int first = static_cast<int>(cluster.thread_rank());
  if (threadIdx.x < 2) {
    sums[threadIdx.x] = 0.0f;
  }
  cluster.sync();  // all sums are zero
  float mean = 0.0f;
  for (int pass = 0; pass < 2; ++pass) {
    float share = 0.0f;
    for (int64_t i = first; i < count; i += kBlocks * kThreads) {
      const float value = static_cast<float>(x[(i / space * channels + c) * space + i % space]);
      share += pass == 0 ? value / count : (value - mean) * (value - mean);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
      share += __shfl_xor_sync(0xffffffffu, share, offset);
    }
    if (threadIdx.x % 32 == 0) {
      atomicAdd(&of_cluster[pass], share);
    }
    cluster.sync();  // all have added
    mean = of_cluster[0];
  }
  const float squares = of_cluster[1];
  cluster.sync();  // all have read: the first block may end
  const float rstd = 1.0f / sqrtf(squares / count + eps);
  for (int64_t i = first; i < count; i += kBlocks * kThreads) {
    const int64_t place = (i / space * channels + c) * space + i % space;
    const float x_hat = (static_cast<float>(x[place]) - mean) * rstd;
    y[place] = static_cast<T>(x_hat * static_cast<float>(weight[c]) + static_cast<float>(bias[c]));
  }
  if (first == 0) {
    save_mean[c] = mean;
    save_rstd[c] = rstd;
    running_mean[c] = (1.0f - momentum) * running_mean[c] + momentum * mean;
    running_var[c] = (1.0f - momentum) * running_var[c] + momentum * squares / (count - 1);
  }
}

template <typename T>
void batchnorm_forward(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                       float* running_var, float* save_mean, float* save_rstd, int batch,
                       int channels, int space, float eps, float momentum, cudaStream_t stream) {
  if (batch == 0 || channels == 0 || space == 0) {
    return;
  }
  constexpr int kMost = 1 << 28;  // channels of a launch
  for (int64_t done = 0; done < channels; done += kMost) {
    const int64_t left = channels - done < kMost ? channels - done : kMost;
    cudaLaunchAttribute in_clusters = {};
    in_clusters.id = cudaLaunchAttributeClusterDimension;
    in_clusters.val.clusterDim.x = kBlocks;
    in_clusters.val.clusterDim.y = in_clusters.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = static_cast<unsigned>(left * kBlocks);
    config.blockDim = kThreads;
    config.stream = stream;
    config.attrs = &in_clusters;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, cluster_channel_kernel<T>, x + done * space, weight + done,
                       bias + done, y + done * space, running_mean + done, running_var + done,
                       save_mean + done, save_rstd + done, batch, channels, space, eps, momentum);
  }
}

}  // namespace onepass
