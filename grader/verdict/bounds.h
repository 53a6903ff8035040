// How far an honest fp32 kernel may be from the fp64 reference: all bounds of all chapters, each
// with its derivation beside its code (bounds.cpp).
//
// All of them share
//     u = 2^-24            the relative error of one fp32 operation
//     k = sqrt(cols) + 8   what adding up cols terms costs, in units of u times the sum of
//     magnitudes
// k is statistical, not the worst case (cols): rounding errors are as often up as down. So a check
// must not make them all point one way, as one huge element followed by thousands of tiny ones
// would.
//
// A bound is on |got - reference|, where the reference is computed in fp64 from the inputs as they
// were rounded to their dtype, and is itself not rounded.
#pragma once

#include <cstdint>

#include "verdict/values/dtype.h"

namespace onepass::verdict::bounds {

/// k as above.
double summation(std::int64_t terms);

/// One rounding to `dtype` of a number whose fp32 computation is off by at most `error`.
double rounded(Dtype dtype, double value, double error);

/// The sum of a row, added up in fp32 in any order and stored as fp32. sum_of_magnitudes: of |x|.
double row_sum(std::int64_t cols, double sum_of_magnitudes);

/// RMSNorm: rstd = 1 / sqrt(mean(x^2) + eps), stored as fp32.
double rmsnorm_rstd(std::int64_t cols, double rstd);

/// RMSNorm: y = x * rstd * weight, in fp32, rounded to `dtype` once.
double rmsnorm_y(Dtype dtype, std::int64_t cols, double y);

}  // namespace onepass::verdict::bounds
