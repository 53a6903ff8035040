// Calls of exercise 1.3's function.
#include "chapters/rmsnorm/calls_backward.h"

#include <utility>

#include "chapters/rmsnorm/reference.h"

namespace onepass::rmsnorm {

Gradients gradients(Matrix dy, Matrix x, Matrix weight, double eps) {
  Matrix rstd = Matrix::rounded(Dtype::fp32, rms_rstd(x.field(), eps));
  return {std::move(dy), std::move(x), std::move(weight), std::move(rstd)};
}

Case backward_call(Gradients inputs, CastOrder order, const Arrangement& arrangement,
                   const char* none) {
  return call(kBackward,
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
  return expected_gradient(backward_of(call));
}

Expectation expected_dweight(const Case& call) {
  return expected_weight_gradient(call, backward_of(call));
}

}  // namespace onepass::rmsnorm
