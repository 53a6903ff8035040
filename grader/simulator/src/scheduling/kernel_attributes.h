// What cudaFuncSetAttribute() allowed to a kernel, and what it was told of its occupancy.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "device_limits.h"
#include "source/kernel_names.h"

namespace simulator {

class KernelAttributes {
 public:
  void allow_dynamic_shared(const void* kernel, std::size_t bytes) { of(allowed_, kernel) = bytes; }

  /// The dynamic shared memory that a launch of it may ask for. The most, if it is open which one
  /// of several it is.
  std::size_t allowed_dynamic_shared(const KernelNames& kernel) const {
    const std::size_t* most = most_of(allowed_, kernel);
    if (most == nullptr) return limits::kSharedPerBlock;
    const bool is_open = kernel.instance.empty();
    return is_open ? std::max(*most, limits::kSharedPerBlock) : *most;
  }
  std::size_t allowed_dynamic_shared(const void* kernel) const {
    return allowed_dynamic_shared(names(kernel));
  }

  /// What a block of it may have, static and dynamic. most: of any kernel, once it is asked for.
  std::size_t allowed_shared(const KernelNames& kernel, std::size_t most) const {
    return most_of(allowed_, kernel) != nullptr ? most : limits::kSharedPerBlock;
  }

  /// Another one of that name, as an instance of the same template, to which more was allowed.
  const KernelNames* another_with_more(const KernelNames& kernel) const {
    const std::size_t allowed = allowed_dynamic_shared(kernel);
    const auto found = std::find_if(allowed_.rbegin(), allowed_.rend(), [&](const auto& one) {
      return one.first.own == kernel.own && one.second > allowed;
    });
    return found == allowed_.rend() ? nullptr : &found->first;
  }

  /// Clusters of more than the portable 8 blocks.
  void allow_large_clusters(const void* kernel, bool allowed) {
    of(large_clusters_, kernel) = allowed ? 1 : 0;
  }
  bool allows_large_clusters(const KernelNames& kernel) const {
    const std::size_t* allowed = most_of(large_clusters_, kernel);
    return allowed != nullptr && *allowed > 0;
  }

  /// A launcher may count on what it was told of the kernel: so many blocks are on a multiprocessor
  /// at one time. (Which shared variables a kernel has shows only when it uses them.)
  void note_occupancy(const void* kernel, std::size_t blocks) {
    std::size_t& most = of(occupancy_, kernel);
    most = std::max(most, blocks);
  }
  std::size_t occupancy_told(const KernelNames& kernel) const {
    const std::size_t* most = most_of(occupancy_, kernel);
    return most == nullptr ? 0 : *most;
  }

  static KernelNames names(const void* kernel) {
    return kernel_names(reinterpret_cast<std::uintptr_t>(kernel));
  }

 private:
  using Values = std::vector<std::pair<KernelNames, std::size_t>>;

  static std::size_t& of(Values& values, const void* kernel) {
    const KernelNames wanted = names(kernel);
    for (auto& [names, value] : values) {
      if (names.instance == wanted.instance) return value;
    }
    return values.emplace_back(wanted, 0).second;
  }

  static const std::size_t* most_of(const Values& values, const KernelNames& kernel) {
    const std::size_t* most = nullptr;
    for (const auto& [names, value] : values) {
      if (may_be_same(names, kernel) && (most == nullptr || value > *most)) most = &value;
    }
    return most;
  }

  Values allowed_, occupancy_, large_clusters_;
};

}  // namespace simulator
