// Calls of chapter 1's functions.
#include "chapters/rmsnorm/calls.h"

#include <cmath>
#include <utility>

#include "chapters/rmsnorm/bounds.h"
#include "chapters/rmsnorm/reference.h"

namespace onepass::rmsnorm {

Case block_sum_call(Matrix x, const Arrangement& arrangement) {
  return call(kBlockSum, {.values = {{"x", std::move(x)}}}, arrangement);
}

Expectation expected_sums(const Case& call) {
  const Field x = call.values("x").field();
  Field bound = row_sums(magnitudes(x));
  for (double& value : bound.values) {
    value = verdict::bounds::row_sum(x.cols, value);
  }
  return {"sums", row_sums(x), bound};
}

Case forward_call(Matrix x, std::optional<Matrix> weight, double eps,
                  const Arrangement& arrangement, const Function& function) {
  return call(
      function,
      {.values = {{"x", std::move(x)}, {"weight", std::move(weight)}}, .scalars = {{"eps", eps}}},
      arrangement);
}

common::Forward forward_of(const Case& call) {
  return {.dtype = call.dtype(),
          .x = call.values("x").field(),
          .eps = eps_of(call),
          .centred = false,
          .weight = values_or(call, "weight", 1.0)};
}

Expectation expected_rstd(const Case& call) {
  const common::Forward pass = forward_of(call);
  const Field rstd = *common::forward(pass, "rstd");
  const Field bound = verdict::field_of(rstd.rows, 1, [&](std::int64_t row, std::int64_t) {
    return rstd_bound(pass.x.cols, rstd(row, 0));
  });
  return {"rstd", rstd, bound};
}

Expectation expected_y(const Case& call) {
  const Field y = *common::forward(forward_of(call), "y");
  const Field bound = verdict::field_of(y.rows, y.cols, [&](std::int64_t row, std::int64_t col) {
    return y_bound(call.dtype(), y.cols, y(row, col));
  });
  return {"y", y, bound};
}

}  // namespace onepass::rmsnorm
