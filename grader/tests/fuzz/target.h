// A fuzz target is one function that is given bytes: libFuzzer's own (`make -C build fuzzers`), or
// those of the files that were kept (replay.cpp). Whatever they are, it comes back in a moment; an
// exception that leaves it, a sanitizer's word or a broken require() is a mistake found.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace onepass::fuzz {

void try_input(std::string_view input);

inline void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

/// What comes before the first such byte; it is taken from `input` with the byte.
inline std::string_view take_until(char end, std::string_view& input) {
  const std::string_view part = input.substr(0, input.find(end));
  input.remove_prefix(std::min(part.size() + 1, input.size()));
  return part;
}

}  // namespace onepass::fuzz
