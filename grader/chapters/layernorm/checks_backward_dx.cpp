// The checks of exercise 2.2. Until block_sums_of() adds up anything, each thread knows its own
// share only, so the checks of TODO 1 have one column: its thread has the whole row. There mean and
// rstd are numbers of their own, not x's, for else dx would be 0.
#include <utility>

#include "chapters/common/check.h"
#include "chapters/layernorm/mistakes.h"
#include "chapters/layernorm/shapes.h"

namespace onepass::layernorm::backward_dx_checks {
namespace {

void check(Gradients inputs, const Arrangement& arrangement = {}) {
  expect<backward_mistakes>(backward_call(kBackwardDx, std::move(inputs), arrangement),
                            Outputs{expected_dx});
}

void check_random(Dtype dtype, std::int64_t rows, std::int64_t cols,
                  const Arrangement& arrangement) {
  check(random_gradients(dtype, rows, cols), arrangement);
}

/// The same with an x whose mean is far from 0.
void check_far_off(Dtype dtype, std::int64_t rows, std::int64_t cols,
                   const Arrangement& arrangement) {
  check(random_gradients(dtype, rows, cols, far_mean(dtype)), arrangement);
}

void check_without_weight(Gradients inputs) {
  inputs.weight.reset();
  check(std::move(inputs));
}

/// One column, with statistics that are given, as if of another tensor.
Gradients one_column(Dtype dtype, std::int64_t rows) {
  return with_other_statistics(random_gradients(dtype, rows, 1));
}

TEST_SUITE("layernorm/backward_dx") {
  CHECK_CASE("one column: dx from wdy, x_hat, and sums that one thread has", points(2), todo(1)) {
    for (Dtype dtype : kEveryDtype) {
      for (std::int64_t rows : {1, 2, 7}) {
        check(one_column(dtype, rows));
      }
    }
  }

  CHECK_CASE("one column, rows apart, without a weight", points(1), todo(1)) {
    for (Dtype dtype : kEveryDtype) {
      check(one_column(dtype, 5), {{"dy", {2}}, {"x", {4}}, {"dx", {8}}});
      check_without_weight(one_column(dtype, 3));
    }
  }

  CHECK_CASE("2 to 32 columns: both sums hold every lane's share", points(2), todo(2)) {
    sweep_widths(2, 32, check_random);
  }

  CHECK_CASE("33 to 1025 columns: both sums hold every warp's", points(2), todo(2)) {
    sweep_widths(33, 1025, check_random);
  }

  CHECK_CASE("dx is the derivative: it agrees with differences of the forward pass", points(1),
             todo(2)) {
    const Gradients inputs = random_gradients(Dtype::fp32, 3, 37);
    const Case call = backward_call(kBackwardDx, inputs);
    expect_derivative<backward_mistakes>(call, expected_dx, dx_by_differences(inputs));
  }

  CHECK_CASE("a single dy that is not 0 moves the whole row's dx, wherever it is", points(1),
             todo(2)) {
    sweep_spikes([](Dtype dtype, std::int64_t cols, const std::vector<std::int64_t>& columns) {
      const auto rows = static_cast<std::int64_t>(columns.size());
      check(with_one_dy_a_row(random_gradients(dtype, rows, cols), columns));
    });
  }

  CHECK_CASE("mean 100 and 1000: x - mean comes first", points(1), todo(2)) {
    check(random_gradients(Dtype::fp32, 3, 300, 100.0));
    check(random_gradients(Dtype::fp32, 3, 300, 1000.0));
    check(random_gradients(Dtype::fp16, 3, 256, 100.0));
    check(random_gradients(Dtype::bf16, 3, 257, 100.0));
  }

  CHECK_CASE("no weight: wdy is dy, in every width", points(1), todo(2)) {
    for (Dtype dtype : kEveryDtype) {
      for (std::int64_t cols : {5, 257, 1000}) {
        check_without_weight(random_gradients(dtype, 2, cols));
      }
    }
  }

  CHECK_CASE("dy, x and dx have strides of their own, and start at any address", points(2),
             todo(2)) {
    sweep_arrangements(kBackwardDx, check_random);
    check_far_rows(kBackwardDx, {expected_dx});
  }

  CHECK_CASE("no rows, one row, many rows, wide rows", points(1), todo(2)) {
    check_row_counts(kBackwardDx, check_random);
    check(random_gradients(Dtype::fp32, 129, 33), {{"dy", {7}}, {"x", {4}}, {"dx", {2}}});
    check_widest(kBackwardDx, check_random);
    sweep_ends(kBackwardDx, check_random);
    sweep_wide_ways(kBackwardDx, check_far_off);
  }

  CHECK_CASE("shapes drawn at random, called again and again; extreme numbers, infinite and NaN",
             points(1), todo(2)) {
    draw_rows(kBackwardDx, 6, check_random);
    check_again(check_random);
    check_every_size(kBackwardDx, [](const Case& call) {
      expect<backward_mistakes>(call, Outputs{expected_dx});
    });
    sweep_values(4, 300, [](const Matrix& x, double eps) {
      check(common::gradients_of({kNorm.centred, eps}, x));
    });
    check_small_and_ends(kBackwardDx, [](const Case& call) {
      expect<backward_mistakes>(call, Outputs{expected_dx});
    });
    const auto call_of = [](std::int64_t cols) {
      return backward_call(kBackwardDx, random_gradients(Dtype::fp16, 4, cols));
    };
    check_not_finite(call_of(300), {expected_dx}, expect<backward_mistakes>);
    check_each_kernel_not_finite(kBackwardDx, "cols", call_of, {expected_dx},
                                 expect<backward_mistakes>);
  }
}

}  // namespace
}  // namespace onepass::layernorm::backward_dx_checks
