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

Field weight_of(const Case& call) {
  return call.find("weight") == nullptr ? Field(1, call.integer("cols"), 1.0)
                                        : call.values("weight").field();
}

double eps_of(const Case& call) {
  return static_cast<float>(call.real("eps"));
}

Expectation expected_rstd(const Case& call) {
  const Field x = call.values("x").field();
  const Field rstd = rms_rstd(x, eps_of(call));
  const Field bound = verdict::field_of(x.rows, 1, [&](std::int64_t row, std::int64_t) {
    return verdict::bounds::rmsnorm_rstd(x.cols, rstd(row, 0));
  });
  return {"rstd", rstd, bound};
}

Expectation expected_y(const Case& call) {
  const Field x = call.values("x").field();
  const Field y = rmsnorm_forward(x, weight_of(call), eps_of(call)).y;
  const Field bound = verdict::field_of(x.rows, x.cols, [&](std::int64_t row, std::int64_t col) {
    return verdict::bounds::rmsnorm_y(call.dtype(), x.cols, y(row, col));
  });
  return {"y", y, bound};
}

}  // namespace onepass::rmsnorm
