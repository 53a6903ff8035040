// Which bytes of device memory the host has filled with numbers of its own: a copy from the host, a
// fill with anything but zeros. Such bytes are left uninitialised, so that it is seen whether a
// kernel writes them afterwards; to read them is no mistake.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "events/events.h"

namespace simulator {

class HostWrites {
 public:
  struct Write {
    std::uintptr_t begin, end;
    std::string call;  // "cudaMemcpy()"
    CodeAddress site;
  };

  void add(Write write);
  /// These bytes are no longer what the host has written.
  void cut(std::uintptr_t begin, std::uintptr_t end);

  /// The one that `address` lies in, or nullptr.
  const Write* at(std::uintptr_t address) const;
  /// The first one with a byte of these, or nullptr.
  const Write* within(std::uintptr_t begin, std::size_t bytes) const;

  template <typename Visit>
  void each(Visit visit) const {
    for (const auto& [begin, write] : writes_) visit(write);
  }
  void clear() { writes_.clear(); }

 private:
  std::map<std::uintptr_t, Write> writes_;  // by where they begin; none overlaps another
};

}  // namespace simulator
