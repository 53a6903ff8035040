// The checks of exercise 2.4. Those of TODO 1 look at dx only, those of TODO 2 at dweight and
// dbias.
#include <utility>

#include "chapters/common/check.h"
#include "chapters/layernorm/checks_columns.h"
#include "chapters/layernorm/mistakes.h"
#include "chapters/layernorm/shapes.h"

namespace onepass::layernorm::backward_fused_checks {
namespace {

const Outputs kDx = {expected_dx};
const Outputs kSums = {expected_dweight, expected_dbias};
const Outputs kAll = {expected_dx, expected_dweight, expected_dbias};

void check(const Outputs& outputs, Gradients inputs, const Arrangement& arrangement = {},
           const char* none = "") {
  expect<backward_mistakes>(backward_call(kBackward, std::move(inputs), arrangement, none),
                            outputs);
}

/// Rows of random numbers; far_off: with a mean of x far from 0.
CheckRows rows_of(const Outputs& outputs, bool far_off = false) {
  return [=](Dtype dtype, std::int64_t rows, std::int64_t cols, const Arrangement& arrangement) {
    const double mean = far_off ? far_mean(dtype) : 0.5;
    check(outputs, random_gradients(dtype, rows, cols, mean), arrangement);
  };
}

TEST_SUITE("layernorm/backward_fused") {
  CHECK_CASE("dx of every row, in every width", points(2), todo(1)) {
    sweep_column_sums(rows_of(kDx));
  }

  CHECK_CASE("dx of more rows than there are blocks", points(1), todo(1)) {
    check_many_rows(rows_of(kDx));
    check_beyond_groups(rows_of(kDx));
    check(kDx, random_gradients(Dtype::fp16, 700, 64));
  }

  CHECK_CASE("dx of wide rows, to 65,536 columns", points(1), todo(1)) {
    const verdict::Session::Sampling sampled(session(), verdict::Session::Sample::of_wide);
    check_wide_rows(kBackward, rows_of(kDx));
    sweep_ends(kBackward, rows_of(kDx));
    sweep_wide_ways(kBackward, rows_of(kDx, true));
  }

  CHECK_CASE("dx: strides of their own, at any address", points(1), todo(1)) {
    sweep_arrangements(kBackward, rows_of(kDx), {"dy", "x", "mean", "rstd", "weight", "dx"});
  }

  CHECK_CASE("dweight and dbias of every column, over all rows", points(2), todo(2)) {
    sweep_column_sums(rows_of(kSums));
    check(kSums, with_weights_0(random_gradients(Dtype::fp32, 9, 70)));
  }

  CHECK_CASE("dweight and dbias over more rows than there are blocks", points(2), todo(2)) {
    check_many_rows(rows_of(kSums));
    check_fewer_blocks_than_room(rows_of(kSums));
    check(kSums, random_gradients(Dtype::fp16, 700, 64));
  }

  CHECK_CASE("dweight and dbias of wide rows, to 65,536 columns", points(1), todo(2)) {
    const verdict::Session::Sampling sampled(session(), verdict::Session::Sample::of_wide);
    check_wide_rows(kBackward, rows_of(kSums));
    sweep_wide_ways(kBackward, rows_of(kSums, true));
  }

  CHECK_CASE("dweight and dbias: partial sums stay in fp32 until the very end", points(1),
             todo(2)) {
    for (Dtype dtype : kSixteenBit) {
      check(kSums, cancelling(random_gradients(dtype, 67, 40)));
      check(kSums, scattered(random_gradients(dtype, 1000, 8)));
    }
  }

  CHECK_CASE("dweight and dbias of strided rows at any address; mean 1000", points(1), todo(2)) {
    sweep_arrangements(kBackward, rows_of(kSums), {"dy", "x", "mean", "rstd", "dweight", "dbias"});
    check(kSums, random_gradients(Dtype::fp32, 33, 70, 1000.0));
  }

  CHECK_CASE("no rows: dweight and dbias are 0", points(1), todo(2)) {
    check(kSums, random_gradients(Dtype::fp32, 1, 33), {}, "rows");
    check(kSums, random_gradients(Dtype::bf16, 1, 300), {}, "rows");
  }

  CHECK_CASE("20 calls give the same bits, if a fixed order was promised", points(2), todo(2)) {
    const Case call = backward_call(kBackward, random_gradients(Dtype::fp32, 100, 40));
    check_repeats(call, 20, kAll);
  }

  CHECK_CASE("all three results at once: shapes drawn at random, extreme numbers, NaN", points(1),
             todo(2)) {
    draw_rows(kBackward, 6, rows_of(kAll));
    check_again(rows_of(kAll));
    sweep_values(4, 300, [](const Matrix& x, double eps) {
      check(kAll, common::gradients_of({kNorm.centred, eps}, x));
    });
    check_not_finite(backward_call(kBackward, random_gradients(Dtype::fp16, 40, 30)), kAll,
                     expect<backward_mistakes>);
  }
}

}  // namespace
}  // namespace onepass::layernorm::backward_fused_checks
