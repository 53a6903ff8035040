// How far an honest fp32 kernel may be from the fp64 reference: what every bound is made of. Those
// of a formula stand with its chapter, each beside its derivation.
//
// All of them share
//     u = 2^-24         the relative error of one fp32 operation
//     k = sqrt(n) + 8   what adding up n terms costs, in units of u times the sum of magnitudes
// k is statistical, not the worst case (n): rounding errors are as often up as down. So a check
// must not make them all point one way, as one huge element followed by thousands of tiny ones
// would.
//
// A bound is on |got - reference|, where the reference is computed in fp64 from the inputs as they
// were rounded to their dtype, and is itself not rounded.
#pragma once

#include <cstdint>

#include "verdict/values/dtype.h"

namespace onepass::verdict::bounds {

constexpr double u = 0x1p-24;  // half the distance from 1.0f to its neighbour

/// Below its smallest normal number fp32 may be flushed to zero. Every chapter computes in fp32,
/// whatever it stores.
constexpr double kFlushed = 0x1p-126;

/// k as above.
double summation(std::int64_t terms);

/// The relative error of sum(x^2) over so many terms, in units of u.
double sum_of_squares(std::int64_t terms);

/// One rounding to `dtype` of a number whose fp32 computation is off by at most `error`.
double rounded(Dtype dtype, double value, double error);

/// A result of one operation, as any correct kernel rounds it to its dtype: there is only one.
double rounded_once(double value);

/// The sum of a row, added up in fp32 in any order and stored as fp32. sum_of_magnitudes: of |x|.
double row_sum(std::int64_t cols, double sum_of_magnitudes);

/// The sum of a column over `rows` rows, in fp32 in any order, rounded to `dtype` once.
/// sum_of_magnitudes: of the terms; for terms that are themselves rounded, of what u multiplies.
double column_sum(Dtype dtype, std::int64_t rows, double sum, double sum_of_magnitudes);

}  // namespace onepass::verdict::bounds
