// What is known of other blocks: how far into each one's life somebody sees.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>

namespace simulator {

/// How far into another block's life one can see.
struct Sight {
  std::uint32_t interval = 0;       // of all its threads
  std::uint32_t some_interval = 0;  // of those from `first` to `last`, if it is more
  std::uint16_t first = 0, last = 0;

  void add_some(std::uint32_t to, unsigned from, unsigned till);
  /// Takes in the other; true if that has changed anything.
  bool join(const Sight& other);

  bool covers(std::uint32_t made_in, std::uint32_t thread) const {
    return made_in <= interval || (made_in <= some_interval && first <= thread && thread <= last);
  }
};

/// Of each other block, by its number.
using Knowledge = std::unordered_map<std::uint64_t, Sight>;

inline void Sight::add_some(std::uint32_t to, unsigned from, unsigned till) {
  const bool is_first = some_interval <= interval;
  first = static_cast<std::uint16_t>(is_first ? from : std::min<unsigned>(first, from));
  last = static_cast<std::uint16_t>(is_first ? till : std::max<unsigned>(last, till));
  some_interval = std::max(some_interval, to);
}

inline bool Sight::join(const Sight& other) {
  const Sight before = *this;
  interval = std::max(interval, other.interval);
  if (other.some_interval > interval) add_some(other.some_interval, other.first, other.last);
  return interval != before.interval || some_interval != before.some_interval ||
         first != before.first || last != before.last;
}

inline void join(Knowledge& into, const Knowledge& from) {
  for (const auto& [block, sight] : from) into[block].join(sight);
}

}  // namespace simulator
