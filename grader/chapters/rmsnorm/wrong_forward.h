// Makes oracles of exercise 1.2 from formulas: what y and rstd would be with one mistake, so that
// mistakes_forward.cpp can be read as a table.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "chapters/rmsnorm/calls.h"
#include "chapters/rmsnorm/reference.h"
#include "verdict/diagnosis.h"

namespace onepass::rmsnorm {

/// What a call gets, as numbers.
struct Inputs {
  Dtype dtype;
  Field x;       // [rows, cols]
  Field weight;  // [1, cols]
  double eps;

  double cols() const { return static_cast<double>(x.cols); }
};

/// Both outputs from the inputs; nothing where the mistake does not apply.
using WrongForward = std::function<std::optional<Forward>(const Inputs&)>;
verdict::Oracle wrong_forward(std::string mistake, std::string sentence, WrongForward wrong,
                              double slack = verdict::kSlack);

/// A mistake in rstd, which y then has too: from a row's sum of squares to its rstd.
using WrongRstd = std::function<double(const Inputs&, double squares)>;
verdict::Oracle wrong_rstd(std::string mistake, std::string sentence, WrongRstd wrong);

/// A mistake in the sum of squares, which rstd and y then have too: from the inputs to [rows, 1].
using WrongSum = std::function<std::optional<Field>(const Inputs&)>;
verdict::Oracle wrong_sum(std::string mistake, std::string sentence, WrongSum wrong,
                          double slack = verdict::kSlack);

/// A mistake in y alone: from the inputs and the right rstd [rows, 1] to y.
using WrongY = std::function<Field(const Inputs&, const Field& rstd)>;
verdict::Oracle wrong_y(std::string mistake, std::string sentence, WrongY wrong);

/// A mistake in what is read for x; all that follows is right.
using WrongX = std::function<std::optional<Field>(const Case&)>;
verdict::Oracle wrong_x(std::string mistake, std::string sentence, WrongX wrong);

Field squares_of(const Field& x);

}  // namespace onepass::rmsnorm
