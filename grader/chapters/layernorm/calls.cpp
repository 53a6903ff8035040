// Calls of chapter 2's functions.
#include "chapters/layernorm/calls.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "chapters/common/backward.h"
#include "chapters/common/misread.h"
#include "verdict/bounds.h"

namespace onepass::layernorm {

namespace bounds = verdict::bounds;
using common::Backward;

namespace {

bounds::RowStatistics row_statistics(const Field& x, const Field& variance, const Field& rstd,
                                     std::int64_t row) {
  bounds::RowStatistics result;
  result.cols = x.cols;
  for (std::int64_t col = 0; col < x.cols; ++col) {
    result.mean_magnitude += std::abs(x(row, col)) / static_cast<double>(x.cols);
  }
  result.deviation = std::sqrt(variance(row, 0));
  result.rstd = rstd(row, 0);
  return result;
}

/// All that the forward expectations need.
struct ForwardRows {
  common::Forward pass;
  Statistics right;
  std::vector<bounds::RowStatistics> rows;
};

ForwardRows forward_rows(const Case& call) {
  ForwardRows all{forward_of(call), {}, {}};
  all.right = *common::statistics(all.pass);
  for (std::int64_t row = 0; row < all.pass.x.rows; ++row) {
    all.rows.push_back(row_statistics(all.pass.x, all.right.variance, all.right.rstd, row));
  }
  return all;
}

Expectation expected_column(const char* output, const Case& call, const Field& terms,
                            const Field& magnitudes) {
  const Field sums = column_sums(terms);
  const Field sizes = column_sums(magnitudes);
  const Field bound = verdict::field_of(1, terms.cols, [&](std::int64_t, std::int64_t col) {
    return bounds::column_sum(call.dtype(), terms.rows, sums(0, col), sizes(0, col));
  });
  return {output, sums, bound};
}

}  // namespace

double eps_of(const Case& call) {
  return static_cast<float>(call.real("eps"));
}

Field values_or(const Case& call, const char* name, double otherwise) {
  return call.buffer(name).null ? Field(1, call.integer("cols"), otherwise)
                                : call.values(name).field();
}

Case forward_call(Matrix x, std::optional<Matrix> weight, std::optional<Matrix> bias, float eps,
                  const Arrangement& arrangement) {
  const Dtype dtype = x.dtype();
  verdict::contract::Arguments arguments = {.values = {{"x", std::move(x)}},
                                            .scalars = {{"eps", eps}}};
  if (weight) {
    arguments.values.emplace("weight", std::move(*weight));
  }
  if (bias) {
    arguments.values.emplace("bias", std::move(*bias));
  }
  return call(kForward, dtype, std::move(arguments), arrangement);
}

common::Forward forward_of(const Case& call) {
  return {.dtype = call.dtype(),
          .x = call.values("x").field(),
          .eps = eps_of(call),
          .weight = values_or(call, "weight", 1.0),
          .bias = values_or(call, "bias", 0.0)};
}

Expectation expected_mean(const Case& call) {
  const ForwardRows all = forward_rows(call);
  const Field bound = verdict::field_of(all.pass.x.rows, 1, [&](std::int64_t row, std::int64_t) {
    return bounds::layernorm_mean(all.rows[static_cast<std::size_t>(row)]);
  });
  return {"mean", all.right.mean, bound};
}

Expectation expected_rstd(const Case& call) {
  const ForwardRows all = forward_rows(call);
  const Field bound = verdict::field_of(all.pass.x.rows, 1, [&](std::int64_t row, std::int64_t) {
    return bounds::layernorm_rstd(all.rows[static_cast<std::size_t>(row)]);
  });
  return {"rstd", all.right.rstd, bound};
}

Expectation expected_y(const Case& call) {
  const ForwardRows all = forward_rows(call);
  const common::Forward& in = all.pass;
  const Field x_hat = normalized(in.x, all.right.mean, all.right.rstd);
  const Field bound =
      verdict::field_of(x_hat.rows, x_hat.cols, [&](std::int64_t row, std::int64_t col) {
        return bounds::layernorm_y(call.dtype(), all.rows[static_cast<std::size_t>(row)],
                                   in.x(row, col), x_hat(row, col), in.weight(0, col),
                                   in.bias(0, col));
      });
  return {"y", common::scaled_and_shifted(in, all.right), bound};
}

Gradients gradients(Matrix dy, Matrix x, std::optional<Matrix> weight, double eps) {
  const Statistics rows = statistics(x.field(), eps);
  return {std::move(dy), std::move(x), std::move(weight), Matrix::rounded(Dtype::fp32, rows.mean),
          Matrix::rounded(Dtype::fp32, rows.rstd)};
}

Case backward_call(const Function& function, Gradients inputs, const Arrangement& arrangement,
                   const char* none) {
  const Dtype dtype = inputs.x.dtype();
  verdict::contract::Arguments arguments = {.values = {{"dy", std::move(inputs.dy)},
                                                       {"x", std::move(inputs.x)},
                                                       {"mean", std::move(inputs.mean)},
                                                       {"rstd", std::move(inputs.rstd)}},
                                            .none = none};
  if (inputs.weight) {
    arguments.values.emplace("weight", std::move(*inputs.weight));
  }
  return call(function, dtype, std::move(arguments), arrangement);
}

Expectation expected_dx(const Case& call) {
  Backward pass = common::backward_of(call);
  const Field dx = *backward_dx(pass);
  const auto& [x, mean, rstd, x_hat, wdy] =
      std::tie(pass.x, pass.mean, pass.rstd, pass.x_hat, pass.wdy);
  const auto cols = static_cast<double>(x.cols);
  Field bound(x.rows, x.cols);
  for (std::int64_t row = 0; row < x.rows; ++row) {
    bounds::RowGradient means{
        x.cols, rstd(row, 0), pass.mean_wdy(row, 0), pass.mean_wdy_hat(row, 0), 0, 0};
    for (std::int64_t col = 0; col < x.cols; ++col) {
      const double size = std::abs(wdy(row, col));
      const double terms = std::abs(x(row, col)) + std::abs(mean(row, 0));
      means.mean_wdy_magnitude += size / cols;
      means.mean_wdy_hat_error +=
          size * (std::abs(x_hat(row, col)) + terms * std::abs(rstd(row, 0))) / cols;
    }
    for (std::int64_t col = 0; col < x.cols; ++col) {
      const double x_hat_error = bounds::layernorm_x_hat(x(row, col), mean(row, 0), rstd(row, 0));
      bound(row, col) = bounds::layernorm_dx(call.dtype(), means, dx(row, col), wdy(row, col),
                                             x_hat(row, col), x_hat_error);
    }
  }
  return {"dx", dx, bound};
}

Expectation expected_dweight(const Case& call) {
  Backward pass = common::backward_of(call);
  const Field terms = backward_terms(pass, "dweight");
  const auto& [dy, x, mean, rstd, x_hat] =
      std::tie(pass.dy, pass.x, pass.mean, pass.rstd, pass.x_hat);
  Field magnitudes(dy.rows, dy.cols);
  for (std::int64_t row = 0; row < dy.rows; ++row) {
    for (std::int64_t col = 0; col < dy.cols; ++col) {
      const double size = (std::abs(x(row, col)) + std::abs(mean(row, 0))) * rstd(row, 0);
      magnitudes(row, col) = std::abs(dy(row, col)) * (std::abs(x_hat(row, col)) + size);
    }
  }
  return expected_column("dweight", call, terms, magnitudes);
}

Expectation expected_dbias(const Case& call) {
  const Field dy = common::backward_of(call).dy;
  const Field magnitudes = common::map(dy, [](double value) { return std::abs(value); });
  return expected_column("dbias", call, dy, magnitudes);
}

}  // namespace onepass::layernorm
