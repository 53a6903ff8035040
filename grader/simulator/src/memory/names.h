// How messages speak of an address in the device's memory: "x[3][1000]", "2 elements past the end
// of partial".
#pragma once

#include <cstdint>
#include <string>

#include "memory/memory.h"

namespace simulator {

struct ElementName {
  std::string buffer;       // the allocation's label, the variable, or "dynamic shared memory"
  std::string text;         // "partial[8]"
  std::int64_t index = -1;  // counted from the buffer's first element
  std::string distance;     // for bytes outside: "1 element past the end of partial (32 bytes)"
};

/// For an access of `size` bytes to device memory, inside the allocation or around it.
ElementName device_element(const Allocation& memory, std::uintptr_t address, std::size_t size);
ElementName shared_element(const SharedMemory& memory, std::uintptr_t address, std::size_t size);

/// For an access to memory that is there.
ElementName element_at(const Memory& memory, MemorySpace space, std::uintptr_t address,
                       std::size_t size);

}  // namespace simulator
