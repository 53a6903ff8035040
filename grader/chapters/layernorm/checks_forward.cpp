// The checks of exercise 2.1. Those of TODO 1 look at mean only, those of TODO 2 at rstd, those of
// TODO 3 at y.
#include <utility>

#include "chapters/common/check.h"
#include "chapters/layernorm/mistakes.h"
#include "chapters/layernorm/shapes.h"

namespace onepass::layernorm::forward_checks {
namespace {

constexpr float kEps = 1e-5f;

using Expected = Expectation (*)(const Case&);
const Outputs kAll = {expected_mean, expected_rstd, expected_y};

/// Runs the forward pass on x, with random weight and bias, and looks at some outputs, or at one.
void check(const Outputs& outputs, Matrix x, float eps = kEps,
           const Arrangement& arrangement = {}) {
  Matrix weight = random_weight(x.dtype(), x.cols());
  Matrix bias = random_bias(x.dtype(), x.cols());
  expect<forward_mistakes>(
      forward_call(std::move(x), std::move(weight), std::move(bias), eps, arrangement), outputs);
}
void check(Expected expected, Matrix x, float eps = kEps, const Arrangement& arrangement = {}) {
  check(Outputs{expected}, std::move(x), eps, arrangement);
}

Matrix random_x(Dtype dtype, std::int64_t rows, std::int64_t cols, double mean = 0.5,
                double deviation = 1.0) {
  return random_tensor("x", dtype, rows, cols, mean, deviation);
}

/// Rows of random numbers.
CheckRows rows_of(const Outputs& outputs) {
  return
      [outputs](Dtype dtype, std::int64_t rows, std::int64_t cols, const Arrangement& arrangement) {
        check(outputs, random_x(dtype, rows, cols), kEps, arrangement);
      };
}
CheckRows rows_of(Expected expected) {
  return rows_of(Outputs{expected});
}

/// A row that holds one number only, between two others: its variance is 0.
Matrix constant_row(Dtype dtype, std::int64_t cols) {
  return changed(random_x(dtype, 3, cols),
                 [](auto row, auto, double value) { return row == 1 ? 3.0 : value; });
}

TEST_SUITE("layernorm/forward") {
  // ---- TODO 1: mean ----

  CHECK_CASE("mean: the sum of each row, divided by cols", points(2), todo(1)) {
    sweep_widths(1, 1025, rows_of(expected_mean));
  }

  CHECK_CASE("mean of strided rows at any address, and of 4097 columns in 16 bits", points(1),
             todo(1)) {
    sweep_rows(kForward, rows_of(expected_mean), {"x", "mean"});
    for (Dtype dtype : kSixteenBit) {
      check(expected_mean, random_x(dtype, 2, 4097, 1.0));  // 16-bit sums stop growing
    }
  }

  // ---- TODO 2: rstd ----

  CHECK_CASE("rstd is 1 / sqrt(mean of (x - mean)^2 + eps), in every width", points(2), todo(2)) {
    sweep_widths(1, 1025, rows_of(expected_rstd));
  }

  CHECK_CASE("mean 100 and 1000: the variance keeps its digits", points(3), todo(2)) {
    for (std::int64_t cols : {300, 1000}) {  // 1000: padded lanes would add (0 - mean)^2
      check(expected_rstd, random_x(Dtype::fp32, 4, cols, 100.0));
      check(expected_rstd, random_x(Dtype::fp32, 8, cols, 1000.0));
    }
    for (std::int64_t cols : {8200, 33001}) {  // that may have a kernel of their own
      check(expected_rstd, random_x(Dtype::fp32, 6, cols, far_mean(Dtype::fp32)));
    }
    check(expected_rstd, random_x(Dtype::fp16, 4, 256, 100.0));
    check(expected_rstd, random_x(Dtype::fp16, 4, 1000, 1000.0, 4.0));
    check(expected_rstd, random_x(Dtype::bf16, 4, 257, 100.0, 4.0));
    check(expected_rstd, random_x(Dtype::fp32, 8, 1024, 10000.0));
  }

  CHECK_CASE("eps is added to the variance, inside the root, as it is given", points(2), todo(2)) {
    for (const auto& all : {rows_for_eps(), rows_for_eps({2064, 8200, 17000, 33001})}) {
      for (const auto& [x, eps] : all) {
        check(expected_rstd, x, static_cast<float>(eps));
      }
    }
    for (Dtype dtype : kEveryDtype) {
      check(expected_rstd, constant_row(dtype, 100), 1e-5f);
    }
  }

  CHECK_CASE("one large number in a row of small ones counts wherever it is", points(1), todo(2)) {
    sweep_spikes([](Dtype dtype, std::int64_t cols, const std::vector<std::int64_t>& columns) {
      check(expected_rstd, small_but_for(dtype, cols, columns));
    });
  }

  // ---- TODO 3: y ----

  CHECK_CASE("y is x_hat * weight + bias, those of its column, in every width", points(2),
             todo(3)) {
    sweep_widths(1, 1025, rows_of(expected_y));
  }

  CHECK_CASE("weight, bias or both may be missing", points(2), todo(3)) {
    for (Dtype dtype : kEveryDtype) {
      for (std::int64_t cols : {5, 1000}) {
        for (const std::set<std::string>& missing :
             {std::set<std::string>{"weight"}, {"bias"}, {"weight", "bias"}}) {
          Arrangement arrangement;
          arrangement.left_out = missing;
          check(expected_y, random_x(dtype, 3, cols), kEps, arrangement);
        }
      }
    }
  }

  CHECK_CASE("fp16 and bf16: y is rounded once, at the very end", points(1), todo(3)) {
    for (Dtype dtype : kSixteenBit) {
      check(expected_y, random_x(dtype, 4, 1000));
      check(expected_y, random_x(dtype, 3, 200, 100.0, 10.0));
      check(expected_y, random_x(dtype, 3, 70, 300.0, 10.0));
    }
  }

  CHECK_CASE("x and y have strides of their own, and start at any address", points(2), todo(3)) {
    sweep_arrangements(kForward, rows_of(expected_y));
    check_far_rows(kForward, kAll);
  }

  CHECK_CASE("no rows, one row, many rows, 65,536 columns", points(1), todo(3)) {
    check_row_counts(kForward, rows_of(kAll));
    check(expected_y, random_x(Dtype::fp32, 129, 33), kEps, {{"x", {7}}, {"y", {2}}});
    check_widest(kForward, rows_of(expected_y));
    sweep_ends(kForward, rows_of(expected_y));
    sweep_wide_ways(kForward, rows_of(expected_y));
  }

  CHECK_CASE("shapes drawn at random, called again and again; extreme numbers, infinite and NaN",
             points(1), todo(3)) {
    draw_rows(kForward, 6, rows_of(expected_y));
    check_again(rows_of(expected_y));
    sweep_values(4, 300, [](const Matrix& x, double eps) {
      check(expected_rstd, x, static_cast<float>(eps));
      check(expected_y, x, static_cast<float>(eps));
    });
    check_not_finite(forward_call(random_x(Dtype::fp16, 4, 300), random_weight(Dtype::fp16, 300),
                                  random_bias(Dtype::fp16, 300), kEps),
                     kAll, expect<forward_mistakes>);
  }
}

}  // namespace
}  // namespace onepass::layernorm::forward_checks
