// Rounding to a 16-bit type as a cast does not: every output of such a type may have been. And
// rounding to it what is in fp32.
#pragma once

#include <functional>
#include <vector>

#include "verdict/diagnosis.h"
#include "verdict/values/dtype.h"

namespace onepass::verdict {

struct OwnRounding {
  const char* mistake;  // id
  const char* sentence;
  Rounding way;
};
const std::vector<OwnRounding>& own_roundings();

/// Those of the output that `expected` tells, whichever it is.
std::vector<Oracle> roundings_of(const std::function<Expectation(const Case&)>& expected);

}  // namespace onepass::verdict
