// Calls of chapter 2's functions.
#include "chapters/layernorm/calls.h"

#include <cmath>
#include <utility>

#include "chapters/layernorm/bounds.h"

namespace onepass::layernorm {

namespace {

/// All that the forward expectations need.
struct ForwardRows {
  Forward pass;
  Statistics right;
  std::vector<RowStatistics> rows;
};

ForwardRows forward_rows(const Case& call) {
  ForwardRows all{forward_of(call), {}, {}};
  all.right = *statistics(all.pass);
  const Field mean_magnitude = row_means(magnitudes(all.pass.x));
  for (std::int64_t row = 0; row < all.pass.x.rows; ++row) {
    all.rows.push_back({all.pass.x.cols, mean_magnitude(row, 0),
                        std::sqrt(all.right.variance(row, 0)), all.right.rstd(row, 0)});
  }
  return all;
}

Expectation expected_statistic(const Case& call, const char* output, Field Statistics::*statistic,
                               double (*bound_of)(const RowStatistics&)) {
  const ForwardRows all = forward_rows(call);
  const Field bound = verdict::field_of(all.pass.x.rows, 1, [&](std::int64_t row, std::int64_t) {
    return bound_of(all.rows[static_cast<std::size_t>(row)]);
  });
  return {output, all.right.*statistic, bound};
}

}  // namespace

Case forward_call(Matrix x, std::optional<Matrix> weight, std::optional<Matrix> bias, float eps,
                  const Arrangement& arrangement, const Function& function) {
  return call(
      function,
      {.values = {{"x", std::move(x)}, {"weight", std::move(weight)}, {"bias", std::move(bias)}},
       .scalars = {{"eps", eps}}},
      arrangement);
}

Expectation expected_mean(const Case& call) {
  return expected_statistic(call, "mean", &Statistics::mean, mean_bound);
}

Expectation expected_rstd(const Case& call) {
  return expected_statistic(call, "rstd", &Statistics::rstd, rstd_bound);
}

Expectation expected_y(const Case& call) {
  const ForwardRows all = forward_rows(call);
  const Forward& in = all.pass;
  const Field x_hat = normalized(in.x, all.right.mean, all.right.rstd);
  const Field bound =
      verdict::field_of(x_hat.rows, x_hat.cols, [&](std::int64_t row, std::int64_t col) {
        return y_bound(call.dtype(), all.rows[static_cast<std::size_t>(row)], in.x(row, col),
                       x_hat(row, col), in.weight(0, col), in.bias(0, col));
      });
  return {"y", scaled_and_shifted(in, all.right), bound};
}

Case backward_call(const Function& function, Gradients inputs, const Arrangement& arrangement,
                   const char* none) {
  verdict::contract::Arguments arguments = arguments_of(std::move(inputs));
  arguments.none = none;
  return call(function, std::move(arguments), arrangement);
}

Expectation expected_dx(const Case& call) {
  return expected_gradient(backward_of(call));
}

Expectation expected_dweight(const Case& call) {
  return expected_weight_gradient(call, backward_of(call));
}

Expectation expected_dbias(const Case& call) {
  const Field dy = backward_of(call).dy;
  return expected_column_sums("dbias", call, dy, magnitudes(dy));
}

}  // namespace onepass::layernorm
