// How far an honest fp32 RMSNorm may be from the reference (verdict/bounds.h).
#pragma once

#include "verdict/bounds.h"

namespace onepass::rmsnorm {

/// rstd = 1 / sqrt(mean(x^2) + eps), stored as fp32.
double rstd_bound(std::int64_t cols, double rstd);

/// y = x * rstd * weight, in fp32, rounded to `dtype` once.
double y_bound(verdict::Dtype dtype, std::int64_t cols, double y);

}  // namespace onepass::rmsnorm
