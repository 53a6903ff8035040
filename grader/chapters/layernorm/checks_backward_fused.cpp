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

const Outputs kDx = {expected_dx};
const Outputs kSums = {expected_dweight, expected_dbias};
const Outputs kAll = {expected_dx, expected_dweight, expected_dbias};

void check(const Outputs& outputs, Gradients inputs, const Arrangement& arrangement = {},
           const char* none = "") {
  static const std::vector<verdict::Oracle> mistakes = backward_mistakes();
  const Case call = backward_call(kBackward, std::move(inputs), arrangement, none);
  session().expect(call, expectations(outputs, call), mistakes);
}

void check_shapes(const Outputs& outputs) {
  for (Dtype dtype : kEveryDtype) {
    check(outputs, random_gradients(dtype, 17, 17));  // square: swapped axes stay inside
    for (std::int64_t rows : {1, 2, 7, 33}) {
      check(outputs, random_gradients(dtype, rows, 5));
    }
    for (std::int64_t cols : {1, 31, 33, 257, 1000, 1024, 1025}) {
      check(outputs, random_gradients(dtype, 2, cols));
    }
  }
}

/// More rows than there are blocks: each block has several.
void check_many_rows(const Outputs& outputs) {
  check(outputs, random_gradients(Dtype::fp32, 1031, 3));  // a prime
  check(outputs, random_gradients(Dtype::fp32, 1031, 3), {{"dy", {2}}, {"x", {4}}, {"dx", {1}}});
  check(outputs, random_gradients(Dtype::fp16, 700, 64));
  check(outputs, random_gradients(Dtype::fp16, 514, 257));  // several warps a block
  if (session().device() == "gpu") {
    check(outputs, random_gradients(Dtype::fp16, 65537, 3));
    check(outputs, random_gradients(Dtype::bf16, 3000, 4096));
    check(outputs, random_gradients(Dtype::fp32, 3000, 1000));
  }
}

/// As wide as a thread's registers reach, and wider.
void check_wide_rows(const Outputs& outputs) {
  check(outputs, random_gradients(Dtype::fp16, 2, 4096));
  check(outputs, random_gradients(Dtype::bf16, 2, 8192));
  check(outputs, random_gradients(Dtype::fp16, 1, 16384));
  check(outputs, random_gradients(Dtype::fp32, 1, 4100));
  check(outputs, random_gradients(Dtype::fp32, 1, 4101));
  check(outputs, random_gradients(Dtype::fp16, 1, 65536));
}

/// The tensors that matter to what is expected.
void check_arrangements(const Outputs& outputs, const std::set<std::string>& tensors) {
  const auto check_one = [&](Dtype dtype, std::int64_t rows, std::int64_t cols,
                             const Arrangement& arrangement) {
    check(outputs, random_gradients(dtype, rows, cols), arrangement);
  };
  sweep_rows(kBackward, check_one, tensors);
  sweep_far_apart(kBackward, check_one);
}

TEST_SUITE("layernorm/backward_fused") {
  TEST_CASE("dx of every row, in every width" * points(2) * todo(1)) {
    check_shapes(kDx);
  }

  TEST_CASE("dx of more rows than there are blocks" * points(1) * todo(1)) {
    check_many_rows(kDx);
  }

  TEST_CASE("dx of wide rows, to 65,536 columns" * points(1) * todo(1)) {
    check_wide_rows(kDx);
  }

  TEST_CASE("dx: strides of their own, at any address" * points(1) * todo(1)) {
    check_arrangements(kDx, {"dy", "x", "mean", "rstd", "weight", "dx"});
  }

  TEST_CASE("dweight and dbias of every column, over all rows" * points(2) * todo(2)) {
    check_shapes(kSums);
  }

  TEST_CASE("dweight and dbias over more rows than there are blocks" * points(2) * todo(2)) {
    check_many_rows(kSums);
  }

  TEST_CASE("dweight and dbias of wide rows, to 65,536 columns" * points(1) * todo(2)) {
    check_wide_rows(kSums);
  }

  TEST_CASE("dweight and dbias: partial sums stay in fp32 until the very end" * points(1) *
            todo(2)) {
    for (Dtype dtype : kSixteenBit) {
      check(kSums, cancelling(dtype, 67, 40));
      check(kSums, scattered(dtype, 1000, 8));
    }
  }

  TEST_CASE("dweight and dbias of strided rows at any address; mean 1000" * points(1) * todo(2)) {
    check_arrangements(kSums, {"dy", "x", "mean", "rstd", "dweight", "dbias"});
    check(kSums, random_gradients(Dtype::fp32, 33, 70, 1000.0));
  }

  TEST_CASE("no rows: dweight and dbias are 0" * points(1) * todo(2)) {
    check(kSums, random_gradients(Dtype::fp32, 1, 33), {}, "rows");
    check(kSums, random_gradients(Dtype::bf16, 1, 300), {}, "rows");
  }

  TEST_CASE("20 calls give the same bits, if a fixed order was promised" * points(2) * todo(2)) {
    const Case call = backward_call(kBackward, random_gradients(Dtype::fp32, 100, 40));
    check_repeats(call, 20, expectations(kAll, call));
  }

  TEST_CASE("shapes drawn at random: all three results at once" * points(1) * todo(2)) {
    draw_rows(
        kBackward, 6,
        [](Dtype dtype, std::int64_t rows, std::int64_t cols, const Arrangement& arrangement) {
          check(kAll, random_gradients(dtype, rows, cols), arrangement);
        });
  }
}

}  // namespace
}  // namespace onepass::layernorm::backward_fused_checks
