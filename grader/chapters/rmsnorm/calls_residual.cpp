// Calls of exercise 1.5's function.
#include "chapters/rmsnorm/calls_residual.h"

#include <utility>

namespace onepass::rmsnorm {

namespace {

Matrix sum_of(const Case& call) {
  return Matrix::rounded(call.dtype(),
                         added(call.values("x").field(), call.values("residual").field()));
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

Case forward_of_sum(const Case& call) {
  return forward_call(sum_of(call), call.values("weight"), call.real("eps"));
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
