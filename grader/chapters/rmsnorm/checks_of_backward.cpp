// What the checks of exercises 1.3 and 1.6 do.
#include "chapters/rmsnorm/checks_of_backward.h"

#include <utility>

namespace onepass::rmsnorm {

namespace {

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

}  // namespace

Gradients random_gradients(Dtype dtype, std::int64_t rows, std::int64_t cols, double mean) {
  return common::random_gradients(kNorm, dtype, rows, cols, mean);
}

void BackwardChecks::check(const Outputs& outputs, Gradients inputs, const Arrangement& arrangement,
                           CastOrder order) const {
  expect<backward_mistakes>(backward_call(std::move(inputs), order, arrangement, "", function_),
                            outputs);
}

CheckRows BackwardChecks::rows_of(const Outputs& outputs) const {
  return [this, outputs](Dtype dtype, std::int64_t rows, std::int64_t cols,
                         const Arrangement& arrangement) {
    check(outputs, random_gradients(dtype, rows, cols), arrangement);
  };
}

// ---- dx ----

void BackwardChecks::dx_of_narrow_rows() const {
  sweep_widths(1, 257, rows_of(kOfDx));
  for (Dtype dtype : kEveryDtype) {
    check(kOfDx, with_other_statistics(random_gradients(dtype, 7, 1)));
  }
}

void BackwardChecks::dx_is_the_derivative() const {
  const Gradients inputs = random_gradients(Dtype::fp32, 3, 37);
  const Case call = backward_call(inputs, CastOrder::weight_in_fp32, {}, "", function_);
  expect_derivative<backward_mistakes>(call, expected_dx, dx_by_differences(inputs));
}

void BackwardChecks::dx_of_a_single_dy() const {
  sweep_spikes([this](Dtype dtype, std::int64_t cols, const std::vector<std::int64_t>& columns) {
    const auto rows = static_cast<std::int64_t>(columns.size());
    check(kOfDx, with_one_dy_a_row(random_gradients(dtype, rows, cols), columns));
  });
}

void BackwardChecks::dx_is_rounded_once() const {
  for (Dtype dtype : kSixteenBit) {
    for (CastOrder order : {CastOrder::weight_in_fp32, CastOrder::llama}) {
      check(kOfDx, random_gradients(dtype, 4, 1000), {}, order);
      check(kOfDx, random_gradients(dtype, 3, 200, 100.0), {}, order);
      check(kOfDx, random_gradients(dtype, 3, 70, 300.0), {}, order);  // 300^2 overflows fp16
    }
  }
}

void BackwardChecks::dx_of_many_rows() const {
  check_many_rows(rows_of(kOfDx));
  check_beyond_groups(rows_of(kOfDx));
}

void BackwardChecks::dx_of_wide_rows() const {
  const verdict::Session::Sampling sampled(session(), verdict::Session::Sample::of_wide);
  check_wide_rows(function_, rows_of(kOfDx));
  sweep_ends(function_, rows_of(kOfDx));
  sweep_wide_ways(function_, rows_of(kOfDx));
}

// ---- dweight ----

void BackwardChecks::dweight_of_all_rows() const {
  sweep_column_sums(rows_of(kOfDweight));
  check(kOfDweight, with_weights_0(random_gradients(Dtype::fp32, 9, 70)));
}

void BackwardChecks::dweight_is_the_derivative() const {
  const Gradients inputs = random_gradients(Dtype::fp32, 9, 37);
  const Case call = backward_call(inputs, CastOrder::weight_in_fp32, {}, "", function_);
  expect_derivative<backward_mistakes>(call, expected_dweight, dweight_by_differences(inputs));
}

void BackwardChecks::dweight_of_many_rows() const {
  check_many_rows(rows_of(kOfDweight));
  check_many_steps(rows_of(kOfDweight));
  check_fewer_blocks_than_room(rows_of(kOfDweight));
}

void BackwardChecks::dweight_stays_in_fp32() const {
  for (Dtype dtype : kSixteenBit) {
    check(kOfDweight, cancelling(random_gradients(dtype, 67, 40)));
    check(kOfDweight, twins(dtype, 3, 100));
  }
}

void BackwardChecks::dweight_of_wide_rows() const {
  const verdict::Session::Sampling sampled(session(), verdict::Session::Sample::of_wide);
  check(kOfDweight, random_gradients(Dtype::fp32, 2, 4101));  // odd
  check_widest(function_, rows_of(kOfDweight));
  sweep_wide_ways(function_, rows_of(kOfDweight));
}

void BackwardChecks::no_rows() const {
  for (const auto& [dtype, cols] : {std::pair(Dtype::fp32, 33), std::pair(Dtype::bf16, 300)}) {
    expect<backward_mistakes>(backward_call(random_gradients(dtype, 1, cols),
                                            CastOrder::weight_in_fp32, {}, "rows", function_),
                              kOfDweight);
  }
}

void BackwardChecks::called_again() const {
  for (int repeat = 0; repeat < 5; ++repeat) {
    const common::Generation numbers(repeat / 2);
    check(kOfBoth, random_gradients(Dtype::fp32, 40, 300));
    check(kOfBoth, random_gradients(Dtype::bf16, 20 + repeat, 100));
  }
  check_side_by_side(
      [this](std::int64_t rows) { check(kOfBoth, random_gradients(Dtype::fp32, rows, 300)); });
}

void BackwardChecks::calls_of_every_size() const {
  check_every_size(function_, [](const Case& call) { expect<backward_mistakes>(call, kOfBoth); });
}

// ---- LLaMA's order ----

void BackwardChecks::llama_order() const {
  for (Dtype dtype : kEveryDtype) {
    for (std::int64_t cols : {1, 17, 100, 257, 1000}) {
      check(kOfDweight, twins(dtype, 1, cols), {}, CastOrder::llama);
      check(kOfDweight, twins(dtype, 5, cols), {}, CastOrder::llama);
    }
    check(kOfDweight, random_gradients(dtype, 33, 65), {}, CastOrder::llama);
  }
}

void BackwardChecks::random_shapes_and_values(std::int64_t most) const {
  draw_rows(
      function_, 6,
      [this](Dtype dtype, std::int64_t rows, std::int64_t cols, const Arrangement& arrangement) {
        check(kOfBoth, twins(dtype, (rows + 1) / 2, cols), arrangement, CastOrder::llama);
        check(kOfBoth, twins(dtype, (rows + 1) / 2, cols), arrangement);
        check(kOfBoth, random_gradients(dtype, rows, cols), arrangement, CastOrder::llama);
      });
  sweep_values(4, 300, [this](const Matrix& x, double eps) {
    check(kOfBoth, common::gradients_of({kNorm.centred, eps}, x), {}, CastOrder::llama);
  });
  check_small_and_ends(
      function_, [](const Case& call) { expect<backward_mistakes>(call, kOfBoth); }, most);
  const auto call_of = [this](std::int64_t cols) {
    return backward_call(random_gradients(Dtype::fp16, 4, cols), CastOrder::llama, {}, "",
                         function_);
  };
  check_not_finite(call_of(300), kOfBoth, expect<backward_mistakes>);
  check_each_kernel_not_finite(function_, "cols", call_of, kOfBoth, expect<backward_mistakes>);
}

}  // namespace onepass::rmsnorm
