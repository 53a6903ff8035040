// What chapter 4's functions should give, in fp64, the plainest code there is. The inputs are the
// numbers as they were rounded to their dtype; nothing here is rounded again.
//
// A tensor [batch, channels, space] is kept as a matrix with a row for each channel, [channels,
// batch * space]: then a channel's statistics are a row's, as in chapters/common/forward.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "chapters/common/forward.h"
#include "verdict/values/dtype.h"
#include "verdict/values/field.h"

namespace onepass::batchnorm {

using common::Statistics;
using verdict::Field;

/// From the matrix of a call, [batch * channels, space], to [channels, batch * space], and back.
Field by_channel(const Field& tensor, std::int64_t channels);
Field as_tensor(const Field& channels, std::int64_t batch);

/// What the functions read. momentum is that of batchnorm_forward.
struct Inputs {
  Field x;                          // [channels, count]
  Field weight, bias;               // [channels, 1]
  Field running_mean, running_var;  // [channels, 1]
  double eps = 0.0;
  double momentum = 0.0;
  std::int64_t batch = 1;
  verdict::Dtype dtype = verdict::Dtype::fp32;

  std::int64_t channels() const { return x.rows; }
  std::int64_t count() const { return x.cols; }
  std::int64_t space() const { return count() / batch; }
};

/// What is known of a channel when its running statistics move.
struct Running {
  double old, batch;  // of the statistic
  double momentum, eps;
  double mean, biased, unbiased, rstd;  // of the batch
  const Inputs& in;

  double moved_to(double statistic) const { return (1.0 - momentum) * old + momentum * statistic; }
};

/// The steps, of which those that are left alone are right.
struct Hooks {
  using MadeWith = std::function<std::optional<Statistics>(const Inputs&, const Hooks&)>;
  using Move = std::function<double(const Running&)>;

  /// From x to rstd, and y.
  std::function<common::ForwardHooks(const Inputs&)> norm = [](const Inputs&) {
    return common::ForwardHooks{};
  };
  /// The elements that the statistics are of. [channels, count]
  std::function<Field(const Inputs&)> summed = [](const Inputs& in) { return in.x; };
  /// The elements that y is made of. [channels, count]
  std::function<Field(const Inputs&)> scaled = [](const Inputs& in) { return in.x; };
  Move running_mean = [](const Running& r) { return r.moved_to(r.batch); };
  Move running_var = running_mean;
  /// What y is made with instead of the statistics that it is.
  MadeWith made_with = {};
  /// Whose weight, bias and running statistics element j of channel c is given.
  std::function<std::int64_t(const Inputs& in, std::int64_t c, std::int64_t j)> channel = {};
  bool batch_statistics_too = false;  // are those of that channel?
};

/// Nothing where a mistake makes no difference.
std::optional<Statistics> batch_statistics(const Inputs& in, const Hooks& hooks = {});
std::optional<Statistics> running_statistics(const Inputs& in, const Hooks& hooks = {});

/// What batchnorm_forward writes: "y" [channels, count]; "running_mean", "running_var",
/// "save_mean", "save_rstd" [channels, 1].
std::optional<Field> batchnorm_forward(const Inputs& in, const std::string& output,
                                       const Hooks& hooks = {});

/// y, [channels, count].
std::optional<Field> batchnorm_evaluate(const Inputs& in, const Hooks& hooks = {});

}  // namespace onepass::batchnorm
