// E[x^2] - E[x]^2 in fp32, as kernels compute it that walk over a channel only once.
#pragma once

#include <vector>

#include "verdict/diagnosis.h"

namespace onepass::batchnorm {

/// What cancels depends on who adds what to what, so the usual ways are tried, and what comes near
/// is recognised from far.
void append_one_pass_variance(std::vector<verdict::Oracle>& all);

}  // namespace onepass::batchnorm
