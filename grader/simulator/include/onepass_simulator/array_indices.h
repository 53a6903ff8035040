// Indices into local and shared arrays of structures. Of arrays of numbers the compiler sees to it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "onepass_simulator/device_calls.h"

namespace simulator {

/// The index, after a look whether the array has it. The rewriter writes held[p] so.
template <typename Array, typename Index>
[[gnu::always_inline]] constexpr Index checked_index(const Array&, Index index) {
  if constexpr (std::is_array_v<Array> && std::is_class_v<std::remove_extent_t<Array>> &&
                std::is_integral_v<Index>) {
    if (static_cast<std::uint64_t>(index) >= std::extent_v<Array>) {
      index_out_of_bounds(__PRETTY_FUNCTION__, static_cast<std::int64_t>(index));
    }
  }
  return index;
}

}  // namespace simulator
