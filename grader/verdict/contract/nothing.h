// The calls that have nothing to do.
#pragma once

#include <string>

#include "verdict/contract/function.h"

namespace onepass::verdict::contract {

/// Runs the function once for each of its sizes that may be 0, with that one at 0 and all others as
/// small as they get. Nothing may be written; else the check ends with the sentence, which has {}
/// where the element is named: "With rows = 0 there is no row to write, yet {} was."
void expect_nothing_done(const Function& function, const std::string& sentence);

}  // namespace onepass::verdict::contract
