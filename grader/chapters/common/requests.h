// What a call asked of one tensor, counted by the simulator: lessons of traffic that need no clock.
#pragma once

#include <string>

#include "verdict/case.h"
#include "verdict/session/session.h"
#include "verdict/traffic.h"

namespace onepass::common {

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
