// Calls of chapter 4's functions.
#include "chapters/batchnorm/calls.h"

#include <utility>

#include "chapters/batchnorm/bounds.h"

namespace onepass::batchnorm {

namespace {

/// Bounds of what 4.1 saves and of the running statistics, one a channel.
Field channel_bounds(const Inputs& in, const Statistics& right, const std::string& output) {
  const Field mean_magnitude = row_means(magnitudes(in.x));
  const double unbiased = static_cast<double>(in.count()) / static_cast<double>(in.count() - 1);
  return verdict::field_of(in.channels(), 1, [&](std::int64_t c, std::int64_t) {
    const Channel channel = {in.count(), mean_magnitude(c, 0), right.variance(c, 0)};
    const auto moved = [&](const Field& old, double batch, double error) {
      return running_bound(in.momentum, old(c, 0), batch, error);
    };
    return output == "save_mean"   ? mean_bound(channel)
           : output == "save_rstd" ? rstd_bound(channel, right.rstd(c, 0))
           : output == "running_mean"
               ? moved(in.running_mean, right.mean(c, 0), mean_bound(channel))
               : moved(in.running_var, unbiased * right.variance(c, 0),
                       unbiased * variance_bound(channel));
  });
}

/// y, made with statistics that are off by those errors.
Expectation expected_y(const Inputs& in, const Field& y, const Statistics& used,
                       const Field& mean_error, const Field& rstd_error) {
  const Field bound = verdict::field_of(y.rows, y.cols, [&](std::int64_t c, std::int64_t j) {
    return y_bound(in.dtype, {in.x(c, j), used.mean(c, 0), used.rstd(c, 0), in.weight(c, 0),
                              in.bias(c, 0), y(c, j), mean_error(c, 0), rstd_error(c, 0)});
  });
  return {"y", as_tensor(y, in.batch), as_tensor(bound, in.batch)};
}

}  // namespace

Case call_of(const Function& function, Arguments arguments) {
  return call(function,
              {.values = {{"x", std::move(arguments.x)},
                          {"weight", std::move(arguments.weight)},
                          {"bias", std::move(arguments.bias)},
                          {"running_mean", std::move(arguments.running_mean)},
                          {"running_var", std::move(arguments.running_var)}},
               .scalars = {{"eps", arguments.eps}, {"momentum", arguments.momentum}}},
              arguments.arrangement);
}

bool is_training(const Case& call) {
  return call.function() != kEvaluate.name;
}

Inputs inputs_of(const Case& call, Field x) {
  return {.x = std::move(x),
          .weight = call.values("weight").field(),
          .bias = call.values("bias").field(),
          .running_mean = call.values("running_mean").field(),
          .running_var = call.values("running_var").field(),
          .eps = eps_of(call),
          .momentum = is_training(call) ? static_cast<float>(call.real("momentum")) : 0.0,
          .batch = call.integer("batch"),
          .dtype = call.dtype()};
}

Inputs inputs_of(const Case& call) {
  return inputs_of(call, by_channel(call.values("x").field(), call.integer("channels")));
}

Expectation expected_in_training(const Inputs& in, const std::string& output) {
  const Statistics right = *batch_statistics(in);
  const Field value = *batchnorm_forward(in, output);
  if (output != "y") {
    return {output, value, channel_bounds(in, right, output)};
  }
  return expected_y(in, value, right, channel_bounds(in, right, "save_mean"),
                    channel_bounds(in, right, "save_rstd"));
}

Expectation expected_in_evaluation(const Inputs& in) {
  const Statistics running = *running_statistics(in);
  // No sum, so rstd is exact but for eps, the root and the reciprocal.
  const Field rstd_error = map(running.rstd, [](double rstd) { return rstd_bound({}, rstd); });
  return expected_y(in, *batchnorm_evaluate(in), running, Field(in.channels(), 1), rstd_error);
}

Expectation expected(const Case& call, const std::string& output) {
  const Inputs in = inputs_of(call);
  return is_training(call) ? expected_in_training(in, output) : expected_in_evaluation(in);
}

}  // namespace onepass::batchnorm
