#include "chapters/common/calls.h"

#include <cmath>

namespace onepass::common {

namespace bounds = verdict::bounds;
using bounds::u;

double eps_of(const Case& call) {
  return static_cast<float>(call.real("eps"));
}

Forward forward_of(const Case& call) {
  const auto values_or = [&](const char* tensor, double otherwise) {
    return call.find(tensor) == nullptr ? Field(1, call.integer("cols"), otherwise)
                                        : call.values(tensor).field();
  };
  return {.dtype = call.dtype(),
          .x = call.values("x").field(),
          .eps = eps_of(call),
          .centred = call.find("mean") != nullptr,
          .weight = values_or("weight", 1.0),
          .bias = values_or("bias", 0.0),
          .stride = call.buffer("x").stride()};
}

std::optional<Field> forward_reference(const Case& call, const std::string& output,
                                       const ForwardHooks& hooks) {
  const std::optional<Forward> read = hooks.read(call, forward_of(call));
  return read ? forward(*read, output, hooks) : std::nullopt;
}

Expectation expected_column_sums(const char* output, const Case& call, const Field& terms,
                                 const Field& sizes) {
  const Field sums = column_sums(terms);
  const Field sums_of_sizes = column_sums(sizes);
  const Field bound = verdict::field_of(1, terms.cols, [&](std::int64_t, std::int64_t col) {
    return bounds::column_sum(call.dtype(), terms.rows, sums(0, col), sums_of_sizes(0, col));
  });
  return {output, sums, bound};
}

namespace {

/// What x_hat = (x - mean) * rstd is a small difference of: (|x| + |mean|) * |rstd|. Without a mean
/// it is no difference.
Field uncentred(const Backward& pass) {
  return verdict::field_of(pass.x.rows, pass.x.cols, [&](std::int64_t row, std::int64_t col) {
    return pass.centred ? (std::abs(pass.x(row, col)) + std::abs(pass.mean(row, 0))) *
                              std::abs(pass.rstd(row, 0))
                        : 0.0;
  });
}

/// |a| * (|x_hat| + what that is a difference of)
Field sizes_of(const Field& a, const Backward& pass) {
  const Field difference_of = uncentred(pass);
  return verdict::field_of(a.rows, a.cols, [&](std::int64_t row, std::int64_t col) {
    return std::abs(a(row, col)) * (std::abs(pass.x_hat(row, col)) + difference_of(row, col));
  });
}

}  // namespace

// The means err like sums over the row: u * k times the mean size of what is added. rstd is given,
// so that x * rstd is off by one rounding, which is among those of the products; (x - mean) * rstd,
// or x * rstd - mean * rstd, is off by three of its own and by u times what it is a difference of.
// That error is there in the terms of mean(wdy * x_hat) too (an honest kernel may sum wdy * x and
// subtract mean * sum(wdy)), and against that mean. Then come the roundings of the products and the
// differences: RMSNorm's other form, rstd * wdy - x * (rstd^3 * mean(wdy * x)), has two more of
// them.
Expectation expected_gradient(Backward pass) {
  const Field dx = *backward_dx(pass);
  const Field difference_of = uncentred(pass);
  const Field wdy = magnitudes(pass.wdy);
  const Field mean_wdy_size = row_means(pass.centred ? wdy : Field(wdy.rows, wdy.cols));
  const Field mean_wdy_hat_size = row_means(sizes_of(pass.wdy, pass));
  const double k = u * bounds::summation(wdy.cols);
  const Field bound = verdict::field_of(dx.rows, dx.cols, [&](std::int64_t row, std::int64_t col) {
    const double x_hat = std::abs(pass.x_hat(row, col));
    const double mean = std::abs(pass.mean_wdy_hat(row, 0));
    const double x_hat_error = pass.centred ? u * (3.0 * x_hat + difference_of(row, col)) : 0.0;
    const double means = k * (mean_wdy_size(row, 0) + x_hat * mean_wdy_hat_size(row, 0));
    const double roundings =
        4.0 * u * (wdy(row, col) + std::abs(pass.mean_wdy(row, 0)) + x_hat * mean);
    const double inside = means + mean * x_hat_error + roundings;
    return bounds::rounded(pass.dtype, dx(row, col),
                           std::abs(pass.rstd(row, 0)) * inside + 2.0 * u * std::abs(dx(row, col)));
  });
  return {"dx", dx, bound};
}

Expectation expected_weight_gradient(const Case& call, Backward pass) {
  const Field terms = backward_terms(pass, "dweight");
  return expected_column_sums("dweight", call, terms, sizes_of(pass.dy, pass));
}

}  // namespace onepass::common
