// What the machine refused, in sentences that say what to do about it.
#pragma once

#include <string>

namespace onepass::driver {

/// "Cannot write a.json (No space left on device): make room on its disk." `action`: "write
/// a.json". `error`: of errno.
std::string cannot(const std::string& action, int error);

/// What to do about what a compiler, say, printed when the machine refused it something. Empty if
/// nothing of that kind is in it.
std::string advice_on(const std::string& output);

}  // namespace onepass::driver
