// The checks of exercise 2.3. Those of TODO 1 look at dbias only, those of TODO 2 at dweight.
#include <utility>

#include "chapters/common/check.h"
#include "chapters/layernorm/checks_columns.h"
#include "chapters/layernorm/mistakes.h"
#include "chapters/layernorm/shapes.h"

namespace onepass::layernorm::backward_dweight_dbias_checks {
namespace {

using Expected = Expectation (*)(const Case&);

void check(Expected expected, Gradients inputs, const Arrangement& arrangement = {},
           const char* none = "") {
  expect<backward_mistakes>(
      backward_call(kBackwardDweightDbias, std::move(inputs), arrangement, none),
      Outputs{expected});
}

/// Rows of random numbers; far_off: with a mean of x far from 0.
CheckRows rows_of(Expected expected, bool far_off = false) {
  return [=](Dtype dtype, std::int64_t rows, std::int64_t cols, const Arrangement& arrangement) {
    const double mean = far_off ? far_mean(dtype) : 0.5;
    check(expected, random_gradients(dtype, rows, cols, mean), arrangement);
  };
}

void check_shapes(Expected expected) {
  sweep_column_sums(rows_of(expected));
  // More rows than groups in scratch, where no row of sums is as long as one of dy or x; a prime.
  check(expected, random_gradients(Dtype::fp32, 517, 3), {{"dy", {2}}, {"x", {4}}});
  check(expected, random_gradients(Dtype::fp16, 1031, 2));
}

/// More rows than 512 groups of 128, and only those beyond add anything to the sums.
void check_late_rows(Expected expected) {
  const CheckRows check_late = [=](Dtype dtype, std::int64_t rows, std::int64_t cols,
                                   const Arrangement&) {
    Gradients inputs = random_gradients(dtype, rows, cols);
    inputs.dy = common::changed(
        inputs.dy, [](auto row, auto, double dy) { return row < 512 * 128 ? 0.0 : dy; });
    check(expected, std::move(inputs));
  };
  check_beyond_groups(check_late, false);
}

TEST_SUITE("layernorm/backward_dweight_dbias") {
  // ---- TODO 1: dbias ----

  CHECK_CASE("dbias is the sum of dy over all rows, for every column", points(2), todo(1)) {
    check_shapes(expected_dbias);
  }

  CHECK_CASE("dbias: partial sums stay in fp32 until the very end", points(1), todo(1)) {
    for (Dtype dtype : kSixteenBit) {
      check(expected_dbias, cancelling(random_gradients(dtype, 67, 40)));
      check(expected_dbias, scattered(random_gradients(dtype, 1000, 8)));
    }
  }

  CHECK_CASE("dbias of strided rows at any address", points(1), todo(1)) {
    sweep_arrangements(kBackwardDweightDbias, rows_of(expected_dbias), {"dy", "dbias"});
  }

  CHECK_CASE("no rows: the sum over none of them is 0", points(1), todo(1)) {
    check(expected_dbias, random_gradients(Dtype::fp32, 1, 33), {}, "rows");
    check(expected_dbias, random_gradients(Dtype::bf16, 1, 300), {}, "rows");
  }

  // ---- TODO 2: dweight ----

  CHECK_CASE("dweight is the sum of dy * x_hat over all rows, for every column", points(2),
             todo(2)) {
    check_shapes(expected_dweight);
  }

  CHECK_CASE("dweight: partial sums stay in fp32 until the very end", points(1), todo(2)) {
    for (Dtype dtype : kSixteenBit) {
      check(expected_dweight, cancelling(random_gradients(dtype, 67, 40)));
      check(expected_dweight, scattered(random_gradients(dtype, 1000, 8)));
    }
  }

  CHECK_CASE("dweight of strided rows at any address", points(1), todo(2)) {
    sweep_arrangements(kBackwardDweightDbias, rows_of(expected_dweight),
                       {"dy", "x", "mean", "rstd", "dweight"});
  }

  CHECK_CASE("mean 100 and 1000: dweight takes x_hat, from the saved mean and rstd", points(1),
             todo(2)) {
    check(expected_dweight, random_gradients(Dtype::fp32, 33, 70, 100.0));
    check(expected_dweight, random_gradients(Dtype::fp32, 33, 70, 1000.0));
    check(expected_dweight, random_gradients(Dtype::fp16, 33, 70, 100.0));
  }

  CHECK_CASE("20 calls give the same bits, if a fixed order was promised", points(2), todo(2)) {
    const auto check_cols = [](std::int64_t rows, std::int64_t cols, int times) {
      check_repeats(backward_call(kBackwardDweightDbias, random_gradients(Dtype::fp32, rows, cols)),
                    times, {expected_dweight, expected_dbias});
    };
    check_cols(200, 40, 20);
    check_cols(100, 17, 6);  // fewer than a warp has lanes, and more than a block has threads
    check_cols(20, 1032, 4);
    check_repeats_of_many(kBackwardDweightDbias, {expected_dweight, expected_dbias});
  }

  CHECK_CASE("no rows, wide rows, many rows", points(1), todo(2)) {
    check(expected_dweight, random_gradients(Dtype::fp32, 1, 33), {}, "rows");
    const verdict::Session::Sampling sampled(session(), verdict::Session::Sample::of_wide);
    check_widest(kBackwardDweightDbias, rows_of(expected_dweight), {Dtype::fp16}, 2);
    sweep_ends(kBackwardDweightDbias, rows_of(expected_dweight));
    sweep_wide_ways(kBackwardDweightDbias, rows_of(expected_dweight, true));
    check_many_steps(rows_of(expected_dweight));
    check_late_rows(expected_dweight);
    check_fewer_blocks_than_room(rows_of(expected_dweight));
    if (session().device() == "gpu") {
      check(expected_dweight, random_gradients(Dtype::fp32, 4096, 1024));
    }
  }

  CHECK_CASE("shapes drawn at random, called again and again; extreme numbers, infinite and NaN",
             points(1), todo(2)) {
    draw_rows(kBackwardDweightDbias, 6, rows_of(expected_dweight));
    check_again(rows_of(expected_dweight));
    check_every_size(kBackwardDweightDbias, [](const Case& call) {
      expect<backward_mistakes>(call, Outputs{expected_dweight, expected_dbias});
    });
    sweep_values(4, 300, [](const Matrix& x, double eps) {
      check(expected_dweight, common::gradients_of({kNorm.centred, eps}, x));
    });
    const Outputs both = {expected_dweight, expected_dbias};
    check_small_and_ends(kBackwardDweightDbias, with_repeats(kBackwardDweightDbias, both));
    check_not_finite(backward_call(kBackwardDweightDbias, random_gradients(Dtype::fp16, 40, 30)),
                     both, expect<backward_mistakes>);
    const auto call_of = [](std::int64_t cols) {
      return backward_call(kBackwardDweightDbias, random_gradients(Dtype::fp16, 4, cols));
    };
    check_each_kernel_not_finite(kBackwardDweightDbias, "cols", call_of, both,
                                 expect<backward_mistakes>);
  }
}

}  // namespace
}  // namespace onepass::layernorm::backward_dweight_dbias_checks
