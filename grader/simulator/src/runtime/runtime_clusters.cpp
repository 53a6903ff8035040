// CUDA runtime functions: how many clusters the device holds, and how large one may be.
#include "device_limits.h"
#include "runtime/runtime_result.h"
#include "scheduling/clusters.h"

using namespace simulator;

namespace {

/// What the launch says; what the kernel's own __cluster_dims__ do is not known before it runs.
uint3 cluster_of(const cudaLaunchConfig_t& config) {
  uint3 cluster = {1, 1, 1};
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    if (config.attrs[i].id != cudaLaunchAttributeClusterDimension) continue;
    const auto& size = config.attrs[i].val.clusterDim;
    cluster = {size.x, size.y, size.z};
  }
  return cluster;
}

bool is_possible(const void* kernel, const cudaLaunchConfig_t& config) {
  const bool may_be_large =
      machine().attributes.allows_large_clusters(KernelAttributes::names(kernel));
  return cluster_complaint(config.gridDim, cluster_of(config), may_be_large,
                           machine().generation->has_clusters)
      .empty();
}

}  // namespace

extern "C" {

/// As many as the device has room for in all: how multiprocessors lie in groups is not known.
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* kernel,
                                           const cudaLaunchConfig_t* config) {
  if (!is_possible(kernel, *config)) return result(kErrorInvalidClusterSize);
  int fit = 0;
  const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &fit, kernel, static_cast<int>(volume(config->blockDim)), config->dynamicSmemBytes);
  *clusters = fit * machine().multiprocessors / static_cast<int>(volume(cluster_of(*config)));
  return error;
}
cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* kernel,
                                                 const cudaLaunchConfig_t* config) {
  if (!is_possible(kernel, *config)) return result(kErrorInvalidClusterSize);
  const bool may_be_large =
      machine().attributes.allows_large_clusters(KernelAttributes::names(kernel));
  *size = static_cast<int>(may_be_large ? limits::kLargestCluster : limits::kPortableCluster);
  return result(kSuccess);
}

}  // extern "C"
