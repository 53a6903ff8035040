#include "initialised/host_writes.h"

#include <iterator>
#include <utility>

namespace simulator {

void HostWrites::cut(std::uintptr_t begin, std::uintptr_t end) {
  while (const Write* old = within(begin, end - begin)) {
    const Write rest = *old;
    writes_.erase(rest.begin);
    if (rest.begin < begin) writes_[rest.begin] = {rest.begin, begin, rest.call, rest.site};
    if (rest.end > end) writes_[end] = {end, rest.end, rest.call, rest.site};
  }
}

void HostWrites::add(Write write) {
  cut(write.begin, write.end);
  const std::uintptr_t begin = write.begin;
  writes_[begin] = std::move(write);
}

const HostWrites::Write* HostWrites::at(std::uintptr_t address) const {
  return within(address, 1);
}

const HostWrites::Write* HostWrites::within(std::uintptr_t begin, std::size_t bytes) const {
  auto next = writes_.upper_bound(begin);
  if (next != writes_.begin() && std::prev(next)->second.end > begin) {
    return &std::prev(next)->second;
  }
  return next != writes_.end() && next->first - begin < bytes ? &next->second : nullptr;
}

}  // namespace simulator
