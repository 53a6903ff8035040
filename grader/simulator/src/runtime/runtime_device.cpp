// CUDA runtime functions: the device's properties, and a kernel's attributes and occupancy. The
// values are those of limits.h; what they cannot know (registers) is stated as none.
#include <algorithm>
#include <cstdio>
#include <optional>

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
  const Generation& generation = *machine().generation;
  p.major = generation.capability / 10;
  p.minor = generation.capability % 10;
  p.multiProcessorCount = machine().multiprocessors;
  p.unifiedAddressing = 1;
  p.memoryBusWidth = kMemoryBusBits;
  p.l2CacheSize = to_int(kL2Bytes);
  p.maxThreadsPerMultiProcessor = generation.threads;
  p.globalL1CacheSupported = p.localL1CacheSupported = 1;
  p.sharedMemPerMultiprocessor = generation.shared;
  p.sharedMemPerBlockOptin = generation.shared_of_block;
  p.maxBlocksPerMultiProcessor = generation.blocks;
  p.reservedSharedMemPerBlock = generation.shared_reserved;
  p.cooperativeLaunch = 1;
  p.clusterLaunch = generation.has_clusters ? 1 : 0;
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
    {cudaDevAttrConcurrentKernels, 0},
    {cudaDevAttrManagedMemory, 0},
    {cudaDevAttrCooperativeLaunch, 1},
    {cudaDevAttrMemoryPoolsSupported, 0},
};

/// What only some generations have, or have more of.
std::optional<std::size_t> attribute_of(const limits::Generation& generation,
                                        cudaDeviceAttr attribute) {
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return generation.threads;
    case cudaDevAttrComputeCapabilityMajor:
      return generation.capability / 10;
    case cudaDevAttrComputeCapabilityMinor:
      return generation.capability % 10;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return generation.shared;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return generation.shared_of_block;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      return generation.blocks;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return generation.shared_reserved;
    case cudaDevAttrClusterLaunch:
      return generation.has_clusters ? 1 : 0;
    default:
      return std::nullopt;
  }
}

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
  if (const auto own = attribute_of(*machine().generation, attribute)) {
    *value = to_int(*own);
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
    if (value < 0 || static_cast<std::size_t>(value) > machine().generation->shared_of_block) {
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
  attributes->ptxVersion = attributes->binaryVersion = machine().generation->capability;
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
  *blocks = blocks_at_once(0, static_cast<std::size_t>(block_size), statics + dynamic_shared_bytes,
                           *device.generation);
  device.attributes.note_occupancy(kernel, static_cast<std::size_t>(*blocks));
  return result(kSuccess);
}

}  // extern "C"
