// The checks of exercise 3.5. Those of TODO 1 look at q in calls in which nothing turns; those of
// TODO 2 at q only; those of TODO 3 at q and k.
#include "chapters/common/requests.h"
#include "chapters/common/speed.h"
#include "chapters/rope/checks_q_and_k.h"
#include "chapters/rope/mistakes.h"
#include "chapters/rope/shapes.h"

namespace onepass::rope::qk_norm_checks {
namespace {

const Subject kQ = {&kQkNorm, oracles_of<qk_norm_mistakes>, outputs_of(expected, {"q"})};
const Subject kBoth = {&kQkNorm, oracles_of<qk_norm_mistakes>, outputs_of(expected, {"q", "k"})};

/// All tokens at position 0, where nothing turns: what comes out is the norm's.
void check_norm(Shape shape) {
  shape.first = 0;
  shape.ids.assign(static_cast<std::size_t>(shape.tokens), 0);
  kQ.check(shape);
}

void moved_once(const Case& call, const verdict::Traffic& traffic) {
  for (const char* tensor : {"q", "k"}) {
    require_loaded_once(call, traffic, tensor);
    require_stored_once(call, traffic, tensor);
  }
}

void check_loaded_once(const Shape& shape) {
  count<qk_norm_mistakes>(kBoth.call_of(shape), kBoth.outputs, moved_once);
}

/// More tokens, heads of q and heads of k than a grid's y can have. A head may be a warp or a block
/// of threads: a sample of them runs.
void check_many_heads() {
  constexpr std::int64_t kMany = 65'537;
  const verdict::Session::Sampling sampled(session(), verdict::Session::Sample::of_many);
  kBoth.check({.dtype = Dtype::fp16, .tokens = kMany, .q_heads = 1, .head_dim = 4});
  kBoth.check({.dtype = Dtype::bf16, .tokens = 1, .q_heads = kMany, .head_dim = 4});
  kBoth.check({.dtype = Dtype::fp32, .tokens = 1, .k_heads = kMany, .head_dim = 4});
}

TEST_SUITE("rope/qk_norm") {
  // ---- TODO 1: the norm of q's heads ----

  CHECK_CASE("heads of 2 to 1,024 elements: each is normalised by its own squares", points(3),
             todo(1)) {
    for (Dtype dtype : kEveryDtype) {
      for (std::int64_t head_dim : head_dims()) {
        check_norm({.dtype = dtype, .tokens = 2, .head_dim = head_dim});
      }
      for (std::int64_t head_dim : {260, 512, 1000, 1024}) {
        check_norm({.dtype = dtype, .tokens = 1, .head_dim = head_dim});
      }
    }
  }

  CHECK_CASE("eps is added to the mean of the squares, under the root", points(2), todo(1)) {
    for (Dtype dtype : kEveryDtype) {
      for (double eps : {1e-6, 1e-5, 0.5}) {
        check_norm({.dtype = dtype, .head_dim = 128, .deviation = 1e-3, .eps = eps});
        check_norm({.dtype = dtype, .head_dim = 30, .deviation = 1.0, .eps = eps});
      }
    }
  }

  CHECK_CASE("heads of which a part is in no pair are normalised whole", points(2), todo(1)) {
    for (Dtype dtype : kEveryDtype) {
      for (std::int64_t rotary_dim : {2, 16, 32, 62}) {
        check_norm({.dtype = dtype, .head_dim = 64, .rotary_dim = rotary_dim});
      }
    }
  }

  // ---- TODO 2: then q is turned ----

  CHECK_CASE("heads of 2 to 258 elements: what is normalised is turned", points(2), todo(2)) {
    check_head_dims(kQ);
  }

  CHECK_CASE("partial rotary: elements from rotary_dim on are normalised and not turned", points(2),
             todo(2)) {
    check_partial_rotary(kQ);
  }

  CHECK_CASE("fp16 and bf16: nothing is rounded between the two, and the result once", points(2),
             todo(2)) {
    check_rounded_once(kQ);
  }

  CHECK_CASE("each token turns by the row that positions gives it", points(1), todo(2)) {
    check_positions(kQ);
    check_wide_positions(kQ);
    check_two_sequences(kQ);
    check_late_positions(kQ);
  }

  CHECK_CASE("tables in the tensor's own type", points(1), todo(2)) {
    check_own_tables(kQ);
  }

  // ---- TODO 3: k ----

  CHECK_CASE("k has a weight of its own, whether it has as many heads as q or fewer", points(3),
             todo(3)) {
    check_head_counts(kBoth);
  }

  CHECK_CASE("q and k are slices of one tensor: each has a stride of its own", points(2), todo(3)) {
    for (Dtype dtype : kEveryDtype) {
      kBoth.check({.dtype = dtype,
                   .q_heads = 4,
                   .k_heads = 2,
                   .arrangement = {{"q", {4 * 16}}, {"k", {6 * 16}}}});
    }
    check_arrangements(kBoth, kQkNorm.int32);
    check_arrangements(kBoth, kQkNorm.own_tables);
  }

  CHECK_CASE("each element of q and k is loaded once", points(2), todo(3)) {
    for (Dtype dtype : kEveryDtype) {
      check_loaded_once({.dtype = dtype, .q_heads = 4, .k_heads = 2, .head_dim = 128});
      check_loaded_once({.dtype = dtype, .q_heads = 3, .head_dim = 66, .rotary_dim = 34});
      check_loaded_once({.dtype = dtype, .tokens = 1, .q_heads = 1, .head_dim = 1024});
      count_other_ways<qk_norm_mistakes>(kBoth.call_of({.dtype = dtype, .head_dim = 64}), true,
                                         kBoth.outputs, moved_once);
    }
    for_ends_of_kernels(kQkNorm.int32, {"head_dim", 1, 1024},
                        [](Dtype dtype, std::int64_t, std::int64_t head_dim) {
                          check_loaded_once({.dtype = dtype, .head_dim = head_dim + head_dim % 2});
                        });
    for_kernels_of_many(kQkNorm.int32, "tokens", kNarrow, [](Dtype dtype, std::int64_t tokens) {
      check_loaded_once(
          {.dtype = dtype, .tokens = tokens, .q_heads = 1, .k_heads = 1, .head_dim = 16});
    });
  }

  CHECK_CASE("token * stride is beyond 2^31: compute it in 64 bits", points(1), todo(3)) {
    check_beyond_32_bits(kBoth);
  }

  CHECK_CASE("no tokens, one token, many tokens: each is turned", points(1), todo(3)) {
    kBoth.check({.tokens = 1, .head_dim = 4});
    expect_nothing_done(kQkNorm.int32);
    kBoth.check({.tokens = 129, .head_dim = 4});
    check_many_heads();
    check_long_walks(kQkNorm.int32, [](const Case& call) { kBoth.expect(call); });
    sweep_large_sizes(kQkNorm.int32, {{"head_dim"}, {"rotary_dim", "head_dim"}},
                      [](const Case& call) { kBoth.expect(call); });
  }

  CHECK_CASE("called again, on other numbers or the same, it is right again", points(1), todo(3)) {
    check_again(kBoth);
  }

  CHECK_CASE("shapes drawn at random, and numbers at the ends of the types, infinite and NaN",
             points(1), todo(3)) {
    check_drawn_shapes(kBoth);
  }

  // ---- Speed ----

  SPEED_CHECKS(3, kBoth.check({.dtype = Dtype::bf16, .tokens = 3}))
}

}  // namespace
}  // namespace onepass::rope::qk_norm_checks
