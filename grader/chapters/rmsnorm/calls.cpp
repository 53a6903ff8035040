// Calls of chapter 1's functions.
#include "chapters/rmsnorm/calls.h"

#include <cmath>
#include <utility>

#include "chapters/rmsnorm/reference.h"
#include "verdict/bounds.h"

namespace onepass::rmsnorm {

Case block_sum_call(Matrix x, const Arrangement& arrangement) {
  const Dtype dtype = x.dtype();
  return call(kBlockSum, dtype, {.values = {{"x", std::move(x)}}}, arrangement);
}

Expectation expected_sums(const Case& call) {
  const Field x = call.values("x").field();
  Field bound(x.rows, 1);
  for (std::int64_t row = 0; row < x.rows; ++row) {
    double magnitudes = 0.0;
    for (std::int64_t col = 0; col < x.cols; ++col) {
      magnitudes += std::abs(x(row, col));
    }
    bound(row, 0) = verdict::bounds::row_sum(x.cols, magnitudes);
  }
  return {"sums", row_sums(x), bound};
}

Case forward_call(Matrix x, std::optional<Matrix> weight, double eps,
                  const Arrangement& arrangement, const Function& function) {
  const Dtype dtype = x.dtype();
  verdict::contract::Arguments arguments = {.values = {{"x", std::move(x)}},
                                            .scalars = {{"eps", eps}}};
  if (weight) {
    arguments.values.emplace("weight", std::move(*weight));
  }
  return call(function, dtype, std::move(arguments), arrangement);
}

common::Forward forward_of(const Case& call) {
  common::Forward pass{
      .dtype = call.dtype(), .x = call.values("x").field(), .eps = eps_of(call), .centred = false};
  if (call.find("weight") != nullptr) {
    pass.weight = call.values("weight").field();
  }
  return pass;
}

double eps_of(const Case& call) {
  return static_cast<float>(call.real("eps"));
}

Expectation expected_rstd(const Case& call) {
  const common::Forward pass = forward_of(call);
  const Field rstd = *common::forward(pass, "rstd");
  const Field bound = verdict::field_of(rstd.rows, 1, [&](std::int64_t row, std::int64_t) {
    return verdict::bounds::rmsnorm_rstd(pass.x.cols, rstd(row, 0));
  });
  return {"rstd", rstd, bound};
}

Expectation expected_y(const Case& call) {
  const Field y = *common::forward(forward_of(call), "y");
  const Field bound = verdict::field_of(y.rows, y.cols, [&](std::int64_t row, std::int64_t col) {
    return verdict::bounds::rmsnorm_y(call.dtype(), y.cols, y(row, col));
  });
  return {"y", y, bound};
}

}  // namespace onepass::rmsnorm
