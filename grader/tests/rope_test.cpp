// Chapter 3's reference against numbers worked out by hand, and its mistakes against each other.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "chapters/rope/calls.h"
#include "chapters/rope/mistakes.h"
#include "chapters/rope/reference.h"
#include "chapters/rope/shapes.h"
#include "tests/told_apart.h"
#include "verdict/values/random.h"

using namespace onepass::rope;
using onepass::Pairing;
using onepass::tests::not_told_apart;
using onepass::verdict::Random;

namespace {

Field row_of(const std::vector<double>& values) {
  Field field(1, static_cast<std::int64_t>(values.size()));
  field.values = values;
  return field;
}

/// One head of four elements, whose first pair turns by 90 degrees and whose second by the angle of
/// (0.6, 0.8).
Heads one_head(Pairing pairing) {
  Heads heads;
  heads.x = row_of({1.0, 2.0, 3.0, 4.0});
  heads.head_dim = 4;
  heads.pairing = pairing;
  heads.cos = row_of({0.0, 0.6});
  heads.sin = row_of({1.0, 0.8});
  heads.rows = {0};
  return heads;
}

void check_values(const Field& got, const std::vector<double>& expected) {
  REQUIRE(got.values.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(got.values[i] == doctest::Approx(expected[i]));
  }
}

Matrix normal(std::uint64_t seed, Dtype dtype, std::int64_t tokens, std::int64_t cols) {
  return Random(seed).normal_matrix(dtype, tokens, cols);
}

std::vector<Case> calls_of(const Function& function, const Arrangement& arrangement = {}) {
  std::vector<Case> calls;
  std::uint64_t seed = 0;
  for (Dtype dtype : kEveryDtype) {
    for (std::int64_t heads : {1, 2, 5}) {
      for (std::int64_t head_dim : {16, 30, 128}) {
        const Tables angles = tables(5, 3 * heads, head_dim / 2);
        calls.push_back(
            call_of(function, normal(++seed, dtype, 3, heads * head_dim), angles, arrangement));
      }
    }
  }
  return calls;
}

std::vector<Case> calls_of(const OnQAndK& functions) {
  std::vector<Case> calls;
  std::uint64_t seed = 100;
  const auto add = [&](Dtype dtype, Dtype position_dtype, std::int64_t rotary_dim,
                       std::int64_t first, const std::vector<std::int64_t>& ids,
                       std::int64_t k_heads) {
    const auto tokens = static_cast<std::int64_t>(ids.size());
    QAndK arguments;
    arguments.q = normal(++seed, dtype, tokens, 4 * 16);
    arguments.k = normal(++seed, dtype, tokens, k_heads * 16);
    arguments.q_heads = 4;
    arguments.k_heads = k_heads;
    arguments.positions = positions(position_dtype, ids);
    arguments.tables = tables(first, 60, rotary_dim / 2);
    calls.push_back(q_and_k_call(functions, std::move(arguments)));
  };
  for (Dtype dtype : kEveryDtype) {
    for (Dtype position_dtype : {Dtype::int32, Dtype::int64}) {
      add(dtype, position_dtype, 16, 5, {31, 7, 18, 49, 3}, 2);
      add(dtype, position_dtype, 16, 0, {31, 7, 18, 49, 3}, 4);
      add(dtype, position_dtype, 6, 5, {7, 7, 19, 0, 3}, 2);
      add(dtype, position_dtype, 16, 5, {9, 10, 11}, 1);
    }
  }
  return calls;
}

/// Heads wider than a block has threads; numbers beside which eps counts, and whose squares no fp16
/// holds.
std::vector<Case> qk_norm_calls() {
  struct Numbers {
    std::int64_t head_dim, rotary_dim;
    double size, eps;
  };
  std::vector<Case> calls;
  std::uint64_t seed = 200;
  const auto scaled = [&](Dtype dtype, std::int64_t tokens, std::int64_t cols, double size) {
    Field values = normal(++seed, dtype, tokens, cols).field();
    for (double& value : values.values) {
      value *= size;
    }
    return Matrix::rounded(dtype, values);
  };
  for (Dtype dtype : kEveryDtype) {
    for (const Numbers& n : std::vector<Numbers>{{128, 64, 1.0, 1e-6},
                                                 {1000, 1000, 1e-3, 1e-6},
                                                 {600, 300, 80.0, 1e-5},
                                                 {1000, 500, 3e-4, 1e-8},
                                                 {66, 66, 1.0, 0.5}}) {
      QAndK arguments;
      arguments.q_heads = 4;
      arguments.k_heads = 2;
      arguments.q = scaled(dtype, 5, 4 * n.head_dim, n.size);
      arguments.k = scaled(dtype, 5, 2 * n.head_dim, n.size);
      arguments.q_weight = scaled(dtype, 1, n.head_dim, 1.0);
      arguments.k_weight = scaled(dtype, 1, n.head_dim, 1.0);
      arguments.positions = positions(Dtype::int64, {31, 7, 18, 49, 3});
      arguments.tables = tables(5, 130, n.rotary_dim / 2);
      arguments.eps = n.eps;
      calls.push_back(q_and_k_call(kQkNorm, std::move(arguments)));
    }
  }
  return calls;
}

}  // namespace

TEST_CASE("neighbours are turned: (1, 2) by 90 degrees, (3, 4) by cos 0.6 and sin 0.8") {
  check_values(turned(one_head(Pairing::interleaved)),
               {-2.0, 1.0, 3.0 * 0.6 - 4.0 * 0.8, 3.0 * 0.8 + 4.0 * 0.6});
  Heads back = one_head(Pairing::interleaved);
  back.backward = true;
  check_values(turned(back), {2.0, -1.0, 3.0 * 0.6 + 4.0 * 0.8, 4.0 * 0.6 - 3.0 * 0.8});
}

