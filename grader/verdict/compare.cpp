#include "verdict/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace onepass::verdict {
namespace {

/// The error measured in bounds; infinite for what has no distance, such as NaN from a number.
double error_over_bound(Dtype dtype, double got, double value, double bound) {
  if (got == value || (std::isinf(got) && got == round_to(dtype, value)) || std::isinf(bound)) {
    return 0.0;
  }
  if (!std::isfinite(value)) {
    return std::isfinite(got) ? std::numeric_limits<double>::infinity() : 0.0;
  }
  const double ratio = std::abs(got - value) / bound;
  return std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio;
}

bool all_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](double value) { return std::isfinite(value); });
}

bool holds_numbers(const Buffer& buffer) {
  return all_finite(buffer.values.field().values);
}

void require_shape(const Matrix& got, const Field& value, const Field& bound) {
  for (const Field* field : {&value, &bound}) {
    if (field->rows != got.rows() || field->cols != got.cols()) {
      throw std::logic_error(fmt::format("an output is {} x {}, what it is compared with {} x {}",
                                         got.rows(), got.cols(), field->rows, field->cols));
    }
  }
  for (std::size_t i = 0; i < value.values.size(); ++i) {
    if (std::isnan(bound.values[i]) && std::isfinite(value.values[i])) {
      throw std::logic_error("the bound of a number is NaN: such inputs cannot be graded");
    }
  }
}

}  // namespace

std::vector<Expectation> expectations(const Outputs& outputs, const Case& call) {
  std::vector<Expectation> all;
  for (const auto& expected : outputs) {
    const std::vector<double>& values = all.emplace_back(expected(call)).value.values;
    const bool is_half =
        call.buffer(all.back().output).dtype == Dtype::fp16;  // and may be too small
    const bool is_number = std::all_of(values.begin(), values.end(), [&](double value) {
      return is_half ? !std::isnan(value) : std::isfinite(value);
    });
    if (!is_number && std::all_of(call.buffers().begin(), call.buffers().end(), holds_numbers)) {
      throw std::logic_error("the reference is no number, though all inputs are");
    }
  }
  return all;
}

Outputs outputs_of(Expectation (*expected)(const Case&, const std::string& output),
                   const std::vector<std::string>& names) {
  Outputs outputs;
  for (const std::string& name : names) {
    outputs.push_back([expected, name](const Case& call) { return expected(call, name); });
  }
  return outputs;
}

Comparison compare(const Matrix& got, const Field& value, const Field& bound,
                   std::optional<Poison> poison) {
  require_shape(got, value, bound);
  Comparison result;
  result.size = got.size();
  result.wrong_mask = Mask(got.rows(), got.cols());
  result.unwritten_mask = Mask(got.rows(), got.cols());
  double furthest = -1.0;
  for (std::int64_t row = 0; row < got.rows(); ++row) {
    for (std::int64_t col = 0; col < got.cols(); ++col) {
      const double element = got.get(row, col);
      double ratio = error_over_bound(got.dtype(), element, value(row, col), bound(row, col));
      const bool lenient = !std::isfinite(value(row, col)) || std::isinf(bound(row, col));
      if (lenient && poison && is_poison(got, row, col, *poison)) {
        ratio = std::numeric_limits<double>::infinity();
      }
      if (ratio > furthest) {
        furthest = ratio;
        result.worst = {row, col};
        result.expected = value(row, col);
        result.got = element;
        result.error_over_bound = ratio;
      }
      if (!(ratio <= 1.0)) {
        ++result.wrong;
        result.wrong_mask(row, col) = 1;
        if (poison && is_poison(got, row, col, *poison)) {
          ++result.unwritten;
          result.unwritten_mask(row, col) = 1;
          if (!result.first_unwritten) {
            result.first_unwritten = Index{row, col};
          }
        }
      }
    }
  }
  return result;
}

bool is_poison(const Matrix& matrix, std::int64_t row, std::int64_t col, Poison poison) {
  const std::byte* element = matrix.element(row, col);
  return std::all_of(element, element + size_of(matrix.dtype()),
                     [&](std::byte byte) { return byte == static_cast<std::byte>(poison); });
}

std::optional<Change> first_change(const Matrix& before, const Matrix& after) {
  const auto [old_byte, new_byte] = std::mismatch(before.bytes().begin(), before.bytes().end(),
                                                  after.bytes().begin(), after.bytes().end());
  if (old_byte == before.bytes().end()) {
    return std::nullopt;
  }
  const auto byte = static_cast<std::size_t>(old_byte - before.bytes().begin());
  const auto element = static_cast<std::int64_t>(byte / size_of(before.dtype()));
  const Index index{element / before.cols(), element % before.cols()};
  return Change{index, before.get(index.row, index.col), after.get(index.row, index.col)};
}

std::string element_name(const std::string& buffer, std::int64_t rows, std::int64_t cols,
                         Index index) {
  if (cols == 1) {
    return fmt::format("{}[{}]", buffer, index.row);
  }
  if (rows == 1) {
    return fmt::format("{}[{}]", buffer, index.col);
  }
  return fmt::format("{}[{}][{}]", buffer, index.row, index.col);
}

std::string show(double value, double beside) {
  if (std::isnan(value)) {
    return "nan";
  }
  constexpr int kDigits = 7, kDigitsOfFp32 = 9, kDigitsOfFp64 = 17;
  for (const int digits : {kDigits, kDigitsOfFp32}) {
    const std::string shown = fmt::format("{:.{}g}", value, digits);
    if (value == beside || shown != fmt::format("{:.{}g}", beside, digits)) {
      return shown;
    }
  }
  return fmt::format("{:.{}g}", value, kDigitsOfFp64);
}

}  // namespace onepass::verdict
