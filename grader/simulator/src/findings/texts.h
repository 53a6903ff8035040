// The words in which findings speak of threads, accesses and calls.
#pragma once

#include <string>

#include "events/events.h"
#include "simulator.h"

namespace simulator {

/// The place with this number in a block or a grid, x fastest.
inline uint3 unflatten(std::uint64_t number, const uint3& shape) {
  const std::uint64_t row = number / shape.x;
  return {static_cast<unsigned>(number % shape.x), static_cast<unsigned>(row % shape.y),
          static_cast<unsigned>(row / shape.y)};
}

/// Thread number `thread` of block number `block`, which does something in this line.
Party party(const LaunchBegin& launch, std::uint64_t block, unsigned thread, CodeAddress site,
            std::string action);

/// Host code in this line.
Party host_party(CodeAddress site, std::string action);

/// "4 x 1 x 1"
std::string shape_text(const uint3& shape);

/// "4 bytes"
std::string bytes_text(unsigned size);

/// "begins to copy 16 bytes"
std::string copy_text(const AsyncCopy& copy);

/// How sentences speak of an access: "Updates " begins one, "updates " "4 bytes" " atomically" is
/// what a thread does, "updated atomically" what is done.
struct AccessWords {
  const char *begin, *does, *how, *done;
};
const AccessWords& words_for(AccessType type);

/// "reads 4 bytes"; where the size is not known (0), "reads it".
std::string action_text(AccessType type, unsigned size);

/// The same; an asynchronous store "stores 4 bytes asynchronously".
std::string action_text(const Access& access);

/// CUDA's name of the operation: "__shfl_down_sync".
const char* operation_name(WarpOperation operation);

/// "0x0000ffff"
std::string mask_text(unsigned mask);

}  // namespace simulator
