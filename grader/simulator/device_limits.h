// The device that the simulator plays: an NVIDIA GPU of compute capability 9.0 with the limits that
// CUDA's programming guide states for it ("Compute Capabilities"), and with as many multiprocessors
// and as much memory as an H200 has. Its speed is not simulated.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simulator::limits {

constexpr int kComputeMajor = 9;
constexpr int kComputeMinor = 0;
constexpr unsigned kWarpSize = 32;
constexpr unsigned kThreadsPerBlock = 1024;
constexpr unsigned kBlockX = 1024, kBlockY = 1024, kBlockZ = 64;
constexpr unsigned kGridX = 2147483647, kGridY = 65535, kGridZ = 65535;

constexpr std::size_t kSharedPerBlock = 48 * 1024;        // without asking for more
constexpr std::size_t kSharedPerBlockOptin = 227 * 1024;  // after cudaFuncSetAttribute
constexpr std::size_t kSharedPerMultiprocessor = 228 * 1024;
constexpr std::size_t kSharedReservedPerBlock = 1024;

constexpr int kMultiprocessors = 132;
constexpr int kThreadsPerMultiprocessor = 2048;
constexpr int kBlocksPerMultiprocessor = 32;
constexpr int kRegistersPerBlock = 65536;
constexpr unsigned kPortableCluster = 8, kLargestCluster = 16;  // blocks
constexpr std::size_t kL2Bytes = std::size_t{50} << 20;
constexpr std::size_t kMemoryBytes = std::size_t{141} * 1000 * 1000 * 1000;

/// A thread's local memory: its stack, with what the simulator itself needs on it.
constexpr std::size_t kStackBytes = 256 * 1024;

}  // namespace simulator::limits
