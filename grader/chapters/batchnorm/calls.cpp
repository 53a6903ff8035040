// Calls of chapter 4's functions.
#include "chapters/batchnorm/calls.h"

#include <utility>

#include "chapters/batchnorm/bounds.h"

namespace onepass::batchnorm {

namespace {

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

/// Bounds of what 4.1 saves and of the running statistics, one a channel.
Field channel_bounds(const Inputs& in, const Statistics& right, const std::string& output) {
  const Field mean_magnitude = common::row_means(common::magnitudes(in.x));
  const double unbiased = static_cast<double>(in.count()) / static_cast<double>(in.count() - 1);
  Field bound(in.channels(), 1);
  for (std::int64_t c = 0; c < in.channels(); ++c) {
    const Channel channel = {in.count(), mean_magnitude(c, 0), right.variance(c, 0)};
    if (output == "save_mean") {
      bound(c, 0) = mean_bound(channel);
    } else if (output == "save_rstd") {
      bound(c, 0) = rstd_bound(channel, right.rstd(c, 0));
    } else if (output == "running_mean") {
      bound(c, 0) =
          running_bound(in.momentum, in.running_mean(c, 0), right.mean(c, 0), mean_bound(channel));
    } else {
      bound(c, 0) =
          running_bound(in.momentum, in.running_var(c, 0), unbiased * right.variance(c, 0),
                        unbiased * variance_bound(channel));
    }
  }
  return bound;
}

/// What y was made with, and how far off that may be.
struct BoundInputs {
  Field mean, rstd, mean_error, rstd_error;
};
Field y_bounds(Dtype dtype, const Inputs& in, const Field& y, const BoundInputs& statistics) {
  Field bound = y;
  for (std::int64_t c = 0; c < y.rows; ++c) {
    for (std::int64_t j = 0; j < y.cols; ++j) {
      bound(c, j) = y_bound(dtype, {in.x(c, j), statistics.mean(c, 0), statistics.rstd(c, 0),
                                    in.weight(c, 0), in.bias(c, 0), y(c, j),
                                    statistics.mean_error(c, 0), statistics.rstd_error(c, 0)});
    }
  }
  return bound;
}

}  // namespace

Case forward_call(Arguments arguments) {
  return call_of(kForward, std::move(arguments));
}

Case evaluate_call(Arguments arguments) {
  return call_of(kEvaluate, std::move(arguments));
}

bool is_training(const Case& call) {
  return call.function() == "batchnorm_forward";
}

Inputs inputs_of(const Case& call) {
  Inputs in;
  in.x = by_channel(call.values("x").field(), call.integer("channels"));
  in.weight = call.values("weight").field();
  in.bias = call.values("bias").field();
  in.running_mean = call.values("running_mean").field();
  in.running_var = call.values("running_var").field();
  in.eps = eps_of(call);
  in.momentum = is_training(call) ? static_cast<float>(call.real("momentum")) : 0.0;
  in.batch = call.integer("batch");
  in.dtype = call.dtype();
  return in;
}

Expectation expected_in_training(const Inputs& in, Dtype dtype, const std::string& output) {
  const Statistics right = *batch_statistics(in);
  const Field value = *batchnorm_forward(in, output);
  if (output != "y") {
    return {output, value, channel_bounds(in, right, output)};
  }
  const BoundInputs statistics{right.mean, right.rstd, channel_bounds(in, right, "save_mean"),
                               channel_bounds(in, right, "save_rstd")};
  return {output, as_tensor(value, in.batch),
          as_tensor(y_bounds(dtype, in, value, statistics), in.batch)};
}

Expectation expected_in_evaluation(const Inputs& in, Dtype dtype) {
  const Field none(in.channels(), 1);
  const Statistics running = *running_statistics(in);
  BoundInputs statistics{running.mean, running.rstd, none, none};
  for (std::int64_t c = 0; c < in.channels(); ++c) {
    // No sum, so rstd is exact but for eps, the root and the reciprocal.
    statistics.rstd_error(c, 0) = rstd_bound({}, statistics.rstd(c, 0));
  }
  const Field y = *batchnorm_evaluate(in);
  return {"y", as_tensor(y, in.batch), as_tensor(y_bounds(dtype, in, y, statistics), in.batch)};
}

Expectation expected(const Case& call, const std::string& output) {
  const Inputs in = inputs_of(call);
  return is_training(call) ? expected_in_training(in, call.dtype(), output)
                           : expected_in_evaluation(in, call.dtype());
}

}  // namespace onepass::batchnorm
