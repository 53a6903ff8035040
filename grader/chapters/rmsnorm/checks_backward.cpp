// The checks of exercise 1.3. Those of TODO 1 look at dx only, those of TODO 2 at dweight where the
// weight is applied in fp32, those of TODO 3 at LLaMA's order.
#include <utility>

#include "chapters/common/check.h"
#include "chapters/rmsnorm/calls.h"
#include "chapters/rmsnorm/mistakes.h"

namespace onepass::rmsnorm::backward_checks {
namespace {

const Outputs kDx = {expected_dx};
const Outputs kDweight = {expected_dweight};
const Outputs kBoth = {expected_dx, expected_dweight};

void check(const Outputs& outputs, Gradients inputs, const Arrangement& arrangement = {},
           CastOrder order = CastOrder::weight_in_fp32) {
  expect<backward_mistakes>(backward_call(std::move(inputs), order, arrangement), outputs);
}

/// Random dy and weight, and x of this mean with its own rstd.
Gradients random_gradients(Dtype dtype, std::int64_t rows, std::int64_t cols, double mean = 0.5) {
  return common::random_gradients(kNorm, dtype, rows, cols, mean);
}

/// Twin rows: the same x, opposite dy, and rstd that differ by a fraction of the type's last digit.
/// Most x_hat of twins are rounded to the same number, and then their terms cancel to 0; unrounded
/// they do not. So what is rounded, and what is not, decides every digit of dweight.
Gradients twins(Dtype dtype, std::int64_t pairs, std::int64_t cols) {
  Gradients inputs = random_gradients(dtype, 2 * pairs, cols);
  const double fraction = verdict::ulp(dtype, 1.0) / 16.0;
  for (std::int64_t row = 0; row < 2 * pairs; row += 2) {
    for (std::int64_t col = 0; col < cols; ++col) {
      inputs.dy.set(row + 1, col, -inputs.dy.get(row, col));
      inputs.x.set(row + 1, col, inputs.x.get(row, col));
    }
    inputs.rstd.set(row + 1, 0, inputs.rstd.get(row, 0) * (1.0 + fraction));
  }
  return inputs;
}

/// Rows of random numbers.
CheckRows rows_of(const Outputs& outputs) {
  return
      [outputs](Dtype dtype, std::int64_t rows, std::int64_t cols, const Arrangement& arrangement) {
        check(outputs, random_gradients(dtype, rows, cols), arrangement);
      };
}

/// The call says that there are none.
void check_no_rows(Dtype dtype, std::int64_t cols) {
  expect<backward_mistakes>(
      backward_call(random_gradients(dtype, 1, cols), CastOrder::weight_in_fp32, {}, "rows"),
      kDweight);
}

TEST_SUITE("rmsnorm/backward") {
  // ---- TODO 1: dx ----

  CHECK_CASE("1 to 257 columns: dx is rstd * (wdy - x_hat * mean of wdy * x_hat)", points(2),
             todo(1)) {
    sweep_widths(1, 257, rows_of(kDx));
    for (Dtype dtype : kEveryDtype) {
      check(kDx, with_other_statistics(random_gradients(dtype, 7, 1)));
    }
  }

  CHECK_CASE("769 to 1025 columns: the mean is over the whole row", points(1), todo(1)) {
    sweep_widths(769, 1025, rows_of(kDx));
  }

  CHECK_CASE("dx is the derivative: it agrees with differences of the forward pass", points(1),
             todo(1)) {
    const Gradients inputs = random_gradients(Dtype::fp32, 3, 37);
    const Case call = backward_call(inputs, CastOrder::weight_in_fp32);
    expect_derivative<backward_mistakes>(call, expected_dx, dx_by_differences(inputs));
  }

  CHECK_CASE("a single dy that is not 0 moves the whole row's dx, wherever it is", points(1),
             todo(1)) {
    sweep_spikes([](Dtype dtype, std::int64_t cols, const std::vector<std::int64_t>& columns) {
      const auto rows = static_cast<std::int64_t>(columns.size());
      check(kDx, with_one_dy_a_row(random_gradients(dtype, rows, cols), columns));
    });
  }

  CHECK_CASE("fp16 and bf16: dx is rounded once, at the very end, in either cast order", points(1),
             todo(1)) {
    for (Dtype dtype : kSixteenBit) {
      for (CastOrder order : {CastOrder::weight_in_fp32, CastOrder::llama}) {
        check(kDx, random_gradients(dtype, 4, 1000), {}, order);
        check(kDx, random_gradients(dtype, 3, 200, 100.0), {}, order);
        check(kDx, random_gradients(dtype, 3, 70, 300.0), {}, order);  // 300^2 overflows fp16
      }
    }
  }

  CHECK_CASE("dx of more rows than there are blocks", points(1), todo(1)) {
    check_many_rows(rows_of(kDx));
    check_beyond_groups(rows_of(kDx));
  }

  CHECK_CASE("dx of wide rows, to 65,536 columns", points(1), todo(1)) {
    const verdict::Session::Sampling sampled(session(), verdict::Session::Sample::of_wide);
    check_wide_rows(kBackward, rows_of(kDx));
    sweep_ends(kBackward, rows_of(kDx));
    sweep_wide_ways(kBackward, rows_of(kDx));
  }

  CHECK_CASE("dx: dy, x and dx have strides of their own, and start at any address", points(2),
             todo(1)) {
    sweep_arrangements(kBackward, rows_of(kDx), {"dy", "x", "weight", "rstd", "dx"});
  }

  // ---- TODO 2: dweight ----

  CHECK_CASE("dweight is the sum of dy * x_hat over all rows, for every column", points(2),
             todo(2)) {
    sweep_column_sums(rows_of(kDweight));
    check(kDweight, with_weights_0(random_gradients(Dtype::fp32, 9, 70)));
  }

  CHECK_CASE("dweight is the derivative: it agrees with differences of the forward pass", points(1),
             todo(2)) {
    const Gradients inputs = random_gradients(Dtype::fp32, 9, 37);
    const Case call = backward_call(inputs, CastOrder::weight_in_fp32);
    expect_derivative<backward_mistakes>(call, expected_dweight, dweight_by_differences(inputs));
  }

  CHECK_CASE("dweight over more rows than there are blocks", points(2), todo(2)) {
    check_many_rows(rows_of(kDweight));
    check_fewer_blocks_than_room(rows_of(kDweight));
  }

  CHECK_CASE("dweight: partial sums stay in fp32 until the very end", points(1), todo(2)) {
    for (Dtype dtype : kSixteenBit) {
      check(kDweight, cancelling(random_gradients(dtype, 67, 40)));
      check(kDweight, twins(dtype, 3, 100));
    }
  }

  CHECK_CASE("dweight of wide rows, to 65,536 columns", points(1), todo(2)) {
    const verdict::Session::Sampling sampled(session(), verdict::Session::Sample::of_wide);
    check(kDweight, random_gradients(Dtype::fp32, 2, 4101));  // odd
    check_widest(kBackward, rows_of(kDweight));
    sweep_wide_ways(kBackward, rows_of(kDweight));
  }

  CHECK_CASE("dweight of strided rows at any address", points(1), todo(2)) {
    sweep_arrangements(kBackward, rows_of(kDweight), {"dy", "x", "rstd", "dweight"});
  }

  CHECK_CASE("no rows: the sum over none of them is 0", points(1), todo(2)) {
    check_no_rows(Dtype::fp32, 33);
    check_no_rows(Dtype::bf16, 300);
  }

  CHECK_CASE("called again, on other numbers or the same, both results are right again", points(1),
             todo(2)) {
    for (int repeat = 0; repeat < 5; ++repeat) {
      const common::Generation numbers(repeat / 2);
      check(kBoth, random_gradients(Dtype::fp32, 40, 300));
      check(kBoth, random_gradients(Dtype::bf16, 20 + repeat, 100));
    }
    check_side_by_side(
        [](std::int64_t rows) { check(kBoth, random_gradients(Dtype::fp32, rows, 300)); });
  }

  // ---- TODO 3: LLaMA's order ----

  CHECK_CASE("LLaMA's order: dweight takes x_hat as the forward pass rounded it", points(2),
             todo(3)) {
    for (Dtype dtype : kEveryDtype) {
      for (std::int64_t cols : {1, 17, 100, 257, 1000}) {
        check(kDweight, twins(dtype, 1, cols), {}, CastOrder::llama);
        check(kDweight, twins(dtype, 5, cols), {}, CastOrder::llama);
      }
      check(kDweight, random_gradients(dtype, 33, 65), {}, CastOrder::llama);
    }
  }

  CHECK_CASE("each order as it is asked for: shapes drawn at random, extreme numbers, NaN",
             points(1), todo(3)) {
    draw_rows(
        kBackward, 6,
        [](Dtype dtype, std::int64_t rows, std::int64_t cols, const Arrangement& arrangement) {
          check(kBoth, twins(dtype, (rows + 1) / 2, cols), arrangement, CastOrder::llama);
          check(kBoth, twins(dtype, (rows + 1) / 2, cols), arrangement);
          check(kBoth, random_gradients(dtype, rows, cols), arrangement, CastOrder::llama);
        });
    sweep_values(4, 300, [](const Matrix& x, double eps) {
      check(kBoth, common::gradients_of({kNorm.centred, eps}, x), {}, CastOrder::llama);
    });
    check_not_finite(backward_call(random_gradients(Dtype::fp16, 4, 300), CastOrder::llama), kBoth,
                     expect<backward_mistakes>);
  }
}

}  // namespace
}  // namespace onepass::rmsnorm::backward_checks
