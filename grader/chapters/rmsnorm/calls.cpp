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

}  // namespace onepass::rmsnorm
