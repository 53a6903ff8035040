// A launch with clusters, and a look at what it leaves in device memory.
#pragma once

inline cudaLaunchConfig_t config_of(dim3 grid, dim3 block, dim3 cluster, size_t shared = 0) {
  static cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster.x;
  attribute.val.clusterDim.y = cluster.y;
  attribute.val.clusterDim.z = cluster.z;
  return {grid, block, shared, nullptr, &attribute, 1};
}

template <typename T>
T at(const T* device, unsigned index) {
  T value = {};
  cudaMemcpy(&value, device + index, sizeof value, cudaMemcpyDeviceToHost);
  return value;
}
