// How messages speak of an address in shared memory.
#pragma once

#include <cstdint>
#include <string>

#include "memory/shared_memory.h"

namespace simulator {

struct SharedElement {
  std::string variable;    // "partial", or "dynamic shared memory"
  std::int64_t index = 0;  // in units of the access
  std::string text;        // "partial[8]"
  std::string distance;    // out of bounds: "1 element past the end of partial (8 elements)"
};

SharedElement shared_element(const SharedMemory& memory, std::uintptr_t address,
                             unsigned access_bytes);

}  // namespace simulator
