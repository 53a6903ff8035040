// The checks of exercise 1.5. Those of TODO 1 look at the sum only, those of TODO 2 at rstd.
#include <utility>

#include "chapters/common/check.h"
#include "chapters/common/requests.h"
#include "chapters/common/speed.h"
#include "chapters/rmsnorm/mistakes.h"
#include "chapters/rmsnorm/shapes.h"

namespace onepass::rmsnorm::residual_checks {
namespace {

const Outputs kAll = {expected_sum, expected_residual_rstd, expected_residual_y};

/// What is added, and where it lies.
struct Inputs {
  Matrix x, residual;
};

Inputs random_inputs(Dtype dtype, std::int64_t rows, std::int64_t cols, double mean = 0.0) {
  return {random_x(dtype, rows, cols), random_tensor("residual", dtype, rows, cols, mean, 2.0)};
}

Case call_of(Inputs inputs, const Arrangement& arrangement = {}, double eps = kEps) {
  Matrix weight = random_weight(inputs.x.dtype(), inputs.x.cols());
  return residual_call(std::move(inputs.x), std::move(inputs.residual), std::move(weight), eps,
                       arrangement);
}

void check(const Outputs& outputs, Inputs inputs, const Arrangement& arrangement = {},
           double eps = kEps) {
  expect<residual_mistakes>(call_of(std::move(inputs), arrangement, eps), outputs);
}

/// A residual that all but cancels x: what is left is small, and different in each column.
Inputs cancelling(Dtype dtype, std::int64_t rows, std::int64_t cols) {
  Inputs inputs = random_inputs(dtype, rows, cols);
  inputs.residual = changed(inputs.x, [](auto row, auto col, double x) {
    return -x * (1.0 + 0.125 * static_cast<double>((row + col) % 3));
  });
  return inputs;
}

/// Rows of random numbers.
CheckRows rows_of(const Outputs& outputs) {
  return
      [outputs](Dtype dtype, std::int64_t rows, std::int64_t cols, const Arrangement& arrangement) {
        check(outputs, random_inputs(dtype, rows, cols), arrangement);
      };
}

void check_wide(const Outputs& outputs) {
  sweep_widths(769, 1025, rows_of(outputs));
  check_wide_rows(kResidual, rows_of(outputs));
}

/// over: the outputs that are.
void check_in_place(const Outputs& outputs, const std::set<std::string>& over) {
  for (Dtype dtype : kEveryDtype) {
    Arrangement arrangement;
    arrangement.over = over;
    check(outputs, random_inputs(dtype, 5, 40), arrangement);
    check(outputs, random_inputs(dtype, 2, 1000), arrangement);
    arrangement.places = {{"x", {39, 1}}, {"residual", {15, 0}}};
    check(outputs, random_inputs(dtype, 3, 1001), arrangement);
  }
}

void loaded_once(const Case& call, const verdict::Traffic& traffic) {
  if (call.buffer("sum").over.empty()) {
    require_not_loaded(call, traffic, "sum");
  }
  require_loaded_once(call, traffic, "x");
  require_loaded_once(call, traffic, "residual");
}

void check_loaded_once(Dtype dtype, std::int64_t rows, std::int64_t cols, bool in_place,
                       std::int64_t gap = 0) {
  Arrangement arrangement = {{"x", {gap}}, {"residual", {gap}}, {"sum", {gap}}, {"y", {gap}}};
  if (in_place) {
    arrangement.over = {"sum", "y"};
  }
  count<residual_mistakes>(call_of(random_inputs(dtype, rows, cols), arrangement), kAll,
                           loaded_once);
}

void in_packs(const Case& call, const verdict::Traffic& traffic) {
  for (const char* name : {"x", "residual"}) {
    require_packs(call, traffic, name, verdict::AccessType::read);
  }
  for (const char* name : {"sum", "y"}) {
    require_packs(call, traffic, call.place_of(name), verdict::AccessType::write);
  }
}

void check_packs(Dtype dtype, std::int64_t rows, std::int64_t cols,
                 const Arrangement& arrangement = {}) {
  count<residual_mistakes>(call_of(random_inputs(dtype, rows, cols), arrangement), kAll, in_packs);
}

TEST_SUITE("rmsnorm/residual") {
  // ---- TODO 1: the sum ----

  CHECK_CASE("1 to 257 columns: sum is x + residual, rounded once", points(2), todo(1)) {
    sweep_widths(1, 257, rows_of({expected_sum}));
    for (Dtype dtype : kEveryDtype) {
      check({expected_sum}, cancelling(dtype, 3, 100));
    }
  }

  CHECK_CASE("769 to 65,536 columns: the sum of every column", points(1), todo(1)) {
    check_wide({expected_sum});
  }

  CHECK_CASE("the sum in place: it is written over residual", points(2), todo(1)) {
    check_in_place({expected_sum}, {"sum"});
  }

  // ---- TODO 2: rstd ----

  CHECK_CASE("1 to 257 columns: rstd of the sum", points(1), todo(2)) {
    sweep_widths(1, 257, rows_of({expected_residual_rstd}));
  }

  CHECK_CASE("769 to 65,536 columns: every column of the sum counts", points(1), todo(2)) {
    check_wide({expected_residual_rstd});
  }

  CHECK_CASE("fp16 and bf16: rstd is that of the rounded sum", points(1), todo(2)) {
    for (Dtype dtype : kSixteenBit) {
      check({expected_residual_rstd},
            random_inputs(dtype, 3, 100, 20.0));  // whose rounding takes much of x away
      check({expected_residual_rstd}, random_inputs(dtype, 3, 1000, 20.0));
    }
  }

  CHECK_CASE("eps is inside the root, as it is given: a row of zeros has rstd 1 / sqrt(eps)",
             points(1), todo(2)) {
    for (Dtype dtype : kEveryDtype) {
      Inputs inputs = cancelling(dtype, 3, 100);
      inputs.residual = changed(inputs.residual, [&](auto row, auto col, double value) {
        return row == 1 ? -inputs.x.get(row, col) : value;
      });
      check({expected_residual_rstd}, inputs, {}, 1e-5);
      check({expected_residual_rstd}, std::move(inputs), {}, 0.25);
    }
    for (const auto& all : {rows_for_eps(), rows_for_eps({2064, 8200, 17000, 33001})}) {
      for (const auto& [x, eps] : all) {
        const Matrix quarter = changed(x, [](auto, auto, double value) { return 0.25 * value; });
        check({expected_residual_rstd}, {x, quarter}, {}, eps);
      }
    }
  }

  // ---- TODO 3: y ----

  CHECK_CASE("1 to 257 columns: y is sum * rstd * weight", points(2), todo(3)) {
    sweep_widths(1, 257, rows_of({expected_residual_y}));
  }

  CHECK_CASE("769 to 65,536 columns: y of every column", points(1), todo(3)) {
    check_wide({expected_residual_y});
  }

  CHECK_CASE("fp16 and bf16: y is that of the rounded sum, and rounded once itself", points(2),
             todo(3)) {
    for (Dtype dtype : kSixteenBit) {
      check({expected_residual_y}, random_inputs(dtype, 3, 100, 20.0));
      check({expected_residual_y}, random_inputs(dtype, 3, 1000, 20.0));
      check({expected_residual_y}, cancelling(dtype, 3, 200));
    }
  }

  CHECK_CASE("four strides of their own, at any address", points(1), todo(3)) {
    sweep_arrangements(kResidual, rows_of(kAll));
    check_far_rows(kResidual, kAll);
    sweep_ends(kResidual, rows_of(kAll));
    sweep_wide_ways(kResidual, rows_of(kAll));
  }

  CHECK_CASE("in place: y is written over x, with the sum over residual or not", points(2),
             todo(3)) {
    check_in_place(kAll, {"y"});
    check_in_place(kAll, {"sum", "y"});
  }

  CHECK_CASE("x and residual are loaded once, and the sum is not loaded at all", points(2),
             todo(3)) {
    for (bool in_place : {false, true}) {
      for (Dtype dtype : kEveryDtype) {
        for (std::int64_t cols : {64, 1001, 4096}) {
          check_loaded_once(dtype, 2, cols, in_place);
        }
        // A pack, and what is left over after it: more than a trifle.
        const auto vector = 16 / static_cast<std::int64_t>(verdict::size_of(dtype));
        check_loaded_once(dtype, 3, 2 * vector - 1, in_place, 1);
      }
      check_loaded_once(Dtype::fp32, 1, 16384, in_place);
      check_loaded_once(Dtype::fp16, 1, 16383, in_place);
      check_loaded_once(Dtype::bf16, 1, 8193 + session().random().integer(0, 0, 8190), in_place);
    }
    for (Dtype dtype : kEveryDtype) {
      count_other_ways<residual_mistakes>(call_of(random_inputs(dtype, 3, 80), {}), true, kAll,
                                          loaded_once);
    }
    for_ends_of_kernels(kResidual, {"cols", 1, 16384},
                        [](Dtype dtype, std::int64_t rows, std::int64_t cols) {
                          check_loaded_once(dtype, rows, cols, false);
                        });
    for_kernels_of_many(kResidual, "rows", {{"cols", 8}}, [](Dtype dtype, std::int64_t rows) {
      check_loaded_once(dtype, rows, 8, false);
    });
  }

  CHECK_CASE("aligned rows: x and residual are loaded, sum and y are stored 16 bytes at a time",
             points(1), todo(3)) {
    Arrangement in_place;
    in_place.over = {"sum", "y"};
    for (Dtype dtype : kEveryDtype) {
      const auto vector = 16 / static_cast<std::int64_t>(verdict::size_of(dtype));
      check_packs(dtype, 3, vector);
      check_packs(dtype, 2, 6 * vector, just_aligned(kResidual, dtype));
      check_packs(dtype, 2, 1000, {{"x", {24}}, {"residual", {8}}, {"sum", {16}}, {"y", {32}}});
      check_packs(dtype, 3, 64, in_place);
    }
    for_ends_of_vectors(
        kResidual, {"cols", 1, 16384},
        [](Dtype dtype, std::int64_t rows, std::int64_t cols) { check_packs(dtype, rows, cols); });
  }

  CHECK_CASE("no rows, one row, many rows", points(1), todo(3)) {
    check_row_counts(kResidual, rows_of(kAll));
  }

  CHECK_CASE("called again, on other numbers or the same, it is right again", points(1), todo(3)) {
    check_again(rows_of(kAll));
    check_every_size(kResidual, [](const Case& call) { expect<residual_mistakes>(call, kAll); });
  }

  CHECK_CASE("shapes drawn at random, and numbers at the ends of the types, infinite and NaN",
             points(1), todo(3)) {
    draw_rows(kResidual, 6, rows_of(kAll));
    sweep_values(4, 300, [](const Matrix& x, double eps) {
      const Matrix mirrored = changed(
          x, [&](auto row, auto col, double) { return 0.5 * x.get(row, x.cols() - 1 - col); });
      check(kAll, {x, mirrored}, {}, eps);
    });
    check_small_and_ends(kResidual,
                         [](const Case& call) { expect<residual_mistakes>(call, kAll); });
    check_not_finite(call_of(random_inputs(Dtype::fp16, 4, 300)), kAll, expect<residual_mistakes>);
    check_each_kernel_not_finite(
        kResidual, "cols",
        [](std::int64_t cols) { return call_of(random_inputs(Dtype::fp16, 4, cols)); }, kAll,
        expect<residual_mistakes>);
  }

  // ---- Speed ----

  SPEED_CHECKS(3, check(kAll, random_inputs(Dtype::bf16, 3, 520)))
}

}  // namespace
}  // namespace onepass::rmsnorm::residual_checks
