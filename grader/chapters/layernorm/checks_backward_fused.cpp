// The checks of exercise 2.4. Those of TODO 1 look at dx only, those of TODO 2 at dweight and
// dbias.
#include <utility>

#include "chapters/layernorm/calls.h"
#include "chapters/layernorm/checks_columns.h"
#include "chapters/layernorm/mistakes.h"
#include "chapters/layernorm/shapes.h"
#include "verdict/session/check.h"

namespace onepass::layernorm::backward_fused_checks {
namespace {

using verdict::points;
using verdict::session;
using verdict::todo;

using Expected = std::vector<Expectation> (*)(const Case&);

std::vector<Expectation> dx(const Case& call) {
  return {expected_dx(call)};
}
std::vector<Expectation> sums(const Case& call) {
  return {expected_dweight(call), expected_dbias(call)};
}
std::vector<Expectation> all(const Case& call) {
  return {expected_dx(call), expected_dweight(call), expected_dbias(call)};
}

void check(Expected expected, Gradients inputs, const Arrangement& arrangement = {},
           const char* none = "") {
  static const std::vector<verdict::Oracle> mistakes = fused_mistakes();
  const Case call = backward_call(backward_function(), std::move(inputs), arrangement, none);
  session().expect(call, expected(call), mistakes);
}

void check_shapes(Expected expected) {
  for (Dtype dtype : kEveryDtype) {
    check(expected, random_gradients(dtype, 17, 17));  // square: swapped axes stay inside
    for (std::int64_t rows : {1, 2, 7, 33}) {
      check(expected, random_gradients(dtype, rows, 5));
    }
    for (std::int64_t cols : {1, 31, 33, 257, 1000, 1024, 1025}) {
      check(expected, random_gradients(dtype, 2, cols));
    }
  }
}

/// More rows than there are blocks: each block has several.
void check_many_rows(Expected expected) {
  check(expected, random_gradients(Dtype::fp32, 1031, 3));  // a prime
  check(expected, random_gradients(Dtype::fp32, 1031, 3), {{"dy", {2}}, {"x", {4}}, {"dx", {1}}});
  check(expected, random_gradients(Dtype::fp16, 700, 64));
  check(expected, random_gradients(Dtype::fp16, 514, 257));  // several warps a block
  if (session().device() == "gpu") {
    check(expected, random_gradients(Dtype::fp16, 65537, 3));
    check(expected, random_gradients(Dtype::bf16, 3000, 4096));
    check(expected, random_gradients(Dtype::fp32, 3000, 1000));
  }
}

/// As wide as a thread's registers reach, and wider.
void check_wide_rows(Expected expected) {
  check(expected, random_gradients(Dtype::fp16, 2, 4096));
  check(expected, random_gradients(Dtype::bf16, 2, 8192));
  check(expected, random_gradients(Dtype::fp16, 1, 16384));
  check(expected, random_gradients(Dtype::fp32, 1, 4100));
  check(expected, random_gradients(Dtype::fp32, 1, 4101));
  check(expected, random_gradients(Dtype::fp16, 1, 65536));
}

/// The tensors that matter to what is expected.
void check_arrangements(Expected expected, const std::set<std::string>& tensors) {
  const auto check_one = [&](Dtype dtype, std::int64_t rows, std::int64_t cols,
                             const Arrangement& arrangement) {
    check(expected, random_gradients(dtype, rows, cols), arrangement);
  };
  sweep_rows(backward_function(), check_one, tensors);
  sweep_far_apart(backward_function(), check_one);
}

TEST_SUITE("layernorm/backward_fused") {
  TEST_CASE("dx of every row, in every width" * points(2) * todo(1)) {
    check_shapes(dx);
  }

  TEST_CASE("dx of more rows than there are blocks" * points(1) * todo(1)) {
    check_many_rows(dx);
  }

  TEST_CASE("dx of wide rows, to 65,536 columns" * points(1) * todo(1)) {
    check_wide_rows(dx);
  }

  TEST_CASE("dx: strides of their own, at any address" * points(1) * todo(1)) {
    check_arrangements(dx, {"dy", "x", "mean", "rstd", "weight", "dx"});
  }

  TEST_CASE("dweight and dbias of every column, over all rows" * points(2) * todo(2)) {
    check_shapes(sums);
  }

  TEST_CASE("dweight and dbias over more rows than there are blocks" * points(2) * todo(2)) {
    check_many_rows(sums);
  }

  TEST_CASE("dweight and dbias of wide rows, to 65,536 columns" * points(1) * todo(2)) {
    check_wide_rows(sums);
  }

  TEST_CASE("dweight and dbias: partial sums stay in fp32 until the very end" * points(1) *
            todo(2)) {
    for (Dtype dtype : kSixteenBit) {
      check(sums, cancelling(dtype, 67, 40));
      check(sums, scattered(dtype, 1000, 8));
    }
  }

  TEST_CASE("dweight and dbias of strided rows at any address; mean 1000" * points(1) * todo(2)) {
    check_arrangements(sums, {"dy", "x", "mean", "rstd", "dweight", "dbias"});
    check(sums, random_gradients(Dtype::fp32, 33, 70, 1000.0));
  }

  TEST_CASE("no rows: dweight and dbias are 0" * points(1) * todo(2)) {
    check(sums, random_gradients(Dtype::fp32, 1, 33), {}, "rows");
    check(sums, random_gradients(Dtype::bf16, 1, 300), {}, "rows");
  }

  TEST_CASE("20 calls give the same bits, if a fixed order was promised" * points(2) * todo(2)) {
    const Case call = backward_call(backward_function(), random_gradients(Dtype::fp32, 100, 40));
    check_repeats(call, 20, all(call));
  }

  TEST_CASE("shapes drawn at random: all three results at once" * points(1) * todo(2)) {
    draw_rows(
        backward_function(), 6,
        [](Dtype dtype, std::int64_t rows, std::int64_t cols, const Arrangement& arrangement) {
          check(all, random_gradients(dtype, rows, cols), arrangement);
        });
  }
}

}  // namespace
}  // namespace onepass::layernorm::backward_fused_checks
