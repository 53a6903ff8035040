// The checks of exercise 1.7. Those of TODO 1 take rows that one block can hold, those of TODO 2
// look at traffic alone, and those of TODO 3 at what the blocks of a cluster have added up.
#include "chapters/common/requests.h"
#include "chapters/rmsnorm/checks_of_forward_fast.h"

namespace onepass::rmsnorm::wide_rows_checks {
namespace {

const ForwardFastChecks checks(kWideRows);
constexpr std::int64_t kMostCols = 262'144;

/// How a wide row was moved, whatever came of it.
void count_traffic(std::int64_t rows, std::int64_t cols, Dtype dtype,
                   const Arrangement& arrangement, Require require) {
  count<forward_mistakes>(checks.call_of(random_x(dtype, rows, cols), arrangement), {}, require);
}

void loaded_once(const Case& call, const verdict::Traffic& traffic) {
  require_loaded_once(call, traffic, "x");
}

void in_packs(const Case& call, const verdict::Traffic& traffic) {
  require_packs(call, traffic, "x", verdict::AccessType::read);
  require_packs(call, traffic, "y", verdict::AccessType::write);
}

TEST_SUITE("rmsnorm/wide_rows") {
  // ---- TODO 1: the part of a block ----

  CHECK_CASE("1 to 16,384 columns: rstd and y of rows that one block holds", points(2), todo(1)) {
    sweep_widths(1, 257, checks.rows_of(kOfForward));
    checks.held_rows(kOfForward);
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
    checks.random_shapes_and_values();
  }

  // ---- TODO 2: the blocks of a row ----

  CHECK_CASE("up to 262,144 columns each element of x is loaded once", points(2), todo(2)) {
    for (Dtype dtype : kEveryDtype) {
      count_traffic(2, 20000, dtype, {}, loaded_once);
      count_traffic(2, 33000, dtype, {{"x", {8008, 1}}, {"y", {24, 0}}}, loaded_once);
    }
    count_traffic(1, 65536, Dtype::bf16, {}, loaded_once);
    count_traffic(1, 131'079, Dtype::fp16, {}, loaded_once);  // odd
    count_traffic(1, kMostCols, Dtype::fp32, {}, loaded_once);
    count_traffic(1, kMostCols - 1, Dtype::bf16, {}, loaded_once);
    checks.loaded_once_up_to(16'384);
  }

  CHECK_CASE("aligned rows: x is loaded and y is stored 16 bytes at a time", points(1), todo(2)) {
    for (Dtype dtype : kEveryDtype) {
      count_traffic(1, 20000, dtype, {}, in_packs);
      count_traffic(2, 33000, dtype, {{"x", {8008, 0}}, {"y", {24, 0}}}, in_packs);
    }
    count_traffic(1, 70000, Dtype::fp16, {}, in_packs);
    checks.in_packs_up_to(16'384);
  }

  // ---- TODO 3: the sum of a cluster ----

  CHECK_CASE("20,000 to 262,144 columns: rstd is that of the whole row", points(2), todo(3)) {
    checks.wide_rows(kOfRstd);
    checks.check(kOfRstd, random_x(Dtype::fp16, 1, 131'079));  // odd
    checks.check(kOfRstd, small_but_for(Dtype::fp16, 40000, {0, 32767, 32768, 39999}));
    checks.eps_inside_the_root(rows_for_eps({20000, 32769, 131'073}));
  }

  CHECK_CASE("y of every column, of wide rows apart and at any address", points(1), todo(3)) {
    const CheckRows check_both = checks.rows_of(kOfForward);
    check_both(Dtype::fp32, 1, 12000, {});
    for (Dtype dtype : kEveryDtype) {
      check_both(dtype, 2, 33000, {{"x", {8008, 1}}, {"y", {24, 0}}});
      check_both(dtype, 2, 33000, {{"x", {8}}, {"y", {8008}}});
    }
    checks.without_weight(33000);
    check_both(Dtype::fp16, 2, 131'079, {{"x", {20001}}, {"y", {7}}});
    check_widest(kWideRows, check_both);
    sweep_wide_far_apart(kWideRows, check_both);
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
