// The forward pass of a normalisation over rows, in fp64, the plainest code there is: RMSNorm's,
// LayerNorm's, and BatchNorm's, where a channel is a row.
//
//     mean     = the sum of x / cols                  0 in RMSNorm
//     variance = the sum of (x - mean)^2 / cols
//     rstd     = 1 / sqrt(variance + eps)
//     y        = (x - mean) * rstd * weight + bias
//
// Each step is a hook, and what a hook does if it is left alone is right. With another in its place
// the pass is one with a mistake.
#pragma once

#include <cmath>
#include <functional>
#include <optional>
#include <string>

#include "chapters/common/row_sum.h"
#include "chapters/common/rows.h"
#include "verdict/case.h"

namespace onepass::common {

/// What a pass is given.
struct Forward {
  verdict::Dtype dtype = verdict::Dtype::fp32;
  Field x;  // [rows, cols]
  double eps = 0.0;
  bool centred = true;              // is a mean subtracted?
  Field weight = Field(1, 1, 1.0);  // [1, cols], [rows, 1], or [1, 1] for all
  Field bias = Field(1, 1, 0.0);    // the same
  std::int64_t stride = 0;          // of x; 0: x is dense
};

/// What is known of a row once it is summed up.
struct Row {
  verdict::Dtype dtype = verdict::Dtype::fp32;  // of x
  double cols = 0.0, eps = 0.0;
  double sum = 0.0, mean = 0.0;          // of x
  double squares = 0.0, variance = 0.0;  // the sum of (x - mean)^2
  double stride = 0.0;                   // of x
};

/// What is known of an element.
struct Element {
  verdict::Dtype dtype;
  double x, mean, rstd = 1.0, weight = 1.0, bias = 0.0;

  double x_hat() const { return (x - mean) * rstd; }
};

struct ForwardHooks {
  /// From what the pass is given to what it reads; nothing where that makes no difference.
  std::function<std::optional<Forward>(const verdict::Case& call, Forward pass)> read =
      [](const verdict::Case&, Forward pass) { return pass; };
  RowSum sum = right_sum;
  std::function<double(const Row&)> mean = [](const Row& r) { return r.sum / r.cols; };
  std::function<double(const Element&)> square = [](const Element& e) {
    return (e.x - e.mean) * (e.x - e.mean);
  };
  RowSum sum_of_squares = right_sum;
  std::function<double(const Row&)> variance = [](const Row& r) { return r.squares / r.cols; };
  std::function<double(const Row&)> rstd = [](const Row& r) {
    return 1.0 / std::sqrt(r.variance + r.eps);
  };
  /// From each row's rstd to what is made of them, if anything.
  std::function<Field(const Field& rstd)> rstd_total = {};
  std::function<double(const Element&)> y = [](const Element& e) {
    return e.x_hat() * e.weight + e.bias;
  };
};

/// Each [rows, 1]; or [rows, cols], where every column's thread has its own.
struct Statistics {
  Field mean, variance, rstd;
};

/// Of a pass as it is read. Nothing where the mistake makes no difference.
std::optional<Statistics> statistics(const Forward& pass, const ForwardHooks& hooks = {});

/// y [rows, cols] from these statistics.
Field scaled_and_shifted(const Forward& pass, const Statistics& rows,
                         const ForwardHooks& hooks = {});

/// "mean", "rstd" [rows, 1] or "y" [rows, cols].
std::optional<Field> forward(const Forward& pass, const std::string& output,
                             const ForwardHooks& hooks = {});

/// What is saved of a row's statistic: thread 0's, which has column 0. [rows, 1]
Field saved(const Field& statistic);

}  // namespace onepass::common
