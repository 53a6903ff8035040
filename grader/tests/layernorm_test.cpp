// Chapter 2's reference against second witnesses that know nothing of its formulas.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "chapters/layernorm/calls.h"
#include "verdict/values/random.h"

using namespace onepass::layernorm;
using onepass::verdict::Random;

namespace {

constexpr double kEps = 1e-5;

Gradients random_tensors(std::int64_t rows, std::int64_t cols) {
  const Random random(7);
  return gradients({.centred = true, .eps = kEps},
                   random.stream("dy").normal_matrix(Dtype::fp32, rows, cols, 0.3),
                   random.stream("x").normal_matrix(Dtype::fp32, rows, cols, 0.5, 2.0),
                   random.stream("weight").uniform_matrix(Dtype::fp32, 1, cols, 0.5, 1.5));
}

Statistics statistics_of(const Field& x, double eps) {
  return *statistics({.x = x, .eps = eps});
}

/// With mean and rstd that are not rounded.
Field dx_of(const Gradients& in) {
  Backward pass;
  pass.dy = in.dy.field();
  pass.x = in.x.field();
  pass.weight = in.weight->field();
  const Statistics rows = statistics_of(pass.x, kEps);
  pass.mean = rows.mean;
  pass.rstd = rows.rstd;
  return *backward_dx(pass);
}

}  // namespace

TEST_CASE("a row by hand: 1, 2, 3 has mean 2 and variance 2/3") {
  Field x(1, 3);
  x.values = {1.0, 2.0, 3.0};
  const Statistics rows = statistics_of(x, 0.0);
  CHECK(rows.mean(0, 0) == doctest::Approx(2.0));
  CHECK(rows.rstd(0, 0) == doctest::Approx(std::sqrt(1.5)));
}

TEST_CASE("y by hand: x_hat times weight plus bias") {
  Field x(1, 2);
  x.values = {1.0, 5.0};  // mean 3, variance 4
  Field weight(1, 2);
  weight.values = {10.0, 3.0};
  Field bias(1, 2);
  bias.values = {0.5, -1.0};
  const Field y = *forward({.x = x, .weight = weight, .bias = bias}, "y");
  CHECK(y(0, 0) == -9.5);
  CHECK(y(0, 1) == 2.0);
  CHECK(statistics_of(x, 12.0).rstd(0, 0) == 0.25);  // 4 and eps make 16
}

TEST_CASE("dx by hand: rstd * (wdy - its mean - x_hat * the mean of wdy * x_hat)") {
  Backward pass;
  pass.dy = Field(1, 4);
  pass.dy.values = {1.0, 1.0, 3.0, 3.0};
  pass.weight = Field(1, 4);
  pass.weight.values = {1.0, 2.0, 1.0, 2.0};  // wdy: 1, 2, 3, 6, whose mean is 3
  pass.x = Field(1, 4);
  pass.x.values = {3.5, 2.5, 3.5, 2.5};
  pass.mean = Field(1, 1, 3.0);
  pass.rstd = Field(1, 1, 2.0);  // x_hat: 1, -1, 1, -1; wdy * x_hat: 1, -2, 3, -6, whose mean is -1
  const Field dx = *backward_dx(pass);
  CHECK(dx(0, 0) == -2.0);  // 2 * (1 - 3 + 1)
  CHECK(dx(0, 1) == -4.0);  // 2 * (2 - 3 - 1)
  CHECK(dx(0, 2) == 2.0);
  CHECK(dx(0, 3) == 4.0);
}

TEST_CASE("column sums by hand: dbias of dy, dweight of dy * x_hat") {
  Backward pass;
  pass.dy = Field(2, 2);
  pass.dy.values = {1.0, 2.0, 3.0, 4.0};
  pass.x = Field(2, 2);
  pass.x.values = {2.0, 0.0, 0.5, 2.0};
  pass.mean = Field(2, 1);
  pass.mean.values = {1.0, 0.0};
  pass.rstd = Field(2, 1, 1.0);  // x_hat: 1, -1; 0.5, 2
  CHECK(column_sums(backward_terms(pass, "dbias")).values == std::vector<double>{4.0, 6.0});
  CHECK(column_sums(backward_terms(pass, "dweight")).values == std::vector<double>{2.5, 6.0});
}

TEST_CASE("dx agrees with differences of the forward pass") {
  const Gradients in = random_tensors(4, 23);
  const Field dx = dx_of(in);
  const Field differences = dx_by_differences(in);
  for (std::size_t i = 0; i < dx.values.size(); ++i) {
    CHECK(std::abs(dx.values[i] - differences.values[i]) < 1e-8);
  }
}

TEST_CASE("a row of dx adds up to 0") {
  const Field dx = dx_of(random_tensors(4, 100));
  for (std::int64_t row = 0; row < dx.rows; ++row) {
    double sum = 0.0;
    for (std::int64_t col = 0; col < dx.cols; ++col) {
      sum += dx(row, col);
    }
    CHECK(std::abs(sum) < 1e-12);
  }
}

TEST_CASE("y does not change when a row of x is shifted") {
  const Field x = random_tensors(2, 50).x.field();
  Field shifted = x;
  for (double& value : shifted.values) {
    value += 100.0;
  }
  const Statistics a = statistics_of(x, kEps);
  const Statistics b = statistics_of(shifted, kEps);
  const Field x_hat = normalized(x, a.mean, a.rstd);
  const Field same = normalized(shifted, b.mean, b.rstd);
  for (std::size_t i = 0; i < x_hat.values.size(); ++i) {
    CHECK(std::abs(x_hat.values[i] - same.values[i]) < 1e-10);
  }
}
