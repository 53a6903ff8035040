// Calls of exercise 1.3's function.
#include "chapters/rmsnorm/calls_backward.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "chapters/common/misread.h"
#include "chapters/rmsnorm/reference.h"
#include "verdict/bounds.h"

namespace onepass::rmsnorm {

namespace bounds = verdict::bounds;

namespace {

Field magnitudes(const Field& field) {
  return common::map(field, [](double value) { return std::abs(value); });
}

}  // namespace

Gradients gradients(Matrix dy, Matrix x, Matrix weight, double eps) {
  Matrix rstd = Matrix::rounded(Dtype::fp32, rms_rstd(x.field(), eps));
  return {std::move(dy), std::move(x), std::move(weight), std::move(rstd)};
}

Case backward_call(Gradients inputs, CastOrder order, const Arrangement& arrangement,
                   const char* none) {
  const Dtype dtype = inputs.x.dtype();
  return call(kBackward, dtype,
              {.values = {{"dy", std::move(inputs.dy)},
                          {"x", std::move(inputs.x)},
                          {"weight", std::move(inputs.weight)},
                          {"rstd", std::move(inputs.rstd)}},
               .scalars = {{"order", static_cast<double>(order)}},
               .none = none},
              arrangement);
}

CastOrder order_of(const Case& call) {
  return static_cast<CastOrder>(call.integer("order"));
}

Backward backward_of(const Case& call) {
  Backward pass = common::backward_of(call);
  pass.rounded_x_hat = order_of(call) == CastOrder::llama;
  return pass;
}

Expectation expected_dx(const Case& call) {
  Backward pass = backward_of(call);
  const Field dx = *backward_dx(pass);
  const Field mean_magnitude = row_means(magnitudes(product(pass.wdy, pass.x_hat)));
  Field bound(dx.rows, dx.cols);
  for (std::int64_t row = 0; row < dx.rows; ++row) {
    for (std::int64_t col = 0; col < dx.cols; ++col) {
      bounds::RmsnormGradient element{dx.cols, pass.rstd(row, 0), pass.mean_wdy_hat(row, 0),
                                      mean_magnitude(row, 0)};
      element.wdy = pass.wdy(row, col);
      element.x_hat = pass.x_hat(row, col);
      bound(row, col) = bounds::rmsnorm_dx(call.dtype(), element, dx(row, col));
    }
  }
  return {"dx", dx, bound};
}

Expectation expected_dweight(const Case& call) {
  Backward pass = backward_of(call);
  const Field terms = backward_terms(pass, "dweight");
  const Field sums = column_sums(terms);
  const Field sizes = column_sums(magnitudes(terms));
  const Field bound = verdict::field_of(1, terms.cols, [&](std::int64_t, std::int64_t col) {
    return bounds::column_sum(call.dtype(), terms.rows, sums(0, col), sizes(0, col));
  });
  return {"dweight", sums, bound};
}

}  // namespace onepass::rmsnorm
