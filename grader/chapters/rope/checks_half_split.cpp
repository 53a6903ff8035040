// The checks of exercise 3.3. Those of TODO 1 look at q only, with token t at row t of the tables;
// those of TODO 2 at q only; those of TODO 3 at q and k.
#include "chapters/rope/checks_q_and_k.h"
#include "chapters/rope/mistakes.h"
#include "chapters/rope/shapes.h"

namespace onepass::rope::half_split_checks {
namespace {

const Subject kQ = {&kHalfSplit, oracles_of<half_split_mistakes>, outputs_of(expected, {"q"})};
const Subject kBoth = {&kHalfSplit, oracles_of<half_split_mistakes>,
                       outputs_of(expected, {"q", "k"})};

TEST_SUITE("rope/half_split") {
  // ---- TODO 1: q, at rows 0, 1, 2, ... ----

  CHECK_CASE("heads of 2 to 258 elements: pair i is elements i and i + rotary_dim / 2", points(2),
             todo(1)) {
    check_head_dims(kQ);
  }

  CHECK_CASE("partial rotary: elements from rotary_dim on stay as they are", points(2), todo(1)) {
    check_partial_rotary(kQ);
  }

  CHECK_CASE("fp16 and bf16: the result is rounded once, at the very end", points(1), todo(1)) {
    check_rounded_once(kQ);
  }

  CHECK_CASE("tables in the tensor's own type", points(1), todo(1)) {
    check_own_tables(kQ);
  }

  CHECK_CASE("tokens of q lie q_stride elements apart, at any address", points(1), todo(1)) {
    check_arrangements(kQ, kHalfSplit.int32, {"q", "cos", "sin"});
  }

  // ---- TODO 2: positions ----

  CHECK_CASE("each token turns by the row that positions gives it", points(2), todo(2)) {
    check_positions(kQ);
  }

  CHECK_CASE("positions of 64 bits", points(1), todo(2)) {
    check_wide_positions(kQ);
  }

  CHECK_CASE("two sequences in one batch: the second begins at position 0 again", points(1),
             todo(2)) {
    check_two_sequences(kQ);
  }

  CHECK_CASE("position 32,768 and beyond, any angles: they are those of the tables", points(1),
             todo(2)) {
    check_late_positions(kQ);
  }

  // ---- TODO 3: k ----

  CHECK_CASE("k turns too, whether it has as many heads as q or fewer", points(3), todo(3)) {
    check_head_counts(kBoth);
  }

  CHECK_CASE("k, with partial rotary and tables of its own type", points(1), todo(3)) {
    for (Dtype dtype : kEveryDtype) {
      for (std::int64_t rotary_dim : {20, 32, 80}) {
        kBoth.check({.dtype = dtype,
                     .q_heads = 4,
                     .k_heads = 2,
                     .head_dim = 80,
                     .rotary_dim = rotary_dim,
                     .own_tables = rotary_dim != 20,
                     .rows = 40});
      }
    }
    check_quarter_turns(kHalfSplit.own_tables, [](const Case& call) { kBoth.expect(call); });
  }

  CHECK_CASE("q and k are slices of one tensor: each has a stride of its own", points(2), todo(3)) {
    for (Dtype dtype : kEveryDtype) {
      kBoth.check({.dtype = dtype,
                   .q_heads = 4,
                   .k_heads = 2,
                   .arrangement = {{"q", {4 * 16}}, {"k", {6 * 16}}}});
    }
    check_arrangements(kBoth, kHalfSplit.int32);
    check_arrangements(kBoth, kHalfSplit.own_tables);
  }

  CHECK_CASE("token * stride is beyond 2^31: compute it in 64 bits", points(1), todo(3)) {
    check_beyond_32_bits(kBoth);
  }

  CHECK_CASE("no tokens, one token, many tokens: each is turned", points(1), todo(3)) {
    check_sizes(kBoth);
  }

  CHECK_CASE("heads of a language model: 32 of q, 8 of k, 128 elements each", points(1), todo(3)) {
    for (Dtype dtype : kEveryDtype) {
      kBoth.check({.dtype = dtype, .tokens = 1, .q_heads = 32, .k_heads = 8, .head_dim = 128});
    }
  }

  CHECK_CASE("called again, on other numbers or the same, it is right again", points(1), todo(3)) {
    check_again(kBoth);
  }

  CHECK_CASE("shapes drawn at random, and numbers at the ends of the types, infinite and NaN",
             points(1), todo(3)) {
    check_drawn_shapes(kBoth);
  }
}

}  // namespace
}  // namespace onepass::rope::half_split_checks
