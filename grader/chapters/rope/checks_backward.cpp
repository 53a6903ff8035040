// The checks of exercise 3.2. Those of TODO 1 have 64 pairs or less: until the launcher counts its
// blocks, there is one.
#include <cmath>
#include <numeric>
#include <utility>

#include "chapters/common/check.h"
#include "chapters/rope/mistakes.h"
#include "chapters/rope/shapes.h"

namespace onepass::rope::backward_checks {
namespace {

constexpr std::int64_t kFirst = 5;  // position of token 0

verdict::Answer expect_dx(const Case& call) {
  return expect<interleaved_mistakes>(call, outputs_of(expected, {"dx"}));
}

/// Turns dy back into a dx that lies elsewhere, and looks at all of it.
Matrix check_dx(const Matrix& dy, std::int64_t heads, std::int64_t first = kFirst,
                const Arrangement& arrangement = {}) {
  const Tables angles = tables(first, dy.rows() * heads, dy.cols() / heads / 2);
  const Case call = call_of(kBackward, dy, angles, arrangement);
  return expect_dx(call)[call.place_of("dx")];
}

/// The same where dx is dy.
void check_in_place(const Matrix& dy, std::int64_t heads) {
  Arrangement arrangement;
  arrangement.over = {"dx"};
  check_dx(dy, heads, kFirst, arrangement);
}

double sum_of(const Field& field) {
  return std::accumulate(field.values.begin(), field.values.end(), 0.0);
}

/// What makes dx the gradient: for any x and dy, the sum of dy * turned(x) is that of dx * x. The
/// forward pass is the reference's; the backward pass is not looked up anywhere.
void check_adjoint(std::int64_t tokens, std::int64_t heads, std::int64_t head_dim) {
  const Dtype dtype = Dtype::fp32;
  const Matrix dy = random_x(dtype, tokens, heads * head_dim, 1.0, "dy");
  const Tables angles = tables(kFirst, tokens, head_dim / 2);
  const Case call = call_of(kBackward, dy, angles);
  const verdict::Answer answer = expect_dx(call);

  const Case forward = call_of(kInterleaved, random_x(dtype, tokens, heads * head_dim), angles);
  const Heads heads_of_x = heads_of(forward, "x");
  const double with_y = sum_of(product(dy.field(), turned(heads_of_x)));
  const double with_x = sum_of(product(answer["dx"].field(), heads_of_x.x));
  // Every element of dx may be off by a unit in the last place.
  const double room = sum_of(magnitudes(heads_of_x.x)) * 2.0 * verdict::ulp(dtype, 4.0);
  if (!(std::abs(with_y - with_x) <= room)) {
    verdict::Failure failure{.expected = verdict::show(with_y, with_x),
                             .got = verdict::show(with_x, with_y)};
    failure.message = "dx is no gradient: the sum of dx * x is " + failure.got +
                      ", and the sum of dy * y is " + failure.expected + "; they must be equal.";
    session().fail(call, failure);
  }
}

TEST_SUITE("rope/backward") {
  CHECK_CASE("one token: each pair of dy is turned back by its angle", points(2), todo(1)) {
    for (Dtype dtype : kEveryDtype) {
      for (std::int64_t head_dim : head_dims()) {
        check_dx(random_x(dtype, 1, head_dim), 1);
      }
    }
  }

  CHECK_CASE("a few tokens and heads: each pair has its token's row and its own column", points(1),
             todo(1)) {
    for (Dtype dtype : kEveryDtype) {
      check_dx(random_x(dtype, 3, 2 * 16), 2);
      check_dx(random_x(dtype, 2, 3 * 10), 3);
      check_dx(random_x(dtype, 3, 2 * 16), 2, 32768);
    }
    check_any_numbers(kBackward, expect_dx);
    check_quarter_turns(kBackward, expect_dx);
  }

  CHECK_CASE("dx may be dy itself", points(2), todo(1)) {
    for (Dtype dtype : kEveryDtype) {
      check_in_place(random_x(dtype, 3, 2 * 16), 2);
      check_in_place(random_x(dtype, 2, 3 * 10), 3);
    }
  }

  CHECK_CASE("fp16 and bf16: dx is rounded once, at the very end", points(1), todo(1)) {
    for (Dtype dtype : kSixteenBit) {
      check_dx(random_x(dtype, 1, 128), 1);
      check_dx(random_x(dtype, 1, 66, 1e-3), 1);
    }
  }

  CHECK_CASE("dy, dx and the tables may start at any address", points(1), todo(1)) {
    sweep(kBackward, [](Dtype dtype, std::size_t number, const verdict::contract::Way& way) {
      const std::int64_t head_dim = (number % 2 == 0 ? 64 : 16) + 2 * way.row(0, 1);
      check_dx(random_x(dtype, 1, head_dim), 1, kFirst, way.arrangement);
    });
  }

  CHECK_CASE("many pairs: there are blocks for all of them, and none beyond", points(2), todo(2)) {
    for (Dtype dtype : kEveryDtype) {
      check_dx(random_x(dtype, 7, 5 * 100), 5);
      check_dx(random_x(dtype, 4, 4 * 256), 4);
      check_dx(random_x(dtype, 33, 34), 1);
    }
  }

  CHECK_CASE("many pairs, in place and at any address", points(1), todo(2)) {
    for (Dtype dtype : kEveryDtype) {
      check_in_place(random_x(dtype, 5, 8 * 80), 8);
      check_in_place(random_x(dtype, 5, 7 * 66), 7);
    }
    sweep(kBackward, [](Dtype dtype, std::size_t, const verdict::contract::Way& way) {
      check_dx(random_x(dtype, 3, 2 * (64 + 2 * way.row(0, 1))), 2, kFirst, way.arrangement);
    });
  }

  CHECK_CASE("dx is the gradient: the sum of dx * x is the sum of dy * y", points(1), todo(2)) {
    check_adjoint(4, 4, 64);
    check_adjoint(3, 3, 34);
  }

  CHECK_CASE("no tokens, many tokens: each is turned back", points(1), todo(2)) {
    check_dx(random_x(Dtype::fp32, 300, 3 * 2), 3);
    expect_nothing_done(kBackward);
    check_long_walks(kBackward, expect_dx);
    sweep_large_sizes(kBackward, {{"tokens"}, {"heads"}, {"head_dim"}}, expect_dx);
    check_far_tokens(kBackward, outputs_of(expected, {"dx"}));
  }

  CHECK_CASE("called again, on other numbers or the same, it is right again", points(1), todo(2)) {
    for (int repeat = 0; repeat < 4; ++repeat) {
      check_dx(random_x(Dtype::fp32, 4, 6 * 40), 6);
      check_in_place(random_x(Dtype::bf16, 2 + repeat, 3 * 256), 3);
    }
    check_side_by_side(
        [](std::int64_t tokens) { check_dx(random_x(Dtype::fp32, tokens, 6 * 40), 6); });
    check_every_size(kBackward, expect_dx);
  }

  CHECK_CASE("shapes drawn at random, and numbers at the ends of the types, infinite and NaN",
             points(1), todo(2)) {
    for (std::uint64_t number = 0; number < 6; ++number) {
      const DrawnShape shape = drawn_shape(number);
      for (const Arrangement& arrangement : drawn_arrangements(kBackward, number)) {
        check_dx(random_x(shape.dtype, shape.tokens, shape.heads * shape.head_dim), shape.heads,
                 shape.first, arrangement);
      }
    }
    sweep_values(4, 3 * 64, [](const Matrix& dy, double) { check_dx(dy, 3); });
    check_small_and_ends(kBackward, expect_dx);
    const auto with_heads_of = [](std::int64_t head_dim) {
      const std::int64_t even = head_dim + head_dim % 2;
      return call_of(kBackward, random_x(Dtype::fp16, 4, 3 * even), tables(kFirst, 4, even / 2));
    };
    const Outputs outputs = outputs_of(expected, {"dx"});
    check_not_finite(with_heads_of(64), outputs, expect<interleaved_mistakes>);
    check_each_kernel_not_finite(kBackward, "head_dim", with_heads_of, outputs,
                                 expect<interleaved_mistakes>);
  }
}

}  // namespace
}  // namespace onepass::rope::backward_checks
