// The checks of exercise 1.6. Of the results as those of 1.3 (checks_of_backward.h); and of the
// traffic that made them, on the simulator. Until TODO 4 rows have at most 8,192 columns.
#include "chapters/common/requests.h"
#include "chapters/common/speed.h"
#include "chapters/rmsnorm/checks_of_backward.h"

namespace onepass::rmsnorm::backward_fast_checks {
namespace {

const BackwardChecks checks(kBackwardFast);
constexpr std::int64_t kMostNarrow = 8192;  // columns, until TODO 4
const verdict::contract::Size kWideCols = {"cols", kMostNarrow + 1, common::kMostAsked};

Case call_of(std::int64_t rows, std::int64_t cols, Dtype dtype, const Arrangement& arrangement) {
  return backward_call(random_gradients(dtype, rows, cols), CastOrder::weight_in_fp32, arrangement,
                       "", kBackwardFast);
}

void loaded_once(const Case& call, const verdict::Traffic& traffic) {
  require_loaded_once(call, traffic, "dy");
  require_loaded_once(call, traffic, "x");
}

void check_loaded_once(std::int64_t rows, std::int64_t cols, Dtype dtype,
                       const Arrangement& arrangement = {}) {
  count<backward_mistakes>(call_of(rows, cols, dtype, arrangement), kOfDx, loaded_once);
}

/// One of the two types of 16 bits, which are moved alike.
Dtype some_16_bit() {
  return kSixteenBit[session().random().bits(0) % kSixteenBit.size()];
}

void in_packs(const Case& call, const verdict::Traffic& traffic) {
  require_packs(call, traffic, "dy", verdict::AccessType::read);
  require_packs(call, traffic, "x", verdict::AccessType::read);
  require_packs(call, traffic, "dx", verdict::AccessType::write);
}

void check_packs(std::int64_t rows, std::int64_t cols, Dtype dtype,
                 const Arrangement& arrangement = {}) {
  count<backward_mistakes>(call_of(rows, cols, dtype, arrangement), kOfDx, in_packs);
}

TEST_SUITE("rmsnorm/backward_fast") {
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
    check_long_walks_in_sample(checks.rows_of(kOfDx));  // first, for of few rows more can be said
    checks.dx_of_many_rows();
  }

  CHECK_CASE("dx: dy, x and dx have strides of their own, and start at any address", points(2),
             todo(1)) {
    sweep_rows(kBackwardFast, checks.rows_of(kOfDx), {"dy", "x", "weight", "rstd", "dx"});
    sweep_far_apart(kBackwardFast, checks.rows_of(kOfDx));
  }

  CHECK_CASE("up to 8,192 columns each element of dy and of x is loaded once", points(3), todo(1)) {
    for (Dtype dtype : kEveryDtype) {
      check_loaded_once(5, 64, dtype);
      check_loaded_once(600, 8, dtype);   // more rows than there is room for groups
      check_loaded_once(2, 1001, dtype);  // odd
      check_loaded_once(2, 1000, dtype, {{"dy", {24, 1}}, {"x", {24, 0}}, {"dx", {20000, 0}}});
    }
    for (Dtype dtype : {Dtype::fp32, some_16_bit()}) {
      count_other_ways<backward_mistakes>(call_of(3, 80, dtype, {}), true, kOfDx, loaded_once);
    }
    check_loaded_once(2, 1000, Dtype::fp16, rows_far_apart(kBackwardFast));
    check_loaded_once(1, 8192, Dtype::fp32);
    check_loaded_once(1, 8192, Dtype::bf16);
    check_loaded_once(1, 4097 + 2 * session().random().integer(0, 0, 2047), Dtype::fp32);
    check_loaded_once(1, 8191, Dtype::fp16);
    for_ends_of_kernels(kBackwardFast, {"cols", 1, kMostNarrow},
                        [](Dtype dtype, std::int64_t rows, std::int64_t cols) {
                          check_loaded_once(rows, cols, dtype);
                        });
    for_kernels_of_many(kBackwardFast, "rows", {{"cols", 8}},
                        [](Dtype dtype, std::int64_t rows) { check_loaded_once(rows, 8, dtype); });
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
    check_many_rows(checks.rows_of(kOfDweight));
    check_many_steps(checks.rows_of(kOfDweight));
    check_long_walks(checks.rows_of(kOfBoth), checks.rows_of(kOfDweight));
  }

  CHECK_CASE("dweight: partial sums stay in fp32 until the very end", points(1), todo(2)) {
    checks.dweight_stays_in_fp32();
  }

  CHECK_CASE("dweight of strided rows at any address", points(1), todo(2)) {
    sweep_rows(kBackwardFast, checks.rows_of(kOfDweight), {"dy", "x", "rstd", "dweight"});
  }

