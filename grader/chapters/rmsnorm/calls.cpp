// Calls of chapter 1's functions.
#include "chapters/rmsnorm/calls.h"

#include <cmath>
#include <utility>

#include "chapters/rmsnorm/bounds.h"

namespace onepass::rmsnorm {

Case block_sum_call(Matrix x, const Arrangement& arrangement) {
  return call(kBlockSum, {.values = {{"x", std::move(x)}}}, arrangement);
}

Expectation expected_sums(const Case& call) {
  const Field x = call.values("x").field();
  const Field bound = map(row_sums(magnitudes(x)),
                          [&](double size) { return verdict::bounds::row_sum(x.cols, size); });
  return {"sums", row_sums(x), bound};
}

Case forward_call(Matrix x, std::optional<Matrix> weight, double eps,
                  const Arrangement& arrangement, const Function& function) {
  return call(
      function,
      {.values = {{"x", std::move(x)}, {"weight", std::move(weight)}}, .scalars = {{"eps", eps}}},
      arrangement);
}

Expectation expected_rstd(const Case& call) {
  const Forward pass = forward_of(call);
  const Field rstd = *forward(pass, "rstd");
  const Field bound = map(rstd, [&](double value) { return rstd_bound(pass.x.cols, value); });
  return {"rstd", rstd, bound};
}

Expectation expected_y(const Case& call) {
  const Field y = *forward(forward_of(call), "y");
  const Field bound = map(y, [&](double value) { return y_bound(call.dtype(), y.cols, value); });
  return {"y", y, bound};
}

// ---- The backward pass ----

Case backward_call(Gradients inputs, CastOrder order, const Arrangement& arrangement,
                   const char* none, const Function& function) {
  verdict::contract::Arguments arguments = arguments_of(std::move(inputs));
  arguments.scalars = {{"order", static_cast<double>(order)}};
  arguments.none = none;
  return call(function, std::move(arguments), arrangement);
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
  return expected_gradient(backward_of(call));
}

Expectation expected_dweight(const Case& call) {
  return expected_weight_gradient(call, backward_of(call));
}

// ---- With a residual ----

namespace {

Matrix sum_of(const Case& call) {
  return Matrix::rounded(call.dtype(),
                         added(call.values("x").field(), call.values("residual").field()));
}

/// rmsnorm_forward of the sum: what 1.5 gives, but for the sum itself.
Case forward_of_sum(const Case& call) {
  return forward_call(sum_of(call), call.values("weight"), call.real("eps"));
}

}  // namespace

Case residual_call(Matrix x, Matrix residual, Matrix weight, double eps,
                   const Arrangement& arrangement) {
  return call(kResidual,
              {.values = {{"x", std::move(x)},
                          {"residual", std::move(residual)},
                          {"weight", std::move(weight)}},
               .scalars = {{"eps", eps}}},
              arrangement);
}

Expectation expected_sum(const Case& call) {
  const Field sum = sum_of(call).field();
  return {call.place_of("sum"), sum, map(sum, verdict::bounds::rounded_once)};
}

Expectation expected_residual_rstd(const Case& call) {
  return expected_rstd(forward_of_sum(call));
}

Expectation expected_residual_y(const Case& call) {
  Expectation y = expected_y(forward_of_sum(call));
  y.output = call.place_of("y");
  return y;
}

}  // namespace onepass::rmsnorm
