// The checks of exercise 1.4. Those of TODO 1 look at rstd only.
//
// What the exercise is about is traffic, and on the simulator that can be seen: how often x was
// loaded, and in accesses of how many bytes. On a GPU the same calls are checked for their results.
#include "chapters/rmsnorm/checks_of_forward_fast.h"

namespace onepass::rmsnorm::forward_fast_checks {
namespace {

const ForwardFastChecks checks(kForwardFast, kOfY);
constexpr std::int64_t kMostHeld = 16'384;  // columns of rows that are loaded once

TEST_SUITE("rmsnorm/forward_fast") {
  // ---- TODO 1: rstd ----

  CHECK_CASE("1 to 300 columns: rstd of narrow rows", points(2), todo(1)) {
    checks.eps_inside_the_root(rows_for_eps());
    sweep_widths(1, 257, checks.rows_of(kOfRstd));
  }

  CHECK_CASE("769 to 16,384 columns: rstd of rows that the registers of a block hold", points(2),
             todo(1)) {
    checks.held_rows(kOfRstd);
    checks.eps_inside_the_root(rows_for_eps({2064, 8200, 9216}));
  }

  CHECK_CASE("one large number in a row of small ones: its square counts wherever it is", points(1),
             todo(1)) {
    checks.one_large_number();
  }

  // ---- TODO 2: y ----

  CHECK_CASE("1 to 257 columns: y of narrow rows", points(2), todo(2)) {
    sweep_widths(1, 257, checks.rows_of(kOfY));
  }

  CHECK_CASE("769 to 16,384 columns: y of rows that the registers of a block hold", points(2),
             todo(2)) {
    checks.held_rows(kOfY);
  }

  CHECK_CASE("fp16 and bf16: y is rounded once, at the very end", points(1), todo(2)) {
    checks.rounded_once();
  }

  CHECK_CASE("up to 16,384 columns each element of x is loaded once", points(2), todo(2)) {
    checks.loaded_once_up_to(kMostHeld);
  }

  CHECK_CASE("without weights y is x times rstd", points(1), todo(2)) {
    checks.without_weight(64);
    checks.without_weight(1000);
  }

  CHECK_CASE("rows apart, also beyond 2^31 elements", points(1), todo(2)) {
    checks.rows_apart();
  }

  CHECK_CASE("any number of rows, none too; called again, it is right again", points(1), todo(2)) {
    check_row_counts(kForwardFast, checks.rows_of(kOfForward));
    checks.called_again();
  }

  CHECK_CASE(
      "shapes drawn at random, to 65,536 columns; numbers at the ends of the types, infinite "
      "and NaN",
      points(1), todo(2)) {
    checks.random_shapes_and_values(kMostHeld);
    checks.wide_rows(kOfForward);
  }

  // ---- TODO 3: packs of 16 bytes ----

  CHECK_CASE("aligned rows: x is loaded and y is stored 16 bytes at a time", points(3), todo(3)) {
    checks.in_packs_up_to(kMostHeld);
  }

  CHECK_CASE("one tensor, base or stride is not aligned: still right", points(2), todo(3)) {
    checks.one_unaligned();
  }

  // ---- Speed ----

  SPEED_CHECKS(3, checks.rows_of(kOfForward)(Dtype::bf16, 3, 520, {}))
}

}  // namespace
}  // namespace onepass::rmsnorm::forward_fast_checks
