// Compares an output with its fp64 reference, element by element, each within its own bound.
//
// An element is right when error <= bound, written as !(error <= bound) for wrong, so that NaN is
// wrong. Infinity is right only where the reference, rounded to the output's type, is that
// infinity. Where the reference is itself infinite or NaN, as an input is, either is right: which
// of them depends on the order of operations. Where the bound is infinite everything is.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "verdict/case.h"
#include "verdict/values/field.h"
#include "verdict/values/matrix.h"

namespace onepass::verdict {

/// What one output must be.
struct Expectation {
  std::string output;
  Field value;  // fp64, not rounded
  Field bound;  // > 0, see bounds.h
};

/// What the outputs of any call of a function must be.
using Outputs = std::vector<std::function<Expectation(const Case&)>>;
std::vector<Expectation> expectations(const Outputs& outputs, const Case& call);
/// The named ones, of a function that describes all of its outputs in one place.
Outputs outputs_of(Expectation (*expected)(const Case&, const std::string& output),
                   const std::vector<std::string>& names);

struct Index {
  std::int64_t row = 0;
  std::int64_t col = 0;
};

/// Which elements of a matrix are meant: 1, others 0.
using Mask = Grid<char>;

struct Comparison {
  std::int64_t size = 0;
  std::int64_t wrong = 0;
  std::int64_t unwritten = 0;  // wrong, and still holding the poison
  std::optional<Index> first_unwritten;

  // The element that is furthest off, measured in its bound. Unordered errors (NaN) are furthest.
  Index worst;
  double expected = 0.0;
  double got = 0.0;
  double error_over_bound = 0.0;  // over all elements; at most 1 when none is wrong

  Mask wrong_mask;
  Mask unwritten_mask;

  bool right() const { return wrong == 0; }
  bool untouched() const { return size > 0 && unwritten == size; }
};

/// `value` and `bound` have the shape of `got`; throws std::logic_error if not, or if the
/// bound of a finite reference is NaN (a fault of the check, never of the student). `poison`: what
/// an output held before the call; nothing for buffers that had contents.
Comparison compare(const Matrix& got, const Field& value, const Field& bound,
                   std::optional<Poison> poison);

/// Does the element still hold the poison?
bool is_poison(const Matrix& matrix, std::int64_t row, std::int64_t col, Poison poison);

/// The first element of an input that the call changed, or nothing.
struct Change {
  Index index;
  double before = 0.0;
  double after = 0.0;
};
std::optional<Change> first_change(const Matrix& before, const Matrix& after);

/// "y[3][1000]"; vectors (one row or one column) have one index: "rstd[3]".
std::string element_name(const std::string& buffer, std::int64_t rows, std::int64_t cols,
                         Index index);
inline std::string element_name(const std::string& buffer, const Matrix& shape, Index index) {
  return element_name(buffer, shape.rows(), shape.cols(), index);
}

/// A number as messages show it beside another one: 7 significant digits, or as many as tell the
/// two apart; "nan", "inf".
std::string show(double value, double beside);

}  // namespace onepass::verdict
