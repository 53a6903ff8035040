// What the checks of exercises 2.4 and 2.6 do.
#include "chapters/layernorm/checks_of_backward.h"

#include <utility>

#include "chapters/layernorm/checks_columns.h"

namespace onepass::layernorm {

void BackwardChecks::check(const Outputs& outputs, Gradients inputs, const Arrangement& arrangement,
                           const char* none) const {
  expect<backward_mistakes>(backward_call(function_, std::move(inputs), arrangement, none),
                            outputs);
}

CheckRows BackwardChecks::rows_of(const Outputs& outputs, bool far_off) const {
  return [this, outputs, far_off](Dtype dtype, std::int64_t rows, std::int64_t cols,
                                  const Arrangement& arrangement) {
    const double mean = far_off ? far_mean(dtype) : 0.5;
    check(outputs, random_gradients(dtype, rows, cols, mean), arrangement);
  };
}

// ---- dx ----

void BackwardChecks::dx_of_many_rows() const {
  check_many_rows(rows_of(kOfDx));
  check_beyond_groups(rows_of(kOfDx));
  check(kOfDx, random_gradients(Dtype::fp16, 700, 64));
}

void BackwardChecks::dx_of_wide_rows() const {
  const verdict::Session::Sampling sampled(session(), verdict::Session::Sample::of_wide);
  check_wide_rows(function_, rows_of(kOfDx));
  sweep_ends(function_, rows_of(kOfDx));
  sweep_wide_ways(function_, rows_of(kOfDx, true));
}

// ---- dweight and dbias ----

void BackwardChecks::sums_of_every_column() const {
  sweep_column_sums(rows_of(kOfSums));
  check(kOfSums, with_weights_0(random_gradients(Dtype::fp32, 9, 70)));
}

void BackwardChecks::sums_of_many_rows() const {
  check_many_rows(rows_of(kOfSums));
  check_many_steps(rows_of(kOfSums));
  check_fewer_blocks_than_room(rows_of(kOfSums));
  check(kOfSums, random_gradients(Dtype::fp16, 700, 64));
}

void BackwardChecks::sums_of_wide_rows() const {
  const verdict::Session::Sampling sampled(session(), verdict::Session::Sample::of_wide);
  check_wide_rows(function_, rows_of(kOfSums));
  sweep_wide_ways(function_, rows_of(kOfSums, true));
}

void BackwardChecks::sums_stay_in_fp32() const {
  for (Dtype dtype : kSixteenBit) {
    check(kOfSums, cancelling(random_gradients(dtype, 67, 40)));
    check(kOfSums, scattered(random_gradients(dtype, 1000, 8)));
  }
}

void BackwardChecks::no_rows() const {
  check(kOfSums, random_gradients(Dtype::fp32, 1, 33), {}, "rows");
  check(kOfSums, random_gradients(Dtype::bf16, 1, 300), {}, "rows");
}

void BackwardChecks::same_bits_again() const {
  check_repeats(backward_call(function_, random_gradients(Dtype::fp32, 100, 40)), 20, kOfBackward);
  check_repeats(backward_call(function_, random_gradients(Dtype::fp32, 100, 17)), 6, kOfBackward);
  // dx is made of two warps' sums there, which no order changes.
  check_repeats(backward_call(function_, random_gradients(Dtype::fp32, 9, 1000)), 4, kOfBackward);
  check_repeats_of_many(function_, kOfBackward);
}

void BackwardChecks::calls_of_every_size() const {
  check_every_size(function_,
                   [](const Case& call) { expect<backward_mistakes>(call, kOfBackward); });
}

void BackwardChecks::random_shapes_and_values(std::int64_t most) const {
  draw_rows(function_, 6, rows_of(kOfBackward));
  check_again(rows_of(kOfBackward));
  sweep_values(4, 300, [this](const Matrix& x, double eps) {
    check(kOfBackward, common::gradients_of({kNorm.centred, eps}, x));
  });
  check_small_and_ends(function_, with_repeats(function_, kOfBackward), most);
  check_not_finite(backward_call(function_, random_gradients(Dtype::fp16, 40, 30)), kOfBackward,
                   expect<backward_mistakes>);
  const auto call_of = [this](std::int64_t cols) {
    return backward_call(function_, random_gradients(Dtype::fp16, 4, cols));
  };
  check_each_kernel_not_finite(function_, "cols", call_of, kOfBackward, expect<backward_mistakes>);
}

}  // namespace onepass::layernorm
