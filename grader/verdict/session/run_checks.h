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

/// Does it take the other checks to say why this one failed?
bool is_open(const Session::Check& check);

/// Names, in those that are open, the mistake that explains most of the failures, if it explains
/// more than one. Of several that explain as many, which no shape could tell apart, the first.
void tell_apart(std::vector<Session::Check>& checks);

/// Runs one of them; session() is this one meanwhile.
Session::Check run_check(Session& session, const std::string& exercise,
                         const wire::CheckInfo& info);

}  // namespace onepass::verdict
