// Chapter 1's backward pass: its reference against witnesses that know nothing of its formulas, and
// its bounds against kernels that are built differently and are all right.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "chapters/rmsnorm/calls.h"
#include "verdict/values/random.h"

using namespace onepass::rmsnorm;
using onepass::CastOrder;
using onepass::verdict::Random;

namespace {

constexpr double kEps = 1e-3;

Gradients random_inputs(Dtype dtype, std::int64_t rows, std::int64_t cols, double mean = 0.5,
                        std::uint64_t seed = 7) {
  const Random random(seed);
  return gradients({.centred = false, .eps = kEps},
                   random.stream("dy").normal_matrix(dtype, rows, cols, 0.3),
                   random.stream("x").normal_matrix(dtype, rows, cols, mean, 2.0),
                   random.stream("weight").uniform_matrix(dtype, 1, cols, 0.5, 1.5));
}

Field rms_rstd(const Field& x, double eps) {
  return *forward({.x = x, .eps = eps, .centred = false}, "rstd");
}

/// RMSNorm's pass, with rstd that is not rounded.
Backward exact(const Field& dy, const Field& x, const Field& weight, double eps) {
  Backward pass;
  pass.centred = false;
  pass.dy = dy;
  pass.x = x;
  pass.weight = weight;
  pass.mean = Field(x.rows, 1);
  pass.rstd = rms_rstd(x, eps);
  return pass;
}

Field exact_dx(const Field& dy, const Field& x, const Field& weight, double eps) {
  Backward pass = exact(dy, x, weight, eps);
  return *backward_dx(pass);
}

// ---- Honest kernels: the same formulas in fp32, in different orders and forms ----

using Sum = std::function<float(const std::vector<float>& a, const std::vector<float>& b)>;

/// The sum of a * b one by one, with or without fused multiply-add.
float one_by_one(const std::vector<float>& a, const std::vector<float>& b, bool fused) {
  float sum = 0.0f;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float product = a[i] * b[i];
    sum = fused ? std::fma(a[i], b[i], sum) : sum + product;
  }
  return sum;
}

/// Thread t of `threads` adds up terms t, t + threads, ...; then a tree.
float by_threads(const std::vector<float>& a, const std::vector<float>& b, std::size_t threads) {
  std::vector<float> shares(threads, 0.0f);
  for (std::size_t i = 0; i < a.size(); ++i) {
    shares[i % threads] = std::fma(a[i], b[i], shares[i % threads]);
  }
  for (std::size_t half = threads / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) {
      shares[i] += shares[i + half];
    }
  }
  return shares[0];
}

/// With what each addition lost added to the next one (Kahan).
float compensated(const std::vector<float>& a, const std::vector<float>& b) {
  float sum = 0.0f;
  float lost = 0.0f;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float term = a[i] * b[i] - lost;
    const volatile float next = sum + term;
    lost = (next - sum) - term;
    sum = next;
  }
  return sum;
}

std::vector<Sum> sums() {
  return {[](const auto& a, const auto& b) { return one_by_one(a, b, false); },
          [](const auto& a, const auto& b) { return one_by_one(a, b, true); },
          [](const auto& a, const auto& b) { return by_threads(a, b, 32); },
          [](const auto& a, const auto& b) { return by_threads(a, b, 256); },
          [](const auto& a, const auto& b) { return by_threads(a, b, 1024); },
          compensated};
}

std::vector<float> row_of(const Matrix& matrix, std::int64_t row) {
  std::vector<float> values;
  for (std::int64_t col = 0; col < matrix.cols(); ++col) {
    values.push_back(static_cast<float>(matrix.get(row, col)));
  }
  return values;
}

/// One row of dx. expanded: rstd * wdy - x * (rstd^3 * mean(wdy * x)).
std::vector<float> honest_dx(const Gradients& in, std::int64_t row, const Sum& sum, bool expanded) {
  const std::vector<float> x = row_of(in.x, row);
  const std::vector<float> dy = row_of(in.dy, row);
  const std::vector<float> weight = row_of(*in.weight, 0);
  const auto rstd = static_cast<float>(in.rstd.get(row, 0));
  const auto cols = static_cast<float>(x.size());
  std::vector<float> wdy(x.size()), x_hat(x.size()), dx(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    wdy[i] = weight[i] * dy[i];
    x_hat[i] = x[i] * rstd;
  }
  const float mean = sum(wdy, expanded ? x : x_hat) / cols;
  for (std::size_t i = 0; i < x.size(); ++i) {
    dx[i] = expanded ? rstd * wdy[i] - x[i] * (rstd * rstd * rstd * mean)
                     : rstd * (wdy[i] - x_hat[i] * mean);
  }
  return dx;
}

double worst_dx(Dtype dtype, std::int64_t cols, double mean, const Sum& sum, bool expanded) {
  const Gradients inputs = random_inputs(dtype, 2, cols, mean);
  const Expectation right = expected_dx(backward_call(inputs, CastOrder::weight_in_fp32));
  double worst = 0.0;
  for (std::int64_t row = 0; row < 2; ++row) {
    const std::vector<float> dx = honest_dx(inputs, row, sum, expanded);
    for (std::int64_t col = 0; col < cols; ++col) {
      const double got = onepass::verdict::round_to(dtype, dx[static_cast<std::size_t>(col)]);
      worst = std::max(worst, std::abs(got - right.value(row, col)) / right.bound(row, col));
    }
  }
  return worst;
}

