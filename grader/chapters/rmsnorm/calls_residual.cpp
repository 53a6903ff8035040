// Calls of exercise 1.5's function.
#include "chapters/rmsnorm/calls_residual.h"

#include <utility>

#include "chapters/rmsnorm/reference.h"
#include "verdict/bounds.h"

namespace onepass::rmsnorm {

using verdict::Role;

namespace {

/// An input, or a buffer that holds an input before the call and an output after it.
void add(Case& call, const char* name, Matrix values, Layout layout, bool in_place) {
  if (in_place) {
    call.in_place(name, std::move(values), layout);
  } else {
    call.input(name, std::move(values), layout);
  }
}

Matrix sum_of(const Case& call) {
  return Matrix::rounded(call.dtype(),
                         added(call.values("x").field(), call.values("residual").field()));
}

}  // namespace

Case residual_call(Matrix x, Matrix residual, Matrix weight, double eps, ResidualLayout layout) {
  const Dtype dtype = x.dtype();
  const std::int64_t rows = x.rows();
  const std::int64_t cols = x.cols();
  const Layout sum = layout.sum_in_place ? layout.residual : layout.sum;
  const Layout y = layout.y_in_place ? layout.x : layout.y;
  Case call("rmsnorm_residual", dtype);
  call.integer("rows", rows).integer("cols", cols);
  call.integer("x_stride", layout.x.stride_for(cols));
  call.integer("residual_stride", layout.residual.stride_for(cols));
  call.integer("sum_stride", sum.stride_for(cols)).integer("y_stride", y.stride_for(cols));
  call.real("eps", eps);
  add(call, "x", std::move(x), layout.x, layout.y_in_place);
  add(call, "residual", std::move(residual), layout.residual, layout.sum_in_place);
  call.input("weight", std::move(weight), layout.weight);
  if (layout.sum_in_place) {
    call.null("sum", Role::output, dtype, "residual");
  } else {
    call.output("sum", dtype, rows, cols, sum);
  }
  if (layout.y_in_place) {
    call.null("y", Role::output, dtype, "x");
  } else {
    call.output("y", dtype, rows, cols, y);
  }
  call.output("rstd", Dtype::fp32, rows, 1);
  return call;
}

Expectation expected_sum(const Case& call) {
  const Field sum = sum_of(call).field();
  Field bound(sum.rows, sum.cols);
  for (std::int64_t row = 0; row < sum.rows; ++row) {
    for (std::int64_t col = 0; col < sum.cols; ++col) {
      bound(row, col) = verdict::bounds::rounded_once(sum(row, col));
    }
  }
  return {call.place_of("sum"), sum, bound};
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