TEST_CASE("split halves: (1, 3) by 90 degrees, (2, 4) by cos 0.6 and sin 0.8") {
  check_values(turned(one_head(Pairing::split)),
               {-3.0, 2.0 * 0.6 - 4.0 * 0.8, 1.0, 2.0 * 0.8 + 4.0 * 0.6});
}

TEST_CASE("partial rotary: elements in no pair stay as they are") {
  Heads heads = one_head(Pairing::split);
  heads.cos = row_of({0.0});
  heads.sin = row_of({1.0});
  check_values(turned(heads), {-2.0, 1.0, 3.0, 4.0});
}

TEST_CASE("a token takes the row of the tables that it is given, in all of its heads") {
  Heads heads;
  heads.x = Field(2, 4);  // two tokens of two heads, a pair each
  heads.x.values = {1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0};
  heads.heads = 2;
  heads.cos = Field(2, 1);
  heads.sin = Field(2, 1);
  heads.cos.values = {1.0, 0.0};  // row 0 turns by nothing, row 1 by 90 degrees
  heads.sin.values = {0.0, 1.0};
  heads.rows = {1, 0};
  check_values(turned(heads), {0.0, 1.0, -1.0, 0.0, 1.0, 0.0, 0.0, 1.0});
}

TEST_CASE("normalised, then turned: the weight and what is not turned belong to the norm") {
  // A head (3, 1, 4, 2) with a mean square of 7.5 and 0.0 for eps; its pair (3, 1) turns by 90
  // degrees.
  const auto matrix = [](const std::vector<double>& values) {
    return Matrix::rounded(Dtype::fp32, row_of(values));
  };
  const Case call = q_and_k_call(kQkNorm, {.q = matrix({3.0, 1.0, 4.0, 2.0}),
                                           .k = matrix({3.0, 1.0, 4.0, 2.0}),
                                           .positions = positions(Dtype::int32, {0}),
                                           .tables = {matrix({0.0}), matrix({1.0})},
                                           .q_weight = matrix({1.0, 2.0, 3.0, 4.0}),
                                           .k_weight = matrix({1.0, 1.0, 1.0, 1.0}),
                                           .eps = 0.0,
                                           .arrangement = {}});
  const double rstd = 1.0 / std::sqrt(7.5);
  check_values(expected(call, "q").value, {-2.0 * rstd, 3.0 * rstd, 12.0 * rstd, 8.0 * rstd});
  check_values(expected(call, "k").value, {-rstd, 3.0 * rstd, 4.0 * rstd, 2.0 * rstd});
}

TEST_CASE("turned and turned back, x is what it was; and every pair keeps its length") {
  const Case call = call_of(kInterleaved, normal(3, Dtype::fp32, 4, 2 * 20), tables(7, 4, 10));
  Heads heads = heads_of(call, "x");
  const Field x = heads.x;
  const Field y = turned(heads);
  for (std::int64_t token = 0; token < 4; ++token) {
    for (std::int64_t col = 0; col < 40; col += 2) {
      CHECK(std::hypot(y(token, col), y(token, col + 1)) ==
            doctest::Approx(std::hypot(x(token, col), x(token, col + 1))));
    }
  }
  heads.x = y;
  heads.backward = true;
  check_values(turned(heads), x.values);
}

TEST_CASE("the tables: pair i of 4 at position 2 turns by 2 * base^(-i / 2)") {
  const Tables angles = tables(2, 1, 2);
  CHECK(angles.cos.get(0, 0) == doctest::Approx(std::cos(2.0)));
  CHECK(angles.sin.get(0, 1) == doctest::Approx(std::sin(2.0 / 100.0)));
}

TEST_CASE("each mistake of rope/interleaved is told from the right result and from the others") {
  CHECK(not_told_apart(calls_of(kInterleaved), interleaved_mistakes(),
                       [](const Case& call) { return std::vector{expected(call, "x")}; }) == "");
}

TEST_CASE("each mistake of rope/backward is told from the right result and from the others") {
  Arrangement in_place;
  in_place.over = {"dx"};
  for (const Arrangement& arrangement : {Arrangement{}, in_place}) {
    CHECK(not_told_apart(calls_of(kBackward, arrangement), interleaved_mistakes(),
                         [](const Case& made) { return std::vector{expected(made, "dx")}; }) == "");
  }
}

TEST_CASE("each mistake on q and k is told from the right result and from the others") {
  const auto both = [](const Case& call) {
    return std::vector{expected(call, "q"), expected(call, "k")};
  };
  CHECK(not_told_apart(calls_of(kHalfSplit), half_split_mistakes(), both) == "");
  CHECK(not_told_apart(calls_of(kFastSplit), fast_mistakes(), both) == "");
  CHECK(not_told_apart(calls_of(kFastInterleaved), fast_mistakes(), both) == "");
  CHECK(not_told_apart(qk_norm_calls(), qk_norm_mistakes(), both) == "");
}

TEST_CASE("a mistake that gives another's numbers is not told apart") {
  std::vector<onepass::verdict::Oracle> oracles = interleaved_mistakes();
  for (onepass::verdict::Oracle oracle : interleaved_mistakes()) {
    if (oracle.mistake == "cos-sin-swapped") {
      oracle.mistake = "another-name";
      oracles.push_back(oracle);
    }
  }
  CHECK(not_told_apart(calls_of(kInterleaved), oracles, [](const Case& call) {
          return std::vector{expected(call, "x")};
        }) == "another-name, cos-sin-swapped");
}
