// Oracles of chapter 4, from a single wrong step: all that follows from the step is wrong with it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "chapters/batchnorm/calls.h"
#include "verdict/diagnosis.h"

namespace onepass::batchnorm {

/// All outputs of a call of 4.1 with a mistake; nothing where it makes no difference.
using WrongForward = std::function<std::optional<Forward>(const Inputs& in, Dtype dtype)>;
verdict::Oracle wrong_forward(std::string mistake, std::string sentence, WrongForward wrong,
                              double slack = 4.0);

/// A channel's mean and biased variance, which everything else is made of.
struct Statistics {
  Field mean, variance;  // [channels, 1]
};
Forward forward_with(const Inputs& in, const Statistics& statistics);
verdict::Oracle wrong_statistics(
    std::string mistake, std::string sentence,
    std::function<std::optional<Statistics>(const Inputs& in)> statistics, double slack = 4.0);

/// rstd from a channel's variance.
verdict::Oracle wrong_rstd(std::string mistake, std::string sentence,
                           std::function<double(const Inputs& in, double variance)> rstd);

/// One running statistic, from what it was and the batch's; the unbiased variance is given for the
/// variance.
struct Running {
  double old, batch, momentum, count, eps;
};
verdict::Oracle wrong_running(std::string mistake, std::string sentence,
                              std::function<double(const Running&)> mean,
                              std::function<double(const Running&)> variance);

/// One element of y, of 4.1 or of 4.2.
struct Element {
  double x, mean, rstd, weight, bias;
  Dtype dtype;
};
verdict::Oracle wrong_element(std::string mistake, std::string sentence,
                              std::function<double(const Element&)> y);

/// The channel whose weight, bias (and in 4.2 statistics) element j of channel c is given; negative
/// where it is none.
verdict::Oracle wrong_channel(
    std::string mistake, std::string sentence,
    std::function<std::int64_t(const Inputs& in, std::int64_t c, std::int64_t j)> channel);

}  // namespace onepass::batchnorm
