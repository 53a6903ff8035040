// CUDA runtime functions: the device's properties, and a kernel's attributes and occupancy. The
// values are those of limits.h; what they cannot know (registers) is stated as none.
#include <algorithm>
#include <cstdio>

#include "device_limits.h"
#include "occupancy.h"
#include "runtime/runtime_result.h"

using namespace simulator;

namespace {

constexpr int kMemoryBusBits = 5120;
constexpr int kConstantBytes = 64 * 1024;

int to_int(std::size_t value) {
  return static_cast<int>(value);
}

void describe(cudaDeviceProp& p) {
  using namespace limits;
  p = {};
  std::snprintf(p.name, sizeof p.name, "%s", "One Pass CPU simulator");
  p.totalGlobalMem = kMemoryBytes;
  p.sharedMemPerBlock = kSharedPerBlock;
  p.regsPerBlock = p.regsPerMultiprocessor = kRegistersPerBlock;
  p.warpSize = kWarpSize;
  p.memPitch = 2147483647;
  p.maxThreadsPerBlock = kThreadsPerBlock;
  p.maxThreadsDim[0] = kBlockX;
  p.maxThreadsDim[1] = kBlockY;
  p.maxThreadsDim[2] = kBlockZ;
  p.maxGridSize[0] = kGridX;
  p.maxGridSize[1] = kGridY;
  p.maxGridSize[2] = kGridZ;
  p.totalConstMem = kConstantBytes;
  p.major = kComputeMajor;
  p.minor = kComputeMinor;
  p.multiProcessorCount = machine().multiprocessors;
  p.unifiedAddressing = 1;
  p.memoryBusWidth = kMemoryBusBits;
  p.l2CacheSize = to_int(kL2Bytes);
  p.maxThreadsPerMultiProcessor = kThreadsPerMultiprocessor;
  p.globalL1CacheSupported = p.localL1CacheSupported = 1;
  p.sharedMemPerMultiprocessor = kSharedPerMultiprocessor;
  p.sharedMemPerBlockOptin = kSharedPerBlockOptin;
  p.maxBlocksPerMultiProcessor = kBlocksPerMultiprocessor;
  p.reservedSharedMemPerBlock = kSharedReservedPerBlock;
  p.cooperativeLaunch = 1;
  p.clusterLaunch = machine().has_clusters ? 1 : 0;
}

struct Attribute {
  cudaDeviceAttr name;
  std::size_t value;
};

constexpr Attribute kAttributes[] = {
    {cudaDevAttrMaxThreadsPerBlock, limits::kThreadsPerBlock},
    {cudaDevAttrMaxBlockDimX, limits::kBlockX},
    {cudaDevAttrMaxBlockDimY, limits::kBlockY},
    {cudaDevAttrMaxBlockDimZ, limits::kBlockZ},
    {cudaDevAttrMaxGridDimX, limits::kGridX},
    {cudaDevAttrMaxGridDimY, limits::kGridY},
    {cudaDevAttrMaxGridDimZ, limits::kGridZ},
    {cudaDevAttrMaxSharedMemoryPerBlock, limits::kSharedPerBlock},
    {cudaDevAttrTotalConstantMemory, kConstantBytes},
    {cudaDevAttrWarpSize, limits::kWarpSize},
    {cudaDevAttrMaxRegistersPerBlock, limits::kRegistersPerBlock},
    {cudaDevAttrMaxRegistersPerMultiprocessor, limits::kRegistersPerBlock},
    {cudaDevAttrGlobalMemoryBusWidth, kMemoryBusBits},
    {cudaDevAttrL2CacheSize, limits::kL2Bytes},
    {cudaDevAttrMaxThreadsPerMultiProcessor, limits::kThreadsPerMultiprocessor},
    {cudaDevAttrComputeCapabilityMajor, limits::kComputeMajor},
    {cudaDevAttrComputeCapabilityMinor, limits::kComputeMinor},
    {cudaDevAttrMaxSharedMemoryPerMultiprocessor, limits::kSharedPerMultiprocessor},
    {cudaDevAttrMaxSharedMemoryPerBlockOptin, limits::kSharedPerBlockOptin},
    {cudaDevAttrMaxBlocksPerMultiprocessor, limits::kBlocksPerMultiprocessor},
    {cudaDevAttrReservedSharedMemoryPerBlock, limits::kSharedReservedPerBlock},
    {cudaDevAttrConcurrentKernels, 0},
    {cudaDevAttrManagedMemory, 0},
    {cudaDevAttrCooperativeLaunch, 1},
    {cudaDevAttrMemoryPoolsSupported, 0},
};

}  // namespace

extern "C" {

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return result(kSuccess);
}
cudaError_t cudaSetDevice(int device) {
  return result(device == 0 ? kSuccess : static_cast<int>(cudaErrorInvalidDevice));
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return result(kSuccess);
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return result(cudaErrorInvalidDevice);
  describe(*properties);
  return result(kSuccess);
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (device != 0) return result(cudaErrorInvalidDevice);
  if (attribute == cudaDevAttrMultiProcessorCount) {
    *value = machine().multiprocessors;
    return result(kSuccess);
  }
  if (attribute == cudaDevAttrClusterLaunch) {
    *value = machine().has_clusters ? 1 : 0;
    return result(kSuccess);
  }
  for (const Attribute& known : kAttributes) {
    if (known.name != attribute) continue;
    *value = to_int(known.value);
    return result(kSuccess);
  }
  return result(kErrorInvalidValue);
}
cudaError_t cudaDeviceReset() {
  return result(kErrorNotSupported);
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return result(kSuccess);
}
cudaError_t cudaDriverGetVersion(int* version) {
  return cudaRuntimeGetVersion(version);
}

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    if (value < 0 || static_cast<std::size_t>(value) > limits::kSharedPerBlockOptin) {
      return result(kErrorInvalidValue);
    }
    machine().attributes.allow_dynamic_shared(kernel, static_cast<std::size_t>(value));
  }
  if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed) {
    machine().attributes.allow_large_clusters(kernel, value != 0);
  }
  return result(kSuccess);  // the others are hints
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  *attributes = {};
  attributes->maxThreadsPerBlock = limits::kThreadsPerBlock;
  attributes->ptxVersion = attributes->binaryVersion =
      limits::kComputeMajor * 10 + limits::kComputeMinor;
  attributes->maxDynamicSharedSizeBytes =
      to_int(machine().attributes.allowed_dynamic_shared(kernel));
  return result(kSuccess);
}
cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) {
  return result(kSuccess);
}

/// How many registers a thread needs is not known, nor the shared variables of other functions.
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel,
                                                          int block_size,
                                                          size_t dynamic_shared_bytes) {
  if (block_size <= 0) return result(kErrorInvalidValue);
  Machine& device = machine();
  const std::size_t statics = device.memory.shared.static_bytes_of(KernelAttributes::names(kernel));
  *blocks = blocks_at_once(0, static_cast<std::size_t>(block_size), statics + dynamic_shared_bytes);
  device.attributes.note_occupancy(kernel, static_cast<std::size_t>(*blocks));
  return result(kSuccess);
}

}  // extern "C"
