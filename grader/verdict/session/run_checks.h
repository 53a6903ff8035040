// The checks of an exercise, which are doctest's test cases of the suite that bears its id.
#pragma once

#include <string>
#include <vector>

#include "verdict/session/session.h"
#include "wire/exercise.h"

namespace onepass::verdict {

/// The checks of an exercise, in the order in which they run. Throws std::logic_error for a test
/// case that is none (check.h).
std::vector<wire::CheckInfo> list_checks(const std::string& exercise);

/// Runs one of them; session() is this one meanwhile.
Session::Check run_check(Session& session, const std::string& exercise,
                         const wire::CheckInfo& info);

}  // namespace onepass::verdict
