// Chapter 1's exercises, for the comparison with PyTorch.
#include "chapters/rmsnorm/calls.h"
#include "tests/pytorch/draw.h"
#include "tests/pytorch/subjects.h"

namespace onepass::agreement {
namespace {

using namespace rmsnorm;
using Expectations = std::vector<Expectation>;

constexpr std::int64_t kMostCols = 4200;
constexpr std::int64_t kMostColsWide = 70'000;  // beyond what 1.2 takes

/// Not centred, so that LayerNorm would be seen; small, so that eps is seen.
Matrix draw_x(Draw& draw, Dtype dtype, Size size) {
  const double mean = draw.one_of({0.0, 0.5, -3.0});
  const double deviation = draw.one_of({1.0, 0.02, 30.0});
  return draw.normal(dtype, size.rows, size.cols, mean * deviation, deviation);
}

Matrix draw_weight(Draw& draw, Dtype dtype, std::int64_t cols) {
  return draw.uniform(dtype, 1, cols, 0.5, 1.5);
}

double draw_eps(Draw& draw) {
  return draw.one_of({1e-6f, 1e-5f, 1e-3f, 0.0f});  // as the kernel gets it, in fp32
}

Case draw_block_sum(const Random& random, Dtype dtype) {
  Draw draw(random);
  const Size size = draw_size(draw, kMostCols);
  const Place place = draw.place();
  return block_sum_call(draw_x(draw, dtype, size), {{"x", place}});
}

Case draw_forward_of(const verdict::contract::Function& function, std::int64_t most_cols,
                     const Random& random, Dtype dtype) {
  Draw draw(random);
  const Size size = draw_size(draw, most_cols);
  const double eps = draw_eps(draw);
  const Arrangement arrangement = {{"x", draw.place()}, {"y", draw.place()}};
  Matrix x = draw_x(draw, dtype, size);
  return forward_call(std::move(x), draw_weight(draw, dtype, size.cols), eps, arrangement,
                      function);
}

Case draw_forward(const Random& random, Dtype dtype) {
  return draw_forward_of(kForward, kMostCols, random, dtype);
}

/// 1.7 gives what 1.4 gives, of wider rows too.
Case draw_forward_fast(const Random& random, Dtype dtype) {
  return draw_forward_of(kWideRows, kMostColsWide, random, dtype);
}

Case draw_backward_of(CastOrder order, const Random& random, Dtype dtype) {
  Draw draw(random);
  const Size size = draw_size(draw, kMostCols);
  const double eps = draw_eps(draw);
  const Arrangement arrangement = {{"dy", draw.place()}, {"x", draw.place()}, {"dx", draw.place()}};
  Matrix dy = draw.normal(dtype, size.rows, size.cols);
  Matrix x = draw_x(draw, dtype, size);
  Matrix weight = draw_weight(draw, dtype, size.cols);
  Case call = backward_call(
      gradients({.centred = false, .eps = eps}, std::move(dy), std::move(x), std::move(weight)),
      order, arrangement);
  call.real("eps", eps);  // with which rstd was made: PyTorch asks for it
  return call;
}

Case draw_backward(const Random& random, Dtype dtype) {
  return draw_backward_of(CastOrder::weight_in_fp32, random, dtype);
}

Case draw_backward_llama(const Random& random, Dtype dtype) {
  return draw_backward_of(CastOrder::llama, random, dtype);
}

Case draw_residual(const Random& random, Dtype dtype) {
  Draw draw(random);
  const Size size = draw_size(draw, kMostCols);
  const double eps = draw_eps(draw);
  const Arrangement arrangement = {{"x", draw.place()}, {"residual", draw.place()}};
  Matrix x = draw_x(draw, dtype, size);
  Matrix residual = draw_x(draw, dtype, size);
  return residual_call(std::move(x), std::move(residual), draw_weight(draw, dtype, size.cols), eps,
                       arrangement);
}

Expectations expected_of_block_sum(const Case& call) {
  return {expected_sums(call)};
}

Expectations expected_of_forward(const Case& call) {
  return {expected_y(call), expected_rstd(call)};
}

Expectations expected_of_backward(const Case& call) {
  return {expected_dx(call), expected_dweight(call)};
}

Expectations expected_of_residual(const Case& call) {
  return {expected_sum(call), expected_residual_y(call), expected_residual_rstd(call)};
}

}  // namespace

std::vector<Subject> rmsnorm_subjects() {
  return {{"rmsnorm/block_sum", draw_block_sum, expected_of_block_sum},
          {"rmsnorm/forward", draw_forward, expected_of_forward},
          {"rmsnorm/backward", draw_backward, expected_of_backward},
          {"rmsnorm/backward, llama", draw_backward_llama, expected_of_backward},
          {"rmsnorm/forward_fast", draw_forward_fast, expected_of_forward},
          {"rmsnorm/residual", draw_residual, expected_of_residual}};
}

}  // namespace onepass::agreement
