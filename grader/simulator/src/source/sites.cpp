#include "source/sites.h"

namespace simulator {

Sites::Sites() : numbers_(offset_of(reinterpret_cast<std::uintptr_t>(&_end))) {}

std::uint32_t Sites::add(CodeAddress site) {
  if (sites_.size() >= kMost) return 0;
  const auto number = static_cast<std::uint16_t>(sites_.size());
  numbers_[offset_of(site)] = number;
  sites_.push_back(site);
  return number;
}

}  // namespace simulator
