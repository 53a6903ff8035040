// The checks of exercise 1.7. Those of TODO 1 take rows that one block can hold, those of TODO 2
// look at traffic alone, and those of TODO 3 at what the blocks of a cluster have added up.
#include "chapters/rmsnorm/checks_of_forward_fast.h"

namespace onepass::rmsnorm::wide_rows_checks {
namespace {

// Calls whose traffic is counted are compared with nothing: the sum of a cluster comes later.
const ForwardFastChecks checks(kWideRows, {});
const ForwardFastChecks right_and_once(kWideRows, kOfForward);
constexpr std::int64_t kMostOfBlock = 4096;  // columns that one block holds easily
constexpr std::int64_t kMostCols = 262'144;

TEST_SUITE("rmsnorm/wide_rows") {
  // ---- TODO 1: the part of a block ----

  CHECK_CASE("1 to 4,096 columns: rstd and y of rows that one block holds", points(2), todo(1)) {
    sweep_widths(1, 1025, checks.rows_of(kOfForward));
    checks.check(kOfForward, random_x(Dtype::fp32, 1, kMostOfBlock));
    checks.check(kOfForward, random_x(Dtype::bf16, 2, kMostOfBlock - 1));
    checks.without_weight(1000);
  }

  CHECK_CASE("rows apart and at any address, and any number of them", points(1), todo(1)) {
    checks.one_unaligned();
    checks.rows_apart();
    check_row_counts(kWideRows, checks.rows_of(kOfForward));
  }

  CHECK_CASE("y is rounded once; numbers at the ends of the types, infinite and NaN", points(1),
             todo(1)) {
    checks.rounded_once();
    checks.random_shapes_and_values(kMostOfBlock);
  }

  // ---- TODO 2: the blocks of a row ----

  CHECK_CASE("up to 262,144 columns each element of x is loaded once", points(2), todo(2)) {
    for (Dtype dtype : kEveryDtype) {
      checks.loaded_once(2, 20000, dtype);
      checks.loaded_once(2, 33000, dtype, {{"x", {8008, 1}}, {"y", {24, 0}}});
    }
    checks.loaded_once(1, 65536, Dtype::bf16);
    checks.loaded_once(1, 131'079, Dtype::fp16);  // odd
    checks.loaded_once(1, kMostCols, Dtype::fp32);
    checks.loaded_once(1, kMostCols - 1, Dtype::bf16);
    checks.loaded_once_up_to(16'384);
  }

  CHECK_CASE("aligned rows: x is loaded and y is stored 16 bytes at a time", points(1), todo(2)) {
    checks.check(kOfY, random_x(Dtype::fp32, 2, 1000));
    for (Dtype dtype : kEveryDtype) {
      checks.in_packs(1, 20000, dtype);
      checks.in_packs(2, 33000, dtype, {{"x", {8008, 0}}, {"y", {24, 0}}});
    }
    checks.in_packs(1, 70000, Dtype::fp16);
    checks.in_packs_up_to(16'384);
  }

  // ---- TODO 3: the sum of a cluster ----

  CHECK_CASE("4,097 to 262,144 columns: rstd is that of the whole row", points(2), todo(3)) {
    checks.check(kOfRstd, random_x(Dtype::fp32, 2, 32768));  // of most ways to share, equal parts
    checks.held_rows(kOfRstd);
    checks.one_large_number();
    checks.wide_rows(kOfRstd);
    checks.check(kOfRstd, random_x(Dtype::fp16, 1, 131'079));  // odd
    checks.check(kOfRstd, small_but_for(Dtype::fp16, 40000, {0, 32767, 32768, 39999}));
    checks.eps_inside_the_root(rows_for_eps({20000, 32769, 131'073}));
    right_and_once.loaded_once(1, 40000, Dtype::fp32);  // not by the plain way
  }

  CHECK_CASE("y of every column, of wide rows apart and at any address", points(1), todo(3)) {
    const CheckRows check_both = checks.rows_of(kOfForward);
    checks.held_rows(kOfForward);
    check_ends_of_kernels(kWideRows,
                          [](const Case& call) { expect<forward_mistakes>(call, kOfForward); });
    for (Dtype dtype : kEveryDtype) {
      check_both(dtype, 2, 33000, {{"x", {8008, 1}}, {"y", {24, 0}}});
      check_both(dtype, 2, 33000, {{"x", {8}}, {"y", {8008}}});
    }
    checks.without_weight(33000);
    check_both(Dtype::fp16, 2, 131'079, {{"x", {20001}}, {"y", {7}}});
    check_widest(kWideRows, check_both);
    sweep_wide_far_apart(kWideRows, check_both);
    right_and_once.loaded_once(1, kMostCols - 1, Dtype::fp16);
  }

  CHECK_CASE("called again, and on a GPU without clusters, it is right again", points(1), todo(3)) {
    checks.called_again();
    for (int repeat = 0; repeat < 3; ++repeat) {
      checks.check(kOfForward, random_x(Dtype::fp16, 1, 33000));
    }
  }

  // ---- Speed ----

  SPEED_CHECKS(3, checks.rows_of(kOfForward)(Dtype::bf16, 3, 20000, {}))
}

}  // namespace
}  // namespace onepass::rmsnorm::wide_rows_checks
