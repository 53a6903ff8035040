// What a call asked of one tensor, counted by the simulator: lessons of traffic that need no clock.
#pragma once

#include <cstdint>
#include <string>

#include "verdict/case.h"
#include "verdict/session/session.h"
#include "verdict/traffic.h"

namespace onepass::common {

/// Ends the check unless the tensor was loaded at most once. is_right: the call's results are known
/// to be.
void require_loaded_once(const verdict::Case& call, const verdict::Traffic& traffic,
                         const std::string& buffer, bool is_right = true);

/// Ends the check unless it was stored at most once.
void require_stored_once(const verdict::Case& call, const verdict::Traffic& traffic,
                         const std::string& buffer);

/// Loaded at most so many times.
void require_loaded_at_most(int times, const verdict::Case& call, const verdict::Traffic& traffic,
                            const std::string& buffer);

/// Ends the check unless so many blocks of each launch that reads that tensor have a part of it.
void require_blocks(std::int64_t least, const verdict::Case& call, const std::string& tensor);
/// The same of a row of that tensor, of so many elements, where there are many: in a call that
/// contract::hollow() made.
void require_shared_rows(std::int64_t least, const verdict::Case& call, const std::string& tensor,
                         std::int64_t row);

/// Ends the check if the tensor, an output, was loaded.
void require_not_loaded(const verdict::Case& call, const verdict::Traffic& traffic,
                        const std::string& buffer);

/// Ends the check unless most accesses to the tensor were of 16 bytes, in each line that moves more
/// than a trifle of it.
void require_packs(const verdict::Case& call, const verdict::Traffic& traffic,
                   const std::string& buffer, verdict::AccessType type, bool is_right = true);

}  // namespace onepass::common