double worst_dweight(Dtype dtype, std::int64_t rows, CastOrder order, const Sum& sum) {
  const Gradients inputs = random_inputs(dtype, rows, 5);
  const Expectation right = expected_dweight(backward_call(inputs, order));
  double worst = 0.0;
  for (std::int64_t col = 0; col < 5; ++col) {
    std::vector<float> dy, x_hat;
    for (std::int64_t row = 0; row < rows; ++row) {
      dy.push_back(static_cast<float>(inputs.dy.get(row, col)));
      const float product =
          static_cast<float>(inputs.x.get(row, col)) * static_cast<float>(inputs.rstd.get(row, 0));
      x_hat.push_back(order == CastOrder::llama
                          ? static_cast<float>(onepass::verdict::round_to(dtype, product))
                          : product);
    }
    const double got = onepass::verdict::round_to(dtype, sum(dy, x_hat));
    worst = std::max(worst, std::abs(got - right.value(0, col)) / right.bound(0, col));
  }
  return worst;
}

// In 16 bits the rounding at the end alone may use up all of its half ULP.
double most(Dtype dtype) {
  return dtype == Dtype::fp32 ? 0.6 : 1.0;
}

}  // namespace

TEST_CASE("dx by hand: one column of x = 2, rstd = 1/2 hardly depends on x") {
  const Field two(1, 1, 2.0);
  CHECK(exact_dx(Field(1, 1, 3.0), two, Field(1, 1, 1.0), 0.0)(0, 0) == 0.0);
  // mean(x^2) = 4, eps = 12: rstd = 1/4, x_hat = 1/2, dx = 1/4 * (3 - 1/2 * 3/2).
  CHECK(exact_dx(Field(1, 1, 3.0), two, Field(1, 1, 1.0), 12.0)(0, 0) == 0.5625);
}

TEST_CASE("dx and dweight agree with differences of the forward pass") {
  const Gradients inputs = random_inputs(Dtype::fp32, 4, 23);
  const Field dy = inputs.dy.field();
  const Field x = inputs.x.field();
  const Field weight = inputs.weight->field();
  const Field dx = exact_dx(dy, x, weight, kEps);
  const Field dx_differences = dx_by_differences(inputs);
  for (std::size_t i = 0; i < dx.values.size(); ++i) {
    CHECK(std::abs(dx.values[i] - dx_differences.values[i]) < 1e-8);
  }
  Backward pass = exact(dy, x, weight, kEps);
  const Field dweight = column_sums(backward_terms(pass, "dweight"));
  const Field dweight_differences = dweight_by_differences(inputs);
  for (std::size_t i = 0; i < dweight.values.size(); ++i) {
    CHECK(std::abs(dweight.values[i] - dweight_differences.values[i]) < 1e-8);
  }
}

TEST_CASE("dx is at right angles to x, but for eps: dx . x = eps * rstd^3 * (wdy . x)") {
  const Gradients inputs = random_inputs(Dtype::fp32, 4, 100);
  const Field x = inputs.x.field();
  const Field wdy = product(inputs.dy.field(), inputs.weight->field());
  for (double eps : {0.0, 1e-3, 10.0}) {
    const Field rstd = rms_rstd(x, eps);
    const Field dx = exact_dx(inputs.dy.field(), x, inputs.weight->field(), eps);
    const Field along_x = row_sums(product(dx, x));
    const Field loss_along_x = row_sums(product(wdy, x));
    for (std::int64_t row = 0; row < x.rows; ++row) {
      const double expected = eps * std::pow(rstd(row, 0), 3.0) * loss_along_x(row, 0);
      CHECK(std::abs(along_x(row, 0) - expected) < 1e-11);
    }
  }
}

TEST_CASE("without eps y does not change with the size of x, so dx falls as x grows") {
  const Gradients inputs = random_inputs(Dtype::fp32, 3, 50);
  Field x = inputs.x.field();
  const Field dx = exact_dx(inputs.dy.field(), x, inputs.weight->field(), 0.0);
  for (double& value : x.values) {
    value *= 8.0;
  }
  const Field eighth = exact_dx(inputs.dy.field(), x, inputs.weight->field(), 0.0);
  for (std::size_t i = 0; i < dx.values.size(); ++i) {
    CHECK(eighth.values[i] == doctest::Approx(dx.values[i] / 8.0).epsilon(1e-12));
  }
}

TEST_CASE("dx: honest orders of summation and forms stay within the bound") {
  for (const Dtype dtype : {Dtype::fp32, Dtype::fp16, Dtype::bf16}) {
    for (const std::int64_t cols : {1, 2, 17, 33, 1000, 16384}) {
      for (const double mean : {0.5, 100.0}) {
        for (const Sum& sum : sums()) {
          for (const bool expanded : {false, true}) {
            CAPTURE(cols);
            CAPTURE(mean);
            CHECK(worst_dx(dtype, cols, mean, sum, expanded) <= most(dtype));
          }
        }
      }
    }
  }
}

TEST_CASE("dweight: honest orders of summation stay within the bound, in either cast order") {
  for (const Dtype dtype : {Dtype::fp32, Dtype::fp16, Dtype::bf16}) {
    for (const std::int64_t rows : {1, 2, 7, 65, 1031, 5000}) {
      for (const CastOrder order : {CastOrder::weight_in_fp32, CastOrder::llama}) {
        for (const Sum& sum : sums()) {
          CAPTURE(rows);
          CHECK(worst_dweight(dtype, rows, order, sum) <= most(dtype));
        }
      }
    }
  }
}
