// Tensors as a kernel sees them that reads or sums them wrongly.
#pragma once

#include <functional>
#include <optional>

#include "verdict/case.h"
#include "verdict/values/field.h"

namespace onepass::common {

/// The buffer with row r taken from `stride` * r on; nothing where that makes no difference or
/// leaves the buffer.
std::optional<verdict::Field> with_stride(const verdict::Case& call, const char* buffer,
                                          std::int64_t stride);

/// field[c][r] for field[r][c]; for square ones only, others leave the buffer.
std::optional<verdict::Field> transposed(const verdict::Field& field);

/// Zeros where `counted` says no.
verdict::Field only(verdict::Field field,
                    const std::function<bool(std::int64_t row, std::int64_t col)>& counted);

/// f(value) for each element.
verdict::Field map(verdict::Field field, const std::function<double(double)>& f);

/// Each element rounded to `dtype`.
verdict::Field rounded(verdict::Dtype dtype, const verdict::Field& field);

}  // namespace onepass::common
