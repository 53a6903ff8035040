// The checks of exercise 2.1. Those of TODO 1 look at mean only, those of TODO 2 at rstd, those of
// TODO 3 at y. What they do is in checks_of_forward.h.
#include "chapters/layernorm/checks_of_forward.h"

namespace onepass::layernorm::forward_checks {
namespace {

const ForwardChecks checks(kForward);

TEST_SUITE("layernorm/forward") {
  // ---- TODO 1: mean ----

  CHECK_CASE("mean: the sum of each row, divided by cols", points(2), todo(1)) {
    sweep_widths(1, 1025, checks.rows_of(kOfMean));
  }

  CHECK_CASE("mean of strided rows at any address, and of 4097 columns in 16 bits", points(1),
             todo(1)) {
    sweep_rows(kForward, checks.rows_of(kOfMean), {"x", "mean"});
    checks.mean_is_added_up_in_fp32();
  }

  // ---- TODO 2: rstd ----

  CHECK_CASE("rstd is 1 / sqrt(mean of (x - mean)^2 + eps), in every width", points(2), todo(2)) {
    sweep_widths(1, 1025, checks.rows_of(kOfRstd));
  }

  CHECK_CASE("large means: the variance keeps its digits", points(3), todo(2)) {
    checks.large_means();
    checks.means_of_wide_rows(kOfRstd);
  }

  CHECK_CASE("eps is added to the variance, inside the root, as it is given", points(2), todo(2)) {
    checks.eps_is_added_as_given();
    checks.eps_in_wide_rows();
  }

  CHECK_CASE("one large number in a row of small ones counts wherever it is", points(1), todo(2)) {
    checks.one_large_number();
  }

  // ---- TODO 3: y ----

  CHECK_CASE("y is x_hat * weight + bias, those of its column, in every width", points(2),
             todo(3)) {
    sweep_widths(1, 1025, checks.rows_of(kOfY));
  }

  CHECK_CASE("weight, bias or both may be missing", points(2), todo(3)) {
    checks.weight_or_bias_missing();
  }

  CHECK_CASE("fp16 and bf16: y is rounded once, at the very end", points(1), todo(3)) {
    checks.y_is_rounded_once();
  }

  CHECK_CASE("x and y have strides of their own, and start at any address", points(2), todo(3)) {
    sweep_arrangements(kForward, checks.rows_of(kOfY));
    check_far_rows(kForward, kOfForward);
  }

  CHECK_CASE("no rows, one row, many rows, wide rows", points(1), todo(3)) {
    checks.row_counts();
    checks.wide_rows();
  }

  CHECK_CASE("shapes drawn at random, called again and again; extreme numbers, infinite and NaN",
             points(1), todo(3)) {
    checks.random_shapes_and_values();
  }
}

}  // namespace
}  // namespace onepass::layernorm::forward_checks
