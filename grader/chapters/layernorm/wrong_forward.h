// Makes oracles of exercise 2.1 from formulas: what y, mean and rstd would be with one mistake, so
// that the files of mistakes can be read as tables.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "chapters/layernorm/calls.h"
#include "verdict/diagnosis.h"

namespace onepass::layernorm {

/// What a call gets, as numbers.
struct ForwardInputs {
  Dtype dtype;
  Field x, weight, bias;
  bool has_weight, has_bias;
  double eps;

  double cols() const { return static_cast<double>(x.cols); }
};

struct ForwardOutputs {
  Field mean, rstd, y;
};

/// All outputs from the inputs; nothing where the mistake does not apply.
using WrongForward = std::function<std::optional<ForwardOutputs>(const ForwardInputs&)>;
verdict::Oracle wrong_forward(std::string id, std::string sentence, WrongForward wrong,
                              double slack = verdict::kSlack);

/// y from these statistics.
ForwardOutputs outputs_with(const ForwardInputs& in, const Field& mean, const Field& rstd);

/// A mistake in the mean; the variance is that about the wrong mean.
using WrongMean = std::function<std::optional<Field>(const ForwardInputs&)>;
verdict::Oracle wrong_mean(std::string id, std::string sentence, WrongMean mean,
                           double slack = verdict::kSlack);

/// A mistake in the sum of squares, from the distances x - mean [rows, cols] to [rows, 1].
using WrongSquares =
    std::function<std::optional<Field>(const ForwardInputs&, const Field& centred)>;
verdict::Oracle wrong_squares(std::string id, std::string sentence, WrongSquares squares,
                              double slack = verdict::kSlack);

/// A mistake between the variance of a row and its rstd.
verdict::Oracle wrong_rstd(
    std::string id, std::string sentence,
    std::function<double(const ForwardInputs&, double mean, double variance)> rstd);

/// A mistake in y alone.
using WrongY = std::function<std::optional<Field>(const ForwardInputs&, const Statistics&)>;
verdict::Oracle wrong_y(std::string id, std::string sentence, WrongY y);

/// Those of rounding: sums in 16 bits, and differences of large numbers.
void append_rounding_mistakes(std::vector<verdict::Oracle>& all);

}  // namespace onepass::layernorm
