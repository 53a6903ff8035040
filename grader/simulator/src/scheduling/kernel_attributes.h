// What cudaFuncSetAttribute() allowed to a kernel, and what it was told of its occupancy.
//
// They are given the kernel's address, while a launch knows the kernel by the name written before
// its
// <<<...>>>. The two meet in the function's own name: the last one of the symbol, without template
// arguments and parameters. Instances of one template are therefore not told apart.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "device_limits.h"
#include "source/elf_symbols.h"

namespace simulator {

class KernelAttributes {
 public:
  void allow_dynamic_shared(const void* kernel, std::size_t bytes) {
    allowed_[own_name(kernel)] = bytes;
  }

  /// The dynamic shared memory that a launch of `kernel` may ask for: its address, or "ns::k<T>".
  template <typename T>
  std::size_t allowed_dynamic_shared(const T* kernel) const {
    const auto found = allowed_.find(own_name(kernel));
    return found == allowed_.end() ? limits::kSharedPerBlock : found->second;
  }

  /// What a block of it may have, static and dynamic.
  std::size_t allowed_shared(const char* kernel) const {
    return allowed_.count(own_name(kernel)) > 0 ? limits::kSharedPerBlockOptin
                                                : limits::kSharedPerBlock;
  }

  /// Clusters of more than the portable 8 blocks.
  void allow_large_clusters(const void* kernel, bool allowed) {
    large_clusters_[own_name(kernel)] = allowed;
  }
  template <typename T>
  bool allows_large_clusters(const T* kernel) const {
    const auto found = large_clusters_.find(own_name(kernel));
    return found != large_clusters_.end() && found->second;
  }

  /// A launcher may count on what it was told of the kernel: so many blocks are on a multiprocessor
  /// at one time. (Which shared variables a kernel has shows only when it uses them.)
  void note_occupancy(const void* kernel, std::size_t blocks) {
    std::size_t& most = occupancy_[own_name(kernel)];
    most = std::max(most, blocks);
  }
  std::size_t occupancy_told(const char* kernel) const {
    const auto found = occupancy_.find(own_name(kernel));
    return found == occupancy_.end() ? 0 : found->second;
  }

  static std::string own_name(const void* kernel) {
    return last_name(function_name(reinterpret_cast<std::uintptr_t>(kernel)));
  }
  static std::string own_name(const char* written) { return last_name(written); }

 private:
  std::map<std::string, std::size_t> allowed_, occupancy_;  // by own name
  std::map<std::string, bool> large_clusters_;
};

}  // namespace simulator
