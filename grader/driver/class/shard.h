// A part of a class, for one job of a cluster's job array.
#pragma once

#include <cstddef>
#include <string>

namespace onepass::driver::course {

struct Shard {
  std::size_t number = 1, of = 1;  // "3/16"

  bool has(std::size_t index) const { return index % of == number - 1; }
};

/// Throws BadInput for what is none. Empty: all.
Shard shard_named(const std::string& text);

}  // namespace onepass::driver::course
