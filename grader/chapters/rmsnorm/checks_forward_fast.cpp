// The checks of exercise 1.4. Those of TODO 1 look at rstd only. Until TODO 4 rows have at most
// 16,384 columns, which any way of holding a row can be made for. Rows beyond 131,072 columns that
// are not aligned are too wide for the registers of a cluster, too.
//
// What the exercise is about is traffic, and on the simulator that can be seen: how often x was
// loaded, and in accesses of how many bytes. On a GPU the same calls are checked for their results.
#include <optional>
#include <utility>

#include "chapters/common/check.h"
#include "chapters/common/requests.h"
#include "chapters/common/speed.h"
#include "chapters/rmsnorm/mistakes.h"
#include "chapters/rmsnorm/shapes.h"

namespace onepass::rmsnorm::forward_fast_checks {
namespace {

const Outputs kBoth = {expected_rstd, expected_y};

Case call_of(Matrix x, const Arrangement& arrangement = {}, double eps = kEps) {
  Matrix weight = random_weight(x.dtype(), x.cols());
  return forward_call(std::move(x), std::move(weight), eps, arrangement, kForwardFast);
}

void check(const Outputs& outputs, Matrix x, const Arrangement& arrangement = {},
           double eps = kEps) {
  expect<forward_mistakes>(call_of(std::move(x), arrangement, eps), outputs);
}

void check_both(Dtype dtype, std::int64_t rows, std::int64_t cols, const Arrangement& arrangement) {
  check(kBoth, random_x(dtype, rows, cols), arrangement);
}

void check_eps(const common::WithEps& all) {
  for (const auto& [x, eps] : all) {
    check({expected_rstd}, x, {}, eps);
  }
}

void check_without_weight(Matrix x) {
  Arrangement arrangement;
  arrangement.left_out = {"weight"};
  check(kBoth, std::move(x), arrangement);
}

const Outputs kOfY = {expected_y};

void loaded_once(const Case& call, const verdict::Traffic& traffic) {
  require_loaded_once(call, traffic, "x");
}

void check_loaded_once(std::int64_t rows, std::int64_t cols, Dtype dtype,
                       const Arrangement& arrangement = {}) {
  count<forward_mistakes>(call_of(random_x(dtype, rows, cols), arrangement), kOfY, loaded_once);
}

void in_packs(const Case& call, const verdict::Traffic& traffic) {
  require_packs(call, traffic, "x", verdict::AccessType::read);
  require_packs(call, traffic, "y", verdict::AccessType::write);
}

void check_packs(std::int64_t rows, std::int64_t cols, Dtype dtype,
                 const Arrangement& arrangement = {}) {
  count<forward_mistakes>(call_of(random_x(dtype, rows, cols), arrangement), kOfY, in_packs);
}

/// Rows of random numbers.
CheckRows rows_of(const Outputs& outputs) {
  return
      [outputs](Dtype dtype, std::int64_t rows, std::int64_t cols, const Arrangement& arrangement) {
        check(outputs, random_x(dtype, rows, cols), arrangement);
      };
}

void check_held(const Outputs& outputs) {
  sweep_widths(769, 1025, rows_of(outputs));
  check(outputs, random_x(Dtype::fp32, 1, 4096));
  check(outputs, random_x(Dtype::bf16, 1, 4097));  // odd
  check(outputs, random_x(Dtype::fp16, 1, 9216));  // 9 * 1024
  check(outputs, random_x(Dtype::fp32, 1, 16384));
  check(outputs, random_x(Dtype::fp16, 1, 16383));
}

TEST_SUITE("rmsnorm/forward_fast") {
  // ---- TODO 1: rstd ----

  CHECK_CASE("1 to 300 columns: rstd of narrow rows", points(2), todo(1)) {
    check_eps(rows_for_eps());
    sweep_widths(1, 257, rows_of({expected_rstd}));
  }

  CHECK_CASE("769 to 16,384 columns: rstd of rows that the registers of a block hold", points(2),
             todo(1)) {
    check_held({expected_rstd});
    check_eps(rows_for_eps({2064, 8200, 9216}));
  }

  CHECK_CASE("one large number in a row of small ones: its square counts wherever it is", points(1),
             todo(1)) {
    sweep_spikes([](Dtype dtype, std::int64_t cols, const std::vector<std::int64_t>& columns) {
      check({expected_rstd}, small_but_for(dtype, cols, columns));
    });
    check({expected_rstd}, small_but_for(Dtype::fp16, 1008, boundary_columns(1008)));
  }

  // ---- TODO 2: y ----

  CHECK_CASE("1 to 257 columns: y of narrow rows", points(2), todo(2)) {
    sweep_widths(1, 257, rows_of({expected_y}));
  }

  CHECK_CASE("769 to 16,384 columns: y of rows that the registers of a block hold", points(2),
             todo(2)) {
    check_held({expected_y});
  }

  CHECK_CASE("fp16 and bf16: y is rounded once, at the very end", points(1), todo(2)) {
    for (Dtype dtype : kSixteenBit) {
      check({expected_y}, random_x(dtype, 4, 1000));
      check({expected_y}, random_x(dtype, 3, 200, 100.0));
      check({expected_y}, random_x(dtype, 3, 72, 300.0, 10.0));
    }
  }

  CHECK_CASE("up to 16,384 columns each element of x is loaded once", points(2), todo(2)) {
    for (Dtype dtype : kEveryDtype) {
      check_loaded_once(5, 64, dtype);
      check_loaded_once(2, 1001, dtype);                                    // odd
      check_loaded_once(2, 1000, dtype, {{"x", {24, 1}}, {"y", {24, 0}}});  // one past 16 bytes
      check_loaded_once(2, 1000, dtype, {{"x", {40000}}, {"y", {40000}}});
      check_loaded_once(2, 1000, dtype, rows_far_apart(kForwardFast));
      count_other_ways<forward_mistakes>(call_of(random_x(dtype, 3, 80), {}), true, kOfY,
                                         loaded_once);
      // Packs, and what is left over after the last whole one: more than a trifle.
      const auto vector = 16 / static_cast<std::int64_t>(verdict::size_of(dtype));
      check_loaded_once(3, 2 * vector - 1, dtype, {{"x", {1}}, {"y", {1}}});
    }
    check_loaded_once(1, 16384, Dtype::fp32);
    check_loaded_once(1, 16384, Dtype::bf16);
    check_loaded_once(1, 8192 + 2 * session().random().integer(0, 0, 4095) + 1, Dtype::fp32);
    check_loaded_once(1, 16383, Dtype::fp16);
    for_ends_of_kernels(kForwardFast, {"cols", 1, 16384},
                        [](Dtype dtype, std::int64_t rows, std::int64_t cols) {
                          check_loaded_once(rows, cols, dtype);
                        });
    for_kernels_of_many(kForwardFast, "rows", {{"cols", 8}},
                        [](Dtype dtype, std::int64_t rows) { check_loaded_once(rows, 8, dtype); });
  }

  CHECK_CASE("without weights y is x times rstd", points(1), todo(2)) {
    for (Dtype dtype : kEveryDtype) {
      check_without_weight(random_x(dtype, 3, 64));
      check_without_weight(random_x(dtype, 2, 1001));
    }
  }

  CHECK_CASE("rows apart, also beyond 2^31 elements", points(1), todo(2)) {
    for (Dtype dtype : kEveryDtype) {
      check({expected_y}, random_x(dtype, 5, 256), {{"x", {64, 0}}, {"y", {32, 0}}});
      check({expected_y}, random_x(dtype, 3, 1000), {{"x", {7, 0}}, {"y", {24, 0}}});
    }
    sweep_far_apart(kForwardFast, check_both);
    check_far_rows(kForwardFast, kBoth);
  }

  CHECK_CASE("no rows, one row, and numbers of rows that no block size divides", points(1),
             todo(2)) {
    check_row_counts(kForwardFast, check_both);
  }

  CHECK_CASE("shapes drawn at random, and numbers at the ends of the types, infinite and NaN",
             points(1), todo(2)) {
    draw_rows(kForwardFast, 6, check_both);
    for (std::int64_t cols : {300, 1024}) {  // odd rows of 16 bits, and rows of packs
      sweep_values(4, cols, [](const Matrix& x, double eps) { check(kBoth, x, {}, eps); });
      check_not_finite(call_of(random_x(Dtype::fp16, 4, cols)), kBoth, expect<forward_mistakes>);
    }
    check_small_and_ends(kForwardFast,
                         [](const Case& call) { expect<forward_mistakes>(call, kBoth); });
    check_each_kernel_not_finite(
        kForwardFast, "cols",
        [](std::int64_t cols) { return call_of(random_x(Dtype::fp16, 4, cols)); }, kBoth,
        expect<forward_mistakes>);
  }

  // ---- TODO 3: packs of 16 bytes ----

  CHECK_CASE("aligned rows: x is loaded and y is stored 16 bytes at a time", points(3), todo(3)) {
    for (Dtype dtype : kEveryDtype) {
      const auto vector = 16 / static_cast<std::int64_t>(verdict::size_of(dtype));
      check_packs(3, vector, dtype);
      check_packs(2, 5 * vector, dtype);
      check_packs(2, 6 * vector, dtype, just_aligned(kForwardFast, dtype));
      check_packs(3, 64, dtype);
      check_packs(2, 1000, dtype, {{"x", {24, 0}}, {"y", {8, 0}}});
      Arrangement without_weight;
      without_weight.left_out = {"weight"};
      check_packs(2, 8 * vector, dtype, without_weight);
      // 8 elements: 16 or 32 bytes
      check_packs(1, 4096, dtype, {{"x", {0, 8}}, {"weight", {0, 8}}, {"y", {0, 16}}});
    }
    for_ends_of_vectors(
        kForwardFast, {"cols", 1, 16384},
        [](Dtype dtype, std::int64_t rows, std::int64_t cols) { check_packs(rows, cols, dtype); });
  }

  CHECK_CASE("one tensor, base or stride is not aligned: still right", points(2), todo(3)) {
    sweep_rows(kForwardFast, check_both);
    for (Dtype dtype : kEveryDtype) {
      check_both(dtype, 2, 4099, {{"x", {13, 0}}, {"y", {5, 3}}});
    }
  }

  // ---- TODO 4: wide rows ----

  CHECK_CASE("wide rows, to 262,144 columns", points(2), todo(4)) {
    check(kBoth, random_x(Dtype::bf16, 2, 20000));
    check(kBoth, random_x(Dtype::fp32, 1, 32769));  // odd
    check(kBoth, random_x(Dtype::fp16, 1, 65536));
    check(kBoth, random_x(Dtype::fp16, 1, 131079));  // odd
    check_widest(kForwardFast, check_both);
    sweep_ends(kForwardFast, check_both);
    sweep_wide_ways(kForwardFast, check_both);
    check({expected_rstd}, small_but_for(Dtype::fp16, 40000, {0, 32767, 32768, 39999}));
    check_eps(rows_for_eps({20000, 32769, 131073}));
    for (Dtype dtype : kEveryDtype) {
      check_packs(1, 20000, dtype);
    }
    check_packs(1, 70000, Dtype::fp16);
  }

  CHECK_CASE("wide rows, apart and at any address", points(1), todo(4)) {
    for (Dtype dtype : kEveryDtype) {
      check_both(dtype, 2, 33000, {{"x", {8008, 1}}, {"y", {24, 0}}});
      check_both(dtype, 2, 33000, {{"x", {8}}, {"y", {8008}}});
      check_without_weight(random_x(dtype, 1, 33000));
    }
    // More than the registers of eight blocks hold.
    check_both(Dtype::fp16, 2, 131079, {{"x", {20001}}, {"y", {7}}});
    sweep_wide_far_apart(kForwardFast, check_both);
  }

  CHECK_CASE("called again, on other numbers or the same, it is right again", points(1), todo(4)) {
    check_again(check_both);
    check_every_size(kForwardFast, [](const Case& call) { expect<forward_mistakes>(call, kBoth); });
    for (int repeat = 0; repeat < 3; ++repeat) {
      check(kBoth, random_x(Dtype::fp16, 1, 33000));
    }
  }

  // ---- Speed ----

  SPEED_CHECKS(4, check_both(Dtype::bf16, 3, 520, {}))
}

}  // namespace
}  // namespace onepass::rmsnorm::forward_fast_checks
