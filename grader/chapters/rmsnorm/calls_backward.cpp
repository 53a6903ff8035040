// Calls of exercise 1.3's function.
#include "chapters/rmsnorm/calls_backward.h"

#include <utility>

namespace onepass::rmsnorm {

Case backward_call(Gradients inputs, CastOrder order, const Arrangement& arrangement,
                   const char* none) {
  verdict::contract::Arguments arguments = arguments_of(std::move(inputs));
  arguments.scalars = {{"order", static_cast<double>(order)}};
  arguments.none = none;
  return call(kBackward, std::move(arguments), arrangement);
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
