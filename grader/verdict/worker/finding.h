// What a finding of the simulator means for the student.
#pragma once

#include <optional>
#include <string>

#include "wire/messages.h"

namespace onepass::verdict {

using simulator::Finding;
using simulator::Kind;
using simulator::Missing;
using simulator::Party;

/// "forward.cu:41", the path as the simulator gives it; nothing without a line. Of what happens in
/// a header that the exercise gives, the student's line that led to it.
std::optional<std::string> location_of(const Party& party);

/// "forward.cu:41: thread 32 (warp 1, lane 0) of block 0 writes 4 bytes", the file without its
/// folder; "onepass/fast.h:57 (called from forward.cu:88): ...".
std::string sentence_of(const Party& party);

/// That of the first party that has one.
std::optional<std::string> location_of(const Finding& finding);

/// Did the simulator stop a launch that would never have come to an end?
bool is_endless(const Finding& finding);

/// Do two threads write different values to one place at one line, which differ in threadIdx.y and
/// not in threadIdx.x?
bool lacks_thread_y(const Finding& finding);
extern const char* const kThreadYAdvice;

/// The id of the mistake behind it, or nothing where the kind does not tell.
std::optional<std::string> mistake_of(const Finding& finding);

/// The simulator's message, then who took part, a line each. For host code only where it has a
/// caller's line, and none in a warning, which is told once however many threads it concerns.
std::string account_of(const Finding& finding);

/// The account, and what to do about it where the kind is known.
std::string sentence_of(const Finding& finding);

}  // namespace onepass::verdict
