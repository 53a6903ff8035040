// What a call asked of one tensor, counted by the simulator: lessons of traffic that need no clock.
#pragma once

#include <optional>
#include <string>

#include "verdict/case.h"
#include "verdict/session/session.h"
#include "verdict/traffic.h"

namespace onepass::common {

struct Requests {
  std::int64_t bytes = 0;  // of all accesses, those of one element again counted again
  std::int64_t lanes = 0;  // accesses of one thread

  double bytes_per_access() const {
    return lanes == 0 ? 0.0 : static_cast<double>(bytes) / static_cast<double>(lanes);
  }
};

/// Of all lines that read or write the tensor.
Requests requests_of(const verdict::Traffic& traffic, const std::string& buffer,
                     verdict::AccessType type);

/// Ends the check unless the tensor was loaded at most once.
void require_loaded_once(const verdict::Case& call, const verdict::Traffic& traffic,
                         const std::string& buffer);

/// Ends the check if the tensor, an output, was loaded.
void require_not_loaded(const verdict::Case& call, const verdict::Traffic& traffic,
                        const std::string& buffer);

/// Ends the check unless most accesses to the tensor were of 16 bytes.
void require_packs(const verdict::Case& call, const verdict::Traffic& traffic,
                   const std::string& buffer, verdict::AccessType type);

}  // namespace onepass::common
