// The checks of exercise 3.1. Those of TODO 1 have a single token: until a pair's token is found,
// all are taken for token 0.
#include <algorithm>
#include <cmath>
#include <utility>

#include "chapters/common/check.h"
#include "chapters/rope/mistakes.h"
#include "chapters/rope/shapes.h"
#include "verdict/compare.h"

namespace onepass::rope::interleaved_checks {
namespace {

// Where the tables begin: at position 0 nothing turns.
constexpr std::int64_t kFirst = 5;

verdict::Answer expect_x(const Case& call) {
  return expect<interleaved_mistakes>(call, outputs_of(expected, {"x"}));
}

/// Turns x, whose token t is at position first + t, and looks at all of it. The tables have as many
/// rows as there are heads, so that who takes a head for a token stays inside of them.
Matrix check_turned(Matrix x, std::int64_t heads, std::int64_t first = kFirst,
                    const Arrangement& arrangement = {}) {
  const std::int64_t half = x.cols() / heads / 2;
  Tables angles = tables(first, x.rows() * heads, half);
  const Case call = call_of(kInterleaved, std::move(x), std::move(angles), arrangement);
  return expect_x(call)["x"];
}

/// Does every pair have the length it had before? A rotation keeps it.
void check_lengths(Dtype dtype, std::int64_t tokens, std::int64_t heads, std::int64_t head_dim) {
  const Matrix x = random_x(dtype, tokens, heads * head_dim);
  const Case call = call_of(kInterleaved, x, tables(kFirst, tokens, head_dim / 2));
  const verdict::Answer answer = expect_x(call);
  const Matrix& after = answer["x"];
  for (std::int64_t token = 0; token < tokens; ++token) {
    for (std::int64_t col = 0; col < heads * head_dim; col += 2) {
      const double before = std::hypot(x.get(token, col), x.get(token, col + 1));
      const double now = std::hypot(after.get(token, col), after.get(token, col + 1));
      // Each element is off by half a unit in the last place at most, and by a little of fp32's.
      const double room = verdict::ulp(dtype, before) + verdict::ulp(Dtype::fp32, 8.0 * before);
      if (!(std::abs(now - before) <= room)) {
        verdict::Failure failure{.where = verdict::element_name("x", x, {token, col}),
                                 .expected = verdict::show(before, now),
                                 .got = verdict::show(now, before)};
        failure.message = "A rotation keeps the length sqrt(a^2 + b^2) of a pair. The pair at " +
                          failure.where + " had length " + failure.expected + " and now has " +
                          failure.got + ".";
        session().fail(call, failure);
      }
    }
  }
}

/// Turns x, then turns what comes out by the negative angles: that is x again.
void check_there_and_back(Dtype dtype, std::int64_t tokens, std::int64_t heads,
                          std::int64_t head_dim) {
  const Matrix x = random_x(dtype, tokens, heads * head_dim);
  Matrix turned = check_turned(x, heads);
  Tables back = tables(kFirst, tokens, head_dim / 2);
  back.sin = changed(back.sin, [](auto, auto, double sin) { return -sin; });
  const Case call = call_of(kInterleaved, std::move(turned), std::move(back));
  verdict::Expectation original = expected(call, "x");
  original.value = x.field();
  // Both elements of the pair were rounded when it was turned the first time.
  original.bound = added(
      original.bound, verdict::field_of(tokens, x.cols(), [&](auto token, auto col) {
        return 2.0 * verdict::ulp(dtype, std::hypot(x.get(token, col), x.get(token, col ^ 1)));
      }));
  session().expect(call, {[&](const Case&) { return original; }});
}

/// Every way that x and the tables may lie, heads that are whole vectors and heads that are not.
void check_arrangements(std::int64_t tokens, std::int64_t heads) {
  sweep(kInterleaved, [&](Dtype dtype, std::size_t number, const verdict::contract::Way& way) {
    const std::int64_t head_dim = (number % 2 == 0 ? 64 : 96) + 2 * way.row(0, 1);
    check_turned(random_x(dtype, tokens, heads * head_dim), heads, kFirst, way.arrangement);
  });
}

TEST_SUITE("rope/interleaved") {
  CHECK_CASE("one token, one head of 2 to 258 elements: pair i is elements 2i and 2i + 1",
             points(2), todo(1)) {
    for (Dtype dtype : kEveryDtype) {
      for (std::int64_t head_dim : head_dims()) {
        check_turned(random_x(dtype, 1, head_dim), 1);
      }
    }
  }

  CHECK_CASE("one token, several heads: each turns by the same angles", points(1), todo(1)) {
    for (Dtype dtype : kEveryDtype) {
      for (std::int64_t heads : {2, 3, 8}) {
        const std::int64_t half = 33;
        const Case call =
            call_of(kInterleaved, random_x(dtype, 1, heads * 2 * half), tables(kFirst, 1, half));
        expect_x(call);
      }
    }
  }

  CHECK_CASE("fp16 and bf16: the result is rounded once, at the very end", points(2), todo(1)) {
    for (Dtype dtype : kSixteenBit) {
      check_turned(random_x(dtype, 1, 2 * 128), 1);
      check_turned(random_x(dtype, 1, 128, 1000.0), 1);
      check_turned(random_x(dtype, 1, 66, 1e-3), 1);
    }
  }

  CHECK_CASE("x and the tables may start at any address", points(1), todo(1)) {
    check_arrangements(1, 1);
  }

  CHECK_CASE("several tokens: each turns by its own row of the tables, whatever the head",
             points(3), todo(2)) {
    for (Dtype dtype : kEveryDtype) {
      for (std::int64_t tokens : {2, 3, 7}) {
        for (std::int64_t heads : {1, 2, 5}) {
          check_turned(random_x(dtype, tokens, heads * 16), heads);
          check_turned(random_x(dtype, tokens, heads * 30), heads);
        }
      }
    }
  }

  CHECK_CASE("heads of 2 to 258 elements: a pair's number within its head is its angle's column",
             points(1), todo(2)) {
    for (Dtype dtype : kEveryDtype) {
      for (std::int64_t head_dim : head_dims()) {
        check_turned(random_x(dtype, 3, 2 * head_dim), 2);
      }
    }
  }

  CHECK_CASE("position 32,768 and beyond, any angles: they are those of the tables", points(1),
             todo(2)) {
    for (Dtype dtype : kEveryDtype) {
      check_turned(random_x(dtype, 3, 2 * 128), 2, 32768);
      check_turned(random_x(dtype, 3, 2 * 64), 2, 1000003);
    }
    check_any_numbers(kInterleaved, expect_x);
    check_quarter_turns(kInterleaved, expect_x);
  }

  CHECK_CASE("a rotation keeps the length of every pair", points(1), todo(2)) {
    for (Dtype dtype : kEveryDtype) {
      check_lengths(dtype, 3, 4, 80);
    }
  }

  CHECK_CASE("turned by the negative angles afterwards, x is what it was", points(1), todo(2)) {
    for (Dtype dtype : kEveryDtype) {
      check_there_and_back(dtype, 3, 4, 64);
      check_there_and_back(dtype, 2, 3, 34);
    }
  }

  CHECK_CASE("several tokens at any address", points(1), todo(2)) {
    check_arrangements(3, 2);
  }

  CHECK_CASE("no tokens, one token, many tokens: each is turned", points(1), todo(2)) {
    check_turned(random_x(Dtype::fp32, 1, 64), 1);
    expect_nothing_done(kInterleaved);
    check_turned(random_x(Dtype::fp16, 257, 3 * 6), 3);
    check_long_walks(kInterleaved, expect_x);
    sweep_large_sizes(kInterleaved, {{"tokens"}, {"heads"}, {"head_dim"}}, expect_x);
    check_far_tokens(kInterleaved, outputs_of(expected, {"x"}));
  }

  CHECK_CASE("called again, on other numbers or the same, it is right again", points(1), todo(2)) {
    for (int repeat = 0; repeat < 4; ++repeat) {
      check_turned(random_x(Dtype::fp32, 4, 2 * 20), 2);
      check_turned(random_x(Dtype::bf16, 2 + repeat, 3 * 16), 3);
    }
    check_side_by_side(
        [](std::int64_t tokens) { check_turned(random_x(Dtype::fp32, tokens, 6 * 40), 6); });
    check_every_size(kInterleaved, expect_x);
  }

  CHECK_CASE("shapes drawn at random, and numbers at the ends of the types, infinite and NaN",
             points(1), todo(2)) {
    for (std::uint64_t number = 0; number < 6; ++number) {
      const DrawnShape shape = drawn_shape(number);
      for (const Arrangement& arrangement : drawn_arrangements(kInterleaved, number)) {
        check_turned(random_x(shape.dtype, shape.tokens, shape.heads * shape.head_dim), shape.heads,
                     shape.first, arrangement);
      }
    }
    sweep_values(4, 3 * 64, [](const Matrix& x, double) { check_turned(x, 3); });
    check_small_and_ends(kInterleaved, expect_x);
    const auto with_heads_of = [](std::int64_t head_dim) {
      const std::int64_t even = head_dim + head_dim % 2;
      return call_of(kInterleaved, random_x(Dtype::fp16, 4, 3 * even), tables(kFirst, 4, even / 2));
    };
    const Outputs outputs = outputs_of(expected, {"x"});
    check_not_finite(with_heads_of(64), outputs, expect<interleaved_mistakes>);
    check_each_kernel_not_finite(kInterleaved, "head_dim", with_heads_of, outputs,
                                 expect<interleaved_mistakes>);
  }
}

}  // namespace
}  // namespace onepass::rope::interleaved_checks
