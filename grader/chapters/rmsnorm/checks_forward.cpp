// The checks of exercise 1.2. Those of TODO 1 look at rstd only, those of TODO 2 at y.
#include <cmath>
#include <utility>

#include "chapters/common/check.h"
#include "chapters/rmsnorm/mistakes.h"
#include "chapters/rmsnorm/shapes.h"

namespace onepass::rmsnorm::forward_checks {
namespace {

const Outputs kBoth = {expected_rstd, expected_y};

void check(const Outputs& outputs, Matrix x, double eps, const Arrangement& arrangement = {}) {
  Matrix weight = random_weight(x.dtype(), x.cols());
  expect<forward_mistakes>(forward_call(std::move(x), std::move(weight), eps, arrangement),
                           outputs);
}

/// Runs the forward pass on x, with random weights, and looks at an output.
void check_rstd(Matrix x, double eps = kEps) {
  check({expected_rstd}, std::move(x), eps);
}
void check_y(Matrix x, double eps = kEps) {
  check({expected_y}, std::move(x), eps);
}

/// The same of random rows.
void check_random_rstd(Dtype dtype, std::int64_t rows, std::int64_t cols,
                       const Arrangement& arrangement) {
  check({expected_rstd}, random_x(dtype, rows, cols), kEps, arrangement);
}
void check_random_y(Dtype dtype, std::int64_t rows, std::int64_t cols,
                    const Arrangement& arrangement) {
  check({expected_y}, random_x(dtype, rows, cols), kEps, arrangement);
}

void check_random_both(Dtype dtype, std::int64_t rows, std::int64_t cols,
                       const Arrangement& arrangement) {
  check(kBoth, random_x(dtype, rows, cols), kEps, arrangement);
}

/// Row r of x made `factor(r)` times as large.
Matrix scaled_rows(const Matrix& x, double (*factor)(std::int64_t row)) {
  return changed(x, [&](auto row, auto, double value) { return factor(row) * value; });
}

TEST_SUITE("rmsnorm/forward") {
  // ---- TODO 1: rstd ----

  CHECK_CASE("1 to 32 columns: rstd is 1 / sqrt(mean of the squares + eps)", points(2), todo(1)) {
    sweep_widths(1, 32, check_random_rstd);
  }

  CHECK_CASE("33 to 1025 columns: every column's square counts", points(2), todo(1)) {
    sweep_widths(33, 1025, check_random_rstd);
  }

  CHECK_CASE("one large number in a row of small ones: its square counts wherever it is", points(1),
             todo(1)) {
    sweep_spikes([](Dtype dtype, std::int64_t cols, const std::vector<std::int64_t>& columns) {
      check_rstd(small_but_for(dtype, cols, columns));
    });
  }

  CHECK_CASE("eps is added to the mean, inside the root, as it is given", points(2), todo(1)) {
    for (const auto& all : {rows_for_eps(), rows_for_eps({2064, 8200, 17000, 33001})}) {
      for (const auto& [x, eps] : all) {
        check_rstd(x, eps);
      }
    }
    // A row of zeros has rstd 1 / sqrt(eps), between two rows that are not zero.
    const auto middle_is_zero = [](std::int64_t row) { return row == 1 ? 0.0 : 1.0; };
    for (Dtype dtype : kEveryDtype) {
      check_rstd(scaled_rows(random_x(dtype, 3, 100), middle_is_zero), 1e-5);
    }
  }

  CHECK_CASE("300 squared is infinity in fp16: convert to float first", points(1), todo(1)) {
    for (Dtype dtype : kSixteenBit) {
      check_rstd(random_x(dtype, 3, 70, 300.0, 10.0));
    }
  }

  CHECK_CASE("4097 columns in 16 bits: the squares are added up in fp32", points(1), todo(1)) {
    for (Dtype dtype : kSixteenBit) {
      check_rstd(random_x(dtype, 2, 4097));
    }
  }

  CHECK_CASE("mean 100: RMSNorm subtracts no mean", points(1), todo(1)) {
    for (Dtype dtype : kEveryDtype) {
      check_rstd(random_x(dtype, 3, 200, 100.0));
    }
  }

  CHECK_CASE("rstd of strided rows at any address", points(1), todo(1)) {
    sweep_rows(kForward, check_random_rstd, {"x", "rstd"});
  }

  // ---- TODO 2: y ----

  CHECK_CASE("1 to 32 columns: y is x * rstd * weight, the weight of its column", points(2),
             todo(2)) {
    sweep_widths(1, 32, check_random_y);
  }

  CHECK_CASE("33 to 1025 columns: every thread knows rstd and writes all of its columns", points(2),
             todo(2)) {
    sweep_widths(33, 1025, check_random_y);
  }

  CHECK_CASE("fp16 and bf16: y is rounded once, at the very end", points(2), todo(2)) {
    for (Dtype dtype : kSixteenBit) {
      check_y(random_x(dtype, 4, 1000));
      check_y(random_x(dtype, 3, 200, 100.0));
      check_y(random_x(dtype, 3, 70, 300.0, 10.0));
    }
  }

  CHECK_CASE("rows of very different size, and one of zeros: each has its own rstd", points(1),
             todo(2)) {
    const auto size = [](std::int64_t row) { return row == 2 ? 0.0 : std::pow(4.0, row - 3.0); };
    for (Dtype dtype : kEveryDtype) {
      check_y(scaled_rows(random_x(dtype, 7, 100), size), 1e-5);
    }
  }

  CHECK_CASE("x and y have strides of their own, and start at any address", points(2), todo(2)) {
    sweep_rows(kForward, check_random_y);
  }

  CHECK_CASE("wide rows, to 65,536 columns", points(1), todo(2)) {
    check_widest(kForward, check_random_y, {Dtype::fp32, Dtype::fp16});
    sweep_ends(kForward, check_random_both);
    sweep_wide_ways(kForward, check_random_both);
  }

  CHECK_CASE("row * stride is beyond 2^31: compute it in 64 bits", points(1), todo(2)) {
    sweep_far_apart(kForward, check_random_y);
    sweep_wide_far_apart(kForward, check_random_y);
    check_far_rows(kForward, kBoth);
  }

  CHECK_CASE("no rows, one row, many rows: each is normalised", points(1), todo(2)) {
    check_row_counts(kForward, check_random_both);
  }

  CHECK_CASE("called again, on other numbers or the same, it is right again", points(1), todo(2)) {
    check_again(check_random_y);
    check_every_size(kForward, [](const Case& call) { expect<forward_mistakes>(call, kBoth); });
  }

  CHECK_CASE("shapes drawn at random, and numbers at the ends of the types, infinite and NaN",
             points(1), todo(2)) {
    draw_rows(kForward, 6, check_random_y);
    sweep_values(4, 300, [](const Matrix& x, double eps) { check(kBoth, x, eps); });
    check_small_and_ends(kForward, [](const Case& call) { expect<forward_mistakes>(call, kBoth); });
    const auto call_of = [](std::int64_t cols) {
      return forward_call(random_x(Dtype::fp16, 4, cols), random_weight(Dtype::fp16, cols), kEps);
    };
    check_not_finite(call_of(300), kBoth, expect<forward_mistakes>);
    check_each_kernel_not_finite(kForward, "cols", call_of, kBoth, expect<forward_mistakes>);
  }
}

}  // namespace
}  // namespace onepass::rmsnorm::forward_checks
