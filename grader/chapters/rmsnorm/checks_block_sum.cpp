// The checks of exercise 1.1. TODO by TODO: until the lanes of a warp meet, only the columns of
// thread 0 reach the result, so the checks of TODO 1 have zeros in all others. Those columns are
// the multiples of 1024, whatever the number of threads a block, up to 1024. In the same way the
// checks of TODO 2 have numbers in the first warp's columns only.
#include <utility>

#include "chapters/common/check.h"
#include "chapters/rmsnorm/mistakes.h"
#include "chapters/rmsnorm/shapes.h"

namespace onepass::rmsnorm::block_sum_checks {
namespace {

/// Runs block_sum on x and looks at all sums.
void check_sums(Matrix x, const Arrangement& arrangement = {}) {
  expect<block_sum_mistakes>(block_sum_call(std::move(x), arrangement), Outputs{expected_sums});
}

void check_random(Dtype dtype, std::int64_t rows, std::int64_t cols,
                  const Arrangement& arrangement) {
  check_sums(random_x(dtype, rows, cols), arrangement);
}

/// x with zeros in all columns but some.
Matrix only_columns(const Matrix& x, bool (*kept)(std::int64_t col)) {
  return changed(x, [&](auto, auto col, double value) { return kept(col) ? value : 0.0; });
}

bool of_thread_0(std::int64_t col) {
  return col % 1024 == 0;
}
bool of_first_warp(std::int64_t col) {
  return col % 1024 < 32;
}

/// One number in each row of zeros: in row r at column columns[r]. Its loss cannot hide.
Matrix spikes(Dtype dtype, std::int64_t cols, const std::vector<std::int64_t>& columns) {
  const auto rows = static_cast<std::int64_t>(columns.size());
  const verdict::Random draw = numbers("spikes", dtype, rows, cols);
  Matrix x(dtype, rows, cols);
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto i = static_cast<std::uint64_t>(row);
    x.set(row, columns[i], draw.sign(i) * (1.0 + draw.uniform(i)));
  }
  return x;
}

TEST_SUITE("rmsnorm/block_sum") {
  CHECK_CASE("one column: its sum is the column itself, in every row", points(1), todo(1)) {
    for (Dtype dtype : kEveryDtype) {
      for (std::int64_t rows : {1, 2, 3, 7}) {
        check_sums(random_x(dtype, rows, 1));
      }
    }
  }

  CHECK_CASE("more columns than threads: thread 0 goes on to columns 256, 512, ... to the end",
             points(1), todo(1)) {
    for (Dtype dtype : kEveryDtype) {
      check_sums(only_columns(random_x(dtype, 3, 1025), of_thread_0));
      check_sums(only_columns(random_x(dtype, 3, 4097), of_thread_0));
    }
  }

  CHECK_CASE("the rows of x start x_stride elements apart", points(1), todo(1)) {
    for (Dtype dtype : kEveryDtype) {
      check_sums(random_x(dtype, 5, 1), {{"x", {2}}});
      check_sums(only_columns(random_x(dtype, 3, 1025), of_thread_0), {{"x", {15}}});
    }
  }

  CHECK_CASE("up to 32 columns: the 32 lanes of a warp come to one sum", points(2), todo(2)) {
    sweep_widths(2, 32, check_random);
  }

  CHECK_CASE("the sum holds every lane's share, be it of one column or of several", points(1),
             todo(2)) {
    std::vector<std::int64_t> lanes(32);
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      lanes[lane] = static_cast<std::int64_t>(lane);
    }
    for (Dtype dtype : kEveryDtype) {
      check_sums(spikes(dtype, 32, lanes));
    }
    check_sums(only_columns(random_x(Dtype::fp32, 2, 2049), of_first_warp));
  }

  CHECK_CASE("33 to 257 columns: the sum holds every warp's sum", points(2), todo(3)) {
    sweep_widths(33, 257, check_random);
    check_sums(random_x(Dtype::fp32, 65, 65));  // square: swapped indices stay inside x
  }

  CHECK_CASE("769 to 1025 columns: every thread goes on until the row ends", points(1), todo(3)) {
    sweep_widths(769, 1025, check_random);
  }

  CHECK_CASE("one number in a row of zeros: every column counts, first and last", points(1),
             todo(3)) {
    sweep_spikes([](Dtype dtype, std::int64_t cols, const std::vector<std::int64_t>& columns) {
      check_sums(spikes(dtype, cols, columns));
    });
  }

  CHECK_CASE("fp16 and bf16 are added up in fp32", points(1), todo(3)) {
    for (Dtype dtype : kSixteenBit) {
      check_sums(random_x(dtype, 3, 4097, 1.0));          // 16-bit sums stop growing
      check_sums(random_x(dtype, 2, 1000, 300.0, 10.0));  // 300,000 is beyond fp16
    }
  }

  CHECK_CASE("wide rows, to 65,536 columns", points(1), todo(3)) {
    check_widest(kBlockSum, check_random, {Dtype::fp32, Dtype::fp16});
    sweep_ends(kBlockSum, check_random);
    sweep_wide_ways(kBlockSum, check_random);
  }

  CHECK_CASE("strided rows at any address are read where they are", points(1), todo(3)) {
    sweep_rows(kBlockSum, check_random);
  }

  CHECK_CASE("row * x_stride is beyond 2^31: compute it in 64 bits", points(1), todo(3)) {
    sweep_far_apart(kBlockSum, check_random);
    sweep_wide_far_apart(kBlockSum, check_random);
    check_far_rows(kBlockSum, {expected_sums});
  }

  CHECK_CASE("no rows, one row, many rows: each gets its own sum", points(1), todo(3)) {
    check_row_counts(kBlockSum, check_random);
  }

  CHECK_CASE("called again, on other numbers or the same, it is right again", points(1), todo(3)) {
    check_again(check_random);
    check_every_size(kBlockSum, [](const Case& call) {
      expect<block_sum_mistakes>(call, Outputs{expected_sums});
    });
  }

  CHECK_CASE("shapes drawn at random, and numbers at the ends of the types, infinite and NaN",
             points(1), todo(3)) {
    draw_rows(kBlockSum, 6, check_random);
    sweep_values(4, 300, [](const Matrix& x, double) { check_sums(x); });
    check_small_and_ends(kBlockSum, [](const Case& call) {
      expect<block_sum_mistakes>(call, Outputs{expected_sums});
    });
    const auto call_of = [](std::int64_t cols) {
      return block_sum_call(random_x(Dtype::fp16, 4, cols));
    };
    check_not_finite(call_of(300), {expected_sums}, expect<block_sum_mistakes>);
    check_each_kernel_not_finite(kBlockSum, "cols", call_of, {expected_sums},
                                 expect<block_sum_mistakes>);
  }
}

}  // namespace
}  // namespace onepass::rmsnorm::block_sum_checks
