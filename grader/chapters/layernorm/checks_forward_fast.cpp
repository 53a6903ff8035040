// The checks of exercise 2.5. Of the results as those of 2.1 (checks_of_forward.h); and of the
// traffic that made them, on the simulator. Those of TODO 1 look at mean and rstd only. Until TODO
// 4 rows have at most 8,192 columns.
#include "chapters/common/requests.h"
#include "chapters/common/speed.h"
#include "chapters/layernorm/checks_of_forward.h"

namespace onepass::layernorm::forward_fast_checks {
namespace {

const Outputs kStatistics = {expected_mean, expected_rstd};
const ForwardChecks checks(kForwardFast);
constexpr std::int64_t kMostNarrow = 8192;  // columns, until TODO 4
const verdict::contract::Size kWideCols = {"cols", kMostNarrow + 1, common::kMostAsked};

Case call_of(std::int64_t rows, std::int64_t cols, Dtype dtype,
             const Arrangement& arrangement = {}) {
  return checks.call_of(random_x(dtype, rows, cols), ForwardChecks::kEps, arrangement);
}

void loaded_once(const Case& call, const verdict::Traffic& traffic) {
  require_loaded_once(call, traffic, "x");
}

void check_loaded_once(std::int64_t rows, std::int64_t cols, Dtype dtype,
                       const Arrangement& arrangement = {}) {
  count<forward_mistakes>(call_of(rows, cols, dtype, arrangement), kOfY, loaded_once);
}

void in_packs(const Case& call, const verdict::Traffic& traffic) {
  require_packs(call, traffic, "x", verdict::AccessType::read);
  require_packs(call, traffic, "y", verdict::AccessType::write);
}

void check_packs(std::int64_t rows, std::int64_t cols, Dtype dtype,
                 const Arrangement& arrangement = {}) {
  count<forward_mistakes>(call_of(rows, cols, dtype, arrangement), kOfY, in_packs);
}

/// More rows than there are blocks at once: narrow ones at any address, and wide ones.
void check_more_rows_than_blocks(const Outputs& outputs) {
  const verdict::Session::Sampling sampled(session(), verdict::Session::Sample::of_many);
  checks.check(outputs, random_x(Dtype::fp32, 12001, 3), ForwardChecks::kEps,
               {{"x", {4}}, {"y", {1}}});
  checks.check(outputs, random_x(Dtype::fp16, 800, 4104));
}

TEST_SUITE("layernorm/forward_fast") {
  // ---- TODO 1: mean and rstd ----

  CHECK_CASE("1 to 1025 columns: mean and rstd of every row", points(3), todo(1)) {
    sweep_widths(1, 1025, checks.rows_of(kStatistics));
  }

  CHECK_CASE("large means and long sums: mean and variance keep their digits", points(2), todo(1)) {
    checks.mean_is_added_up_in_fp32();
    checks.large_means();
  }

  CHECK_CASE("eps is added to the variance, inside the root, as it is given", points(1), todo(1)) {
    checks.eps_is_added_as_given();
  }

  CHECK_CASE("one large number in a row of small ones counts wherever it is", points(1), todo(1)) {
    checks.one_large_number();
  }

  CHECK_CASE("mean and rstd of more rows than there are blocks", points(2), todo(1)) {
    check_more_rows_than_blocks(kStatistics);
  }

  // ---- TODO 2: y ----

  CHECK_CASE("y is x_hat * weight + bias, those of its column, in every width", points(2),
             todo(2)) {
    sweep_widths(1, 1025, checks.rows_of(kOfY));
  }

  CHECK_CASE("weight, bias or both may be missing", points(1), todo(2)) {
    checks.weight_or_bias_missing();
  }

  CHECK_CASE("fp16 and bf16: y is rounded once, at the very end", points(1), todo(2)) {
    checks.y_is_rounded_once();
  }

  CHECK_CASE("y of no rows, one row, and more rows than there are blocks", points(1), todo(2)) {
    checks.row_counts();
    check_more_rows_than_blocks(kOfY);
  }

  CHECK_CASE("x and y have strides of their own, and start at any address", points(2), todo(2)) {
    sweep_rows(kForwardFast, checks.rows_of(kOfForward));
    sweep_far_apart(kForwardFast, checks.rows_of(kOfY));
    check_far_rows(kForwardFast, kOfForward);
  }

  CHECK_CASE("up to 8,192 columns each element of x is loaded once", points(3), todo(2)) {
    for (Dtype dtype : kEveryDtype) {
      check_loaded_once(5, 64, dtype);
      check_loaded_once(2, 1001, dtype);  // odd
      check_loaded_once(2, 1000, dtype, {{"x", {24, 1}}, {"y", {24, 0}}});
      check_loaded_once(1, 8192, dtype);
      count_other_ways<forward_mistakes>(call_of(3, 80, dtype), true, kOfY, loaded_once);
    }
    check_loaded_once(3000, 8, Dtype::fp32);  // more rows than there are blocks
    check_loaded_once(2, 1000, Dtype::fp16, rows_far_apart(kForwardFast));  // and no wider
    check_loaded_once(1, 4097 + 2 * session().random().integer(0, 0, 2047), Dtype::fp32);
    check_loaded_once(1, 8191, Dtype::fp16);
    for_ends_of_kernels(kForwardFast, {"cols", 1, kMostNarrow},
                        [](Dtype dtype, std::int64_t rows, std::int64_t cols) {
                          check_loaded_once(rows, cols, dtype);
                        });
    for_kernels_of_many(kForwardFast, "rows", {{"cols", 8}},
                        [](Dtype dtype, std::int64_t rows) { check_loaded_once(rows, 8, dtype); });
  }

  CHECK_CASE("shapes drawn at random, called again and again; extreme numbers, infinite and NaN",
             points(1), todo(2)) {
    checks.random_shapes_and_values(kMostNarrow);
  }

  // ---- TODO 3: packs of 16 bytes ----

  CHECK_CASE("aligned rows: x is loaded and y is stored 16 bytes at a time", points(3), todo(3)) {
    for (Dtype dtype : kEveryDtype) {
      const auto vector = 16 / static_cast<std::int64_t>(verdict::size_of(dtype));
      check_packs(3, vector, dtype);
      check_packs(2, 5 * vector, dtype);
      check_packs(2, 6 * vector, dtype, just_aligned(kForwardFast, dtype));
      count_other_ways<forward_mistakes>(call_of(3, 64, dtype), false, kOfY, in_packs);
      check_packs(2, 1000, dtype, {{"x", {24, 0}}, {"y", {8, 0}}});
      check_packs(1, 8192, dtype);
      for (const std::set<std::string>& missing :
           {std::set<std::string>{"weight"}, {"bias"}, {"weight", "bias"}}) {
        Arrangement plain;
        plain.left_out = missing;
        check_packs(2, 8 * vector, dtype, plain);
      }
    }
    for_ends_of_vectors(
        kForwardFast, {"cols", 1, kMostNarrow},
        [](Dtype dtype, std::int64_t rows, std::int64_t cols) { check_packs(rows, cols, dtype); });
  }

  CHECK_CASE("one tensor, base or stride is not aligned: still right", points(2), todo(3)) {
    for (const char* name : {"x", "y"}) {
      checks.check(kOfForward, random_x(Dtype::fp16, 3, 64), ForwardChecks::kEps, {{name, {8, 1}}});
      checks.check(kOfForward, random_x(Dtype::fp32, 3, 64), ForwardChecks::kEps, {{name, {2, 0}}});
    }
    for (const char* name : {"weight", "bias"}) {
      checks.check(kOfForward, random_x(Dtype::bf16, 3, 64), ForwardChecks::kEps, {{name, {0, 1}}});
    }
    checks.check(kOfForward, random_x(Dtype::bf16, 3, 68));  // a row is no whole number of packs
  }

  // ---- TODO 4: wide rows ----

  CHECK_CASE("wide rows, to 65,536 columns", points(2), todo(4)) {
    checks.wide_rows();
    sweep_wide_far_apart(kForwardFast, checks.rows_of(kOfY));
    for_ends_of_kernels(kForwardFast, kWideCols,
                        [](Dtype dtype, std::int64_t rows, std::int64_t cols) {
                          checks.rows_of(kOfForward)(dtype, rows, cols, {});
                        });
    for_ends_of_vectors(
        kForwardFast, kWideCols,
        [](Dtype dtype, std::int64_t rows, std::int64_t cols) { check_packs(rows, cols, dtype); });
    for (Dtype dtype : kEveryDtype) {
      check_packs(1, 20000, dtype);
    }
    check_packs(1, 65536, Dtype::fp16);
  }

  CHECK_CASE("mean and rstd of wide rows, of large means too", points(2), todo(4)) {
    checks.means_of_wide_rows(kStatistics);
    checks.eps_in_wide_rows();
  }

  // ---- Speed ----

  SPEED_CHECKS(4, checks.rows_of(kOfForward)(Dtype::bf16, 3, 520, {}))
}

}  // namespace
}  // namespace onepass::layernorm::forward_fast_checks