  CHECK_CASE("no rows: the sum over none of them is 0", points(1), todo(2)) {
    checks.no_rows();
  }

  CHECK_CASE("called again, on other numbers or the same, both results are right again", points(1),
             todo(2)) {
    checks.called_again();
  }

  CHECK_CASE("LLaMA's order: dweight takes x_hat as the forward pass rounded it", points(2),
             todo(2)) {
    checks.llama_order();
  }

  CHECK_CASE("each order as it is asked for: shapes drawn at random, extreme numbers, NaN",
             points(1), todo(2)) {
    checks.random_shapes_and_values(kMostNarrow);
  }

  // ---- TODO 3: packs of 16 bytes ----

  CHECK_CASE("aligned rows: dy and x are loaded and dx is stored 16 bytes at a time", points(3),
             todo(3)) {
    for (Dtype dtype : kEveryDtype) {
      const auto vector = 16 / static_cast<std::int64_t>(verdict::size_of(dtype));
      check_packs(3, vector, dtype);
      check_packs(2, 5 * vector, dtype);
      check_packs(2, 6 * vector, dtype, just_aligned(kBackwardFast, dtype));
      check_packs(2, 1000, dtype, {{"dy", {8, 0}}, {"x", {24, 0}}, {"dx", {16, 0}}});
      count_other_ways<backward_mistakes>(call_of(3, 64, dtype, {}), false, kOfDx, in_packs);
    }
    check_packs(1, 8192, Dtype::fp32);
    check_packs(1, 8192, some_16_bit());
    for_ends_of_vectors(
        kBackwardFast, {"cols", 1, kMostNarrow},
        [](Dtype dtype, std::int64_t rows, std::int64_t cols) { check_packs(rows, cols, dtype); });
  }

  CHECK_CASE("one tensor, base or stride is not aligned: still right", points(2), todo(3)) {
    for (const char* name : {"dy", "x", "dx"}) {
      checks.check(kOfBoth, random_gradients(Dtype::fp16, 3, 64), {{name, {8, 1}}});
      checks.check(kOfBoth, random_gradients(Dtype::fp32, 3, 64), {{name, {2, 0}}});
    }
    checks.check(kOfBoth, random_gradients(Dtype::bf16, 3, 64), {{"weight", {0, 1}}});
    checks.check(kOfBoth,
                 random_gradients(Dtype::bf16, 3, 68));  // a row is no whole number of packs
  }

  // ---- TODO 4: wide rows ----

  CHECK_CASE("dx of wide rows, to 65,536 columns", points(2), todo(4)) {
    const verdict::Session::Sampling sampled(session(), verdict::Session::Sample::of_wide);
    check_wide_rows(kBackwardFast, checks.rows_of(kOfDx));
    sweep_ends(kBackwardFast, checks.rows_of(kOfDx));
    for_ends_of_kernels(kBackwardFast, kWideCols,
                        [](Dtype dtype, std::int64_t rows, std::int64_t cols) {
                          checks.rows_of(kOfDx)(dtype, rows, cols, {});
                        });
    for_ends_of_vectors(
        kBackwardFast, kWideCols,
        [](Dtype dtype, std::int64_t rows, std::int64_t cols) { check_packs(rows, cols, dtype); });
    check_packs(1, 16400, Dtype::fp32);
    check_packs(1, 20000, some_16_bit());
  }

  CHECK_CASE("dweight of wide rows, to 65,536 columns", points(2), todo(4)) {
    // More rows than their kernel has groups of, or than there are blocks or clusters at a time.
    check_long_walks_of_wide(kBackwardFast, checks.rows_of(kOfBoth));
    checks.calls_of_every_size();
    const verdict::Session::Sampling sampled(session(), verdict::Session::Sample::of_wide);
    check_widest(kBackwardFast, checks.rows_of(kOfDweight));
    for_ends_of_kernels(kBackwardFast, kWideCols,
                        [](Dtype dtype, std::int64_t rows, std::int64_t cols) {
                          checks.rows_of(kOfDweight)(dtype, rows, cols, {});
                        });
    for_ends_of_vectors(
        kBackwardFast, kWideCols,
        [](Dtype dtype, std::int64_t rows, std::int64_t cols) { check_packs(rows, cols, dtype); });
    sweep_wide_ways(kBackwardFast, checks.rows_of(kOfBoth));
    sweep_wide_far_apart(kBackwardFast, checks.rows_of(kOfBoth));
  }

  // ---- Speed ----

  SPEED_CHECKS(4, checks.rows_of(kOfBoth)(Dtype::bf16, 5, 520, {}))
}

}  // namespace
}  // namespace onepass::rmsnorm::backward_fast_checks
