#include "chapters/common/rows.h"

#include <algorithm>
#include <cmath>

namespace onepass::common {

using verdict::field_of;

Field map(Field field, const std::function<double(double)>& f) {
  std::transform(field.values.begin(), field.values.end(), field.values.begin(), f);
  return field;
}

Field rounded(verdict::Dtype dtype, const Field& field) {
  return map(field, [dtype](double value) { return verdict::round_to(dtype, value); });
}

Field magnitudes(const Field& field) {
  return map(field, [](double value) { return std::abs(value); });
}

Field added(const Field& a, const Field& b) {
  return field_of(a.rows, a.cols, [&](std::int64_t row, std::int64_t col) {
    return a(row, col) + at(b, row, col);
  });
}

Field product(const Field& a, const Field& b) {
  return field_of(a.rows, a.cols, [&](std::int64_t row, std::int64_t col) {
    return a(row, col) * at(b, row, col);
  });
}

Field row_sums(const Field& x) {
  return field_of(x.rows, 1, [&](std::int64_t row, std::int64_t) {
    double sum = 0.0;
    for (std::int64_t col = 0; col < x.cols; ++col) {
      sum += x(row, col);
    }
    return sum;
  });
}

Field row_means(const Field& x) {
  const auto cols = static_cast<double>(x.cols);
  return map(row_sums(x), [cols](double sum) { return sum / cols; });
}

Field normalized(const Field& x, const Field& mean, const Field& rstd) {
  return field_of(x.rows, x.cols, [&](std::int64_t row, std::int64_t col) {
    return (x(row, col) - mean(row, 0)) * rstd(row, 0);
  });
}

Field column_sums(const Field& terms) {
  Field sums(1, terms.cols);
  for (std::int64_t row = 0; row < terms.rows; ++row) {
    for (std::int64_t col = 0; col < terms.cols; ++col) {
      sums(0, col) += terms(row, col);
    }
  }
  return sums;
}

Field row_of(const Field& field, std::int64_t row) {
  return field_of(1, field.cols, [&](std::int64_t, std::int64_t col) { return field(row, col); });
}

}  // namespace onepass::common
