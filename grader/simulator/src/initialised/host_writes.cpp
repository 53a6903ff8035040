#include "initialised/host_writes.h"

#include <iterator>
#include <utility>

namespace simulator {

void HostWrites::add(Write write) {
  while (const Write* old = within(write.begin, write.end - write.begin)) {
    const Write rest = *old;
    writes_.erase(rest.begin);
    if (rest.begin < write.begin) {
      writes_[rest.begin] = {rest.begin, write.begin, rest.call, rest.site};
    }
    if (rest.end > write.end) writes_[write.end] = {write.end, rest.end, rest.call, rest.site};
  }
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
