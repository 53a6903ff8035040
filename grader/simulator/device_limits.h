// The device that the simulator plays: an NVIDIA GPU of compute capability 9.0, or of another if it
// is told so, with the limits that CUDA's programming guide states for it ("Compute Capabilities"),
// and with as many multiprocessors and as much memory as an H200 has. Its speed is not simulated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace simulator::limits {

/// In what the generations of GPUs differ, as far as launches have to do with it.
struct Generation {
  int capability;  // 90 for 9.0
  bool has_clusters;
  int threads, blocks;                  // of a multiprocessor at one time
  std::size_t shared, shared_reserved;  // a multiprocessor's, and of it for each block
  std::size_t shared_of_block;          // after cudaFuncSetAttribute
};
constexpr std::size_t kKilo = 1024;
constexpr Generation kGenerations[] = {
    {90, true, 2048, 32, 228 * kKilo, kKilo, 227 * kKilo},  // what it is at the start
    {75, false, 1024, 16, 64 * kKilo, 0, 64 * kKilo},
    {80, false, 2048, 32, 164 * kKilo, kKilo, 163 * kKilo},
    {120, true, 1536, 24, 100 * kKilo, kKilo, 99 * kKilo},
};

/// That of a capability which is one of theirs.
constexpr const Generation& generation_of(int capability) {
  for (const Generation& known : kGenerations) {
    if (known.capability == capability) return known;
  }
  throw std::invalid_argument("no GPU of that compute capability");
}

constexpr unsigned kWarpSize = 32;
constexpr unsigned kThreadsPerBlock = 1024;
constexpr unsigned kBlockX = 1024, kBlockY = 1024, kBlockZ = 64;
constexpr unsigned kGridX = 2147483647, kGridY = 65535, kGridZ = 65535;

constexpr std::size_t kSharedPerBlock = 48 * 1024;  // without asking for more
constexpr std::size_t kMostSharedPerBlock = kGenerations[0].shared_of_block;  // of all of them

constexpr int kMultiprocessors = 132;
constexpr int kRegistersPerBlock = 65536;
constexpr unsigned kPortableCluster = 8, kLargestCluster = 16;  // blocks
constexpr std::size_t kL2Bytes = std::size_t{50} << 20;
constexpr std::size_t kMemoryBytes = std::size_t{141} * 1000 * 1000 * 1000;

/// A thread's local memory: its stack, with what the simulator itself needs on it.
constexpr std::size_t kStackBytes = 256 * 1024;

}  // namespace simulator::limits
