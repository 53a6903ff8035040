// The fp64 reference of chapter 4.
#include "chapters/batchnorm/reference.h"

#include <algorithm>
#include <stdexcept>

namespace onepass::batchnorm {
namespace {

using common::at;
using verdict::field_of;

common::Forward pass_of(const Inputs& in, const Field& x) {
  return {.dtype = in.dtype, .x = x, .eps = in.eps, .weight = in.weight, .bias = in.bias};
}

/// Whose numbers each element is given, [channels, count]; nothing if there is no such channel.
std::optional<Field> channels_of(const Inputs& in, const Hooks& hooks) {
  const Field channel = field_of(in.channels(), in.count(), [&](auto c, auto j) {
    return static_cast<double>(hooks.channel ? hooks.channel(in, c, j) : c);
  });
  const bool exist = std::all_of(channel.values.begin(), channel.values.end(), [&](double c) {
    return c >= 0.0 && c < static_cast<double>(in.channels());
  });
  return exist ? std::optional(channel) : std::nullopt;
}

/// What each element is given of numbers [channels, 1].
Field given(const Field& numbers, const Field& channel) {
  return field_of(channel.rows, channel.cols, [&](auto c, auto j) {
    return numbers(static_cast<std::int64_t>(channel(c, j)), 0);
  });
}

/// y of the elements, with those statistics.
std::optional<Field> y_of(const Inputs& all, const Hooks& hooks,
                          const Hooks::MadeWith& usual_statistics) {
  Inputs in = all;
  const std::optional<Field> channel = channels_of(in, hooks);
  if (!channel) {
    return std::nullopt;
  }
  for (Field* field : {&in.weight, &in.bias, &in.running_mean, &in.running_var}) {
    *field = given(*field, *channel);
  }
  auto used = (hooks.made_with ? hooks.made_with : usual_statistics)(in, hooks);
  if (!used) {
    return std::nullopt;
  }
  if (hooks.batch_statistics_too && used->mean.cols == 1) {
    used->mean = given(used->mean, *channel);
    used->rstd = given(used->rstd, *channel);
  }
  return common::scaled_and_shifted(pass_of(in, hooks.scaled(in)), *used, hooks.norm(in));
}

}  // namespace

Field by_channel(const Field& tensor, std::int64_t channels) {
  const std::int64_t space = tensor.cols;
  Field result(channels, tensor.rows / channels * space);
  for (std::int64_t row = 0; row < tensor.rows; ++row) {
    for (std::int64_t s = 0; s < space; ++s) {
      result(row % channels, row / channels * space + s) = tensor(row, s);
    }
  }
  return result;
}

Field as_tensor(const Field& channels, std::int64_t batch) {
  const std::int64_t space = channels.cols / batch;
  return verdict::field_of(batch * channels.rows, space, [&](std::int64_t row, std::int64_t s) {
    return channels(row % channels.rows, row / channels.rows * space + s);
  });
}

std::optional<Statistics> batch_statistics(const Inputs& in, const Hooks& hooks) {
  return common::statistics(pass_of(in, hooks.summed(in)), hooks.norm(in));
}

std::optional<Statistics> running_statistics(const Inputs& in, const Hooks& hooks) {
  const auto rstd_of = hooks.norm(in).rstd;
  const Field rstd = common::map(in.running_var, [&](double variance) {
    return rstd_of({.dtype = in.dtype, .eps = in.eps, .variance = variance});
  });
  return Statistics{in.running_mean, in.running_var, rstd};
}

std::optional<Field> batchnorm_forward(const Inputs& in, const std::string& output,
                                       const Hooks& hooks) {
  if (output == "y") {
    return y_of(in, hooks, batch_statistics);
  }
  const std::optional<Statistics> batch = batch_statistics(in, hooks);
  if (!batch) {
    return std::nullopt;
  }
  const auto count = static_cast<double>(in.count());
  return field_of(in.channels(), 1, [&](auto c, auto) {
    const double mean = batch->mean(c, 0);
    const double biased = batch->variance(c, 0);
    const double unbiased = biased * count / (count - 1.0);
    const double rstd = batch->rstd(c, 0);
    const auto moved = [&](const Hooks::Move& move, double old, double statistic) {
      return move({old, statistic, in.momentum, in.eps, mean, biased, unbiased, rstd, in});
    };
    return output == "save_mean"      ? mean
           : output == "save_rstd"    ? rstd
           : output == "running_mean" ? moved(hooks.running_mean, in.running_mean(c, 0), mean)
           : output == "running_var"  ? moved(hooks.running_var, in.running_var(c, 0), unbiased)
                                      : throw std::logic_error("batchnorm has no output " + output);
  });
}

std::optional<Field> batchnorm_evaluate(const Inputs& in, const Hooks& hooks) {
  return y_of(in, hooks, running_statistics);
}

}  // namespace onepass::batchnorm
