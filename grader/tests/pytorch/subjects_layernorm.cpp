// Chapter 2's exercises, for the comparison with PyTorch.
#include <optional>

#include "chapters/layernorm/calls.h"
#include "tests/pytorch/draw.h"
#include "tests/pytorch/subjects.h"

namespace onepass::agreement {
namespace {

using namespace layernorm;
using Expectations = std::vector<Expectation>;

constexpr std::int64_t kMostCols = 4200;

Matrix draw_x(Draw& draw, Dtype dtype, Size size) {
  const double mean = draw.one_of({0.0, -2.3, 10.0, 100.0});
  const double deviation = draw.one_of({1.0, 0.5, 0.02});
  return draw.normal(dtype, size.rows, size.cols, mean, deviation);
}

/// A parameter, or none.
std::optional<Matrix> draw_optional(Draw& draw, Dtype dtype, std::int64_t cols, double low,
                                    double high) {
  return draw.coin() ? std::optional(draw.uniform(dtype, 1, cols, low, high)) : std::nullopt;
}

float draw_eps(Draw& draw) {
  return draw.one_of({1e-6f, 1e-5f, 1e-3f});
}

Case draw_forward(const Random& random, Dtype dtype) {
  Draw draw(random);
  const Size size = draw_size(draw, kMostCols);
  const float eps = draw_eps(draw);
  const Arrangement arrangement = {{"x", draw.place()}, {"y", draw.place()}};
  std::optional<Matrix> weight = draw_optional(draw, dtype, size.cols, 0.5, 1.5);
  std::optional<Matrix> bias = draw_optional(draw, dtype, size.cols, -2.0, -1.0);
  return forward_call(draw_x(draw, dtype, size), std::move(weight), std::move(bias), eps,
                      arrangement);
}

/// dx alone has a weight or not, the sums have none, and both together always have one.
enum class Weight { none, optional, always };

Case draw_backward(const Random& random, Dtype dtype, Weight weight, const Function& function) {
  Draw draw(random);
  const Size size = draw_size(draw, kMostCols);
  const float eps = draw_eps(draw);
  const Arrangement arrangement = {{"dy", draw.place()}, {"x", draw.place()}, {"dx", draw.place()}};
  std::optional<Matrix> drawn = draw_optional(draw, dtype, size.cols, 0.5, 1.5);
  if (weight == Weight::always && !drawn) {
    drawn = draw.uniform(dtype, 1, size.cols, 0.5, 1.5);
  } else if (weight == Weight::none) {
    drawn.reset();
  }
  Matrix dy = draw.normal(dtype, size.rows, size.cols);
  Matrix x = draw_x(draw, dtype, size);
  Case call = backward_call(
      function,
      gradients({.centred = true, .eps = eps}, std::move(dy), std::move(x), std::move(drawn)),
      arrangement);
  call.real("eps", eps);  // with which rstd was made: PyTorch asks for it
  return call;
}

Case draw_dx(const Random& random, Dtype dtype) {
  return draw_backward(random, dtype, Weight::optional, kBackwardDx);
}

Case draw_sums(const Random& random, Dtype dtype) {
  return draw_backward(random, dtype, Weight::none, kBackwardDweightDbias);
}

Case draw_fused(const Random& random, Dtype dtype) {
  return draw_backward(random, dtype, Weight::always, kBackward);
}

Expectations expected_of_forward(const Case& call) {
  return {expected_y(call), expected_mean(call), expected_rstd(call)};
}

Expectations expected_of_dx(const Case& call) {
  return {expected_dx(call)};
}

Expectations expected_of_sums(const Case& call) {
  return {expected_dweight(call), expected_dbias(call)};
}

Expectations expected_of_fused(const Case& call) {
  return {expected_dx(call), expected_dweight(call), expected_dbias(call)};
}

}  // namespace

std::vector<Subject> layernorm_subjects() {
  return {{"layernorm/forward", draw_forward, expected_of_forward},
          {"layernorm/backward_dx", draw_dx, expected_of_dx},
          {"layernorm/backward_dweight_dbias", draw_sums, expected_of_sums},
          {"layernorm/backward_fused", draw_fused, expected_of_fused}};
}

}  // namespace onepass::agreement
