// The checks of exercise 1.3. Those of TODO 1 look at dx only, those of TODO 2 at dweight where the
// weight is applied in fp32, those of TODO 3 at LLaMA's order. What they do is in
// checks_of_backward.h.
#include "chapters/rmsnorm/checks_of_backward.h"

namespace onepass::rmsnorm::backward_checks {
namespace {

const BackwardChecks checks(kBackward);

TEST_SUITE("rmsnorm/backward") {
  // ---- TODO 1: dx ----

  CHECK_CASE("1 to 257 columns: dx is rstd * (wdy - x_hat * mean of wdy * x_hat)", points(2),
             todo(1)) {
    checks.dx_of_narrow_rows();
  }

  CHECK_CASE("769 to 1025 columns: the mean is over the whole row", points(1), todo(1)) {
    sweep_widths(769, 1025, checks.rows_of(kOfDx));
  }

  CHECK_CASE("dx is the derivative: it agrees with differences of the forward pass", points(1),
             todo(1)) {
    checks.dx_is_the_derivative();
  }

  CHECK_CASE("a single dy that is not 0 moves the whole row's dx, wherever it is", points(1),
             todo(1)) {
    checks.dx_of_a_single_dy();
  }

  CHECK_CASE("fp16 and bf16: dx is rounded once, at the very end, in either cast order", points(1),
             todo(1)) {
    checks.dx_is_rounded_once();
  }

  CHECK_CASE("dx of more rows than there are blocks", points(1), todo(1)) {
    checks.dx_of_many_rows();
  }

  CHECK_CASE("dx of wide rows, to 65,536 columns", points(1), todo(1)) {
    checks.dx_of_wide_rows();
  }

  CHECK_CASE("dx: dy, x and dx have strides of their own, and start at any address", points(2),
             todo(1)) {
    sweep_arrangements(kBackward, checks.rows_of(kOfDx), {"dy", "x", "weight", "rstd", "dx"});
  }

  // ---- TODO 2: dweight ----

  CHECK_CASE("dweight is the sum of dy * x_hat over all rows, for every column", points(2),
             todo(2)) {
    checks.dweight_of_all_rows();
  }

  CHECK_CASE("dweight is the derivative: it agrees with differences of the forward pass", points(1),
             todo(2)) {
    checks.dweight_is_the_derivative();
  }

  CHECK_CASE("dweight over more rows than there are blocks", points(2), todo(2)) {
    checks.dweight_of_many_rows();
  }

  CHECK_CASE("dweight: partial sums stay in fp32 until the very end", points(1), todo(2)) {
    checks.dweight_stays_in_fp32();
  }

  CHECK_CASE("dweight of wide rows, to 65,536 columns", points(1), todo(2)) {
    checks.dweight_of_wide_rows();
  }

  CHECK_CASE("dweight of strided rows at any address", points(1), todo(2)) {
    sweep_arrangements(kBackward, checks.rows_of(kOfDweight), {"dy", "x", "rstd", "dweight"});
  }

  CHECK_CASE("no rows: the sum over none of them is 0", points(1), todo(2)) {
    checks.no_rows();
  }

  CHECK_CASE("called again, on other numbers or the same, both results are right again", points(1),
             todo(2)) {
    checks.called_again();
  }

  // ---- TODO 3: LLaMA's order ----

  CHECK_CASE("LLaMA's order: dweight takes x_hat as the forward pass rounded it", points(2),
             todo(3)) {
    checks.llama_order();
  }

  CHECK_CASE("each order as it is asked for: shapes drawn at random, extreme numbers, NaN",
             points(1), todo(3)) {
    checks.random_shapes_and_values();
    checks.calls_of_every_size();  // in either order
  }
}

}  // namespace
}  // namespace onepass::rmsnorm::backward_checks
