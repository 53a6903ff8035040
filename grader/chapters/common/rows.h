// Arithmetic on the rows of fields.
#pragma once

#include <cstdint>
#include <functional>

#include "verdict/values/dtype.h"
#include "verdict/values/field.h"

namespace onepass::common {

using verdict::Field;

/// field[row][col]; a field of one row or of one column is repeated.
inline double at(const Field& field, std::int64_t row, std::int64_t col) {
  return field(field.rows == 1 ? 0 : row, field.cols == 1 ? 0 : col);
}

/// f(value) for each element.
Field map(Field field, const std::function<double(double)>& f);
/// Each element rounded to `dtype`.
Field rounded(verdict::Dtype dtype, const Field& field);
/// |field[r][c]|
Field magnitudes(const Field& field);

/// a[r][c] + b[r][c], a[r][c] * b[r][c]; `b` may be [1, cols] or [rows, 1], and is then repeated.
Field added(const Field& a, const Field& b);
Field product(const Field& a, const Field& b);

/// Over c of x[r][c]: the sums, the means. [rows, 1]
Field row_sums(const Field& x);
Field row_means(const Field& x);

/// (x[r][c] - mean[r]) * rstd[r].  mean, rstd: [rows, 1].
Field normalized(const Field& x, const Field& mean, const Field& rstd);

/// sums[c] = sum over r of terms[r][c]. [1, cols]
Field column_sums(const Field& terms);

/// [1, cols]
Field row_of(const Field& field, std::int64_t row);

}  // namespace onepass::common
