// Chapter 1's reference against numbers worked out by hand, and its mistakes against each other:
// what a mistake gives is told from the right result, and is named by its own name.
#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "chapters/common/sixteen_bit_sums.h"
#include "chapters/rmsnorm/calls.h"
#include "chapters/rmsnorm/mistakes.h"
#include "tests/told_apart.h"
#include "verdict/values/random.h"

using namespace onepass::rmsnorm;
using onepass::CastOrder;
using onepass::common::sum_in;
using onepass::tests::not_told_apart;
using onepass::tests::scattered;
using onepass::verdict::Random;

namespace {

Field row_of(const std::vector<double>& values) {
  Field field(1, static_cast<std::int64_t>(values.size()));
  field.values = values;
  return field;
}

/// Calls like those of the checks, few and small.
std::vector<Case> forward_calls() {
  std::vector<Case> calls;
  std::uint64_t seed = 0;
  const auto add = [&](Dtype dtype, std::int64_t rows, std::int64_t cols, double eps, double mean,
                       double deviation, const Arrangement& arrangement) {
    const Random random(++seed);
    calls.push_back(forward_call(
        random.stream("x").normal_matrix(dtype, rows, cols, mean, deviation),
        random.stream("weight").uniform_matrix(dtype, 1, cols, 0.5, 1.5), eps, arrangement));
  };
  for (Dtype dtype : {Dtype::fp32, Dtype::fp16, Dtype::bf16}) {
    for (std::int64_t cols : {17, 100, 257, 1000, 1023, 4097}) {
      add(dtype, 3, cols, 1e-6f, 0.0, 1.0, {});
    }
    add(dtype, 17, 17, 1e-6f, 0.0, 1.0, {});
    add(dtype, 2, 100, 0.25f, 0.0, 0.5, {});
    add(dtype, 2, 200, 1e-6f, 100.0, 1.0, {});
    add(dtype, 2, 70, 1e-6f, 300.0, 10.0, {});
    add(dtype, 4, 100, 1e-6f, 0.0, 1.0, {{"x", {7, 0}}, {"y", {4, 0}}});
  }
  add(Dtype::fp32, 3, 300, 1e-6f, 0.0, 1e-3, {});
  add(Dtype::fp32, 3, 300, 0.0f, 0.0, 0.01, {});
  add(Dtype::fp32, 3, 300, 0.0f, 0.0, 1e-4, {});
  add(Dtype::fp32, 3, 300, 0.0f, 0.0, 1e-6, {});
  return calls;
}

std::vector<Case> block_sum_calls() {
  std::vector<Case> calls;
  std::uint64_t seed = 0;
  for (Dtype dtype : {Dtype::fp32, Dtype::fp16, Dtype::bf16}) {
    for (std::int64_t cols : {17, 100, 257, 1000, 1023, 4097}) {
      for (double mean : {0.0, 1.0}) {
        calls.push_back(block_sum_call(Random(++seed).normal_matrix(dtype, 3, cols, mean)));
      }
    }
    calls.push_back(block_sum_call(Random(++seed).normal_matrix(dtype, 17, 17)));
    calls.push_back(block_sum_call(Random(++seed).normal_matrix(dtype, 4, 100), {{"x", {7, 0}}}));
  }
  return calls;
}

std::vector<Case> backward_calls() {
  std::vector<Case> calls;
  std::uint64_t seed = 100;
  const auto add = [&](Dtype dtype, std::int64_t rows, std::int64_t cols, double mean,
                       CastOrder order, const Arrangement& arrangement) {
    const Random random(++seed);
    calls.push_back(
        backward_call(gradients(kNorm, random.stream("dy").normal_matrix(dtype, rows, cols, 0.3),
                                random.stream("x").normal_matrix(dtype, rows, cols, mean, 2.0),
                                random.stream("weight").uniform_matrix(dtype, 1, cols, 0.5, 1.5)),
                      order, arrangement));
  };
  for (Dtype dtype : {Dtype::fp32, Dtype::fp16, Dtype::bf16}) {
    const CastOrder in_fp32 = CastOrder::weight_in_fp32;
    for (std::int64_t cols : {17, 100, 257, 1023, 4097}) {
      add(dtype, 2, cols, 0.5, in_fp32, {});
    }
    add(dtype, 17, 17, 0.5, in_fp32, {});
    add(dtype, 65, 40, 0.5, in_fp32, {});
    add(dtype, 4, 100, 0.5, in_fp32, {{"dy", {7, 0}}, {"x", {4, 0}}, {"dx", {11, 0}}});
    for (CastOrder order : {in_fp32, CastOrder::llama}) {
      // Twins, as in checks_backward.cpp: the same x, opposite dy, nearly the same rstd.
      Gradients twins =
          gradients(kNorm, Matrix(dtype, 2, 100), Matrix(dtype, 2, 100), Matrix(dtype, 1, 100));
      for (std::int64_t col = 0; col < 100; ++col) {
        for (std::int64_t row : {0, 1}) {
          twins.dy.set(row, col, row == 0 ? 2.0 : -2.0);
          twins.x.set(row, col, 1.0 + static_cast<double>(col) / 128.0);
        }
        twins.weight->set(0, col, 0.75);
      }
      twins.rstd.set(0, 0, 0.7);
      twins.rstd.set(1, 0, 0.7 * (1.0 + onepass::verdict::ulp(dtype, 1.0) / 16.0));
      calls.push_back(backward_call(twins, order));
    }
  }
  return calls;
}

std::vector<Case> residual_calls() {
  std::vector<Case> calls;
  std::uint64_t seed = 200;
  const auto add = [&](Dtype dtype, std::int64_t rows, std::int64_t cols, double mean, double eps,
                       const Arrangement& arrangement) {
    const Random random(++seed);
    calls.push_back(residual_call(
        random.stream("x").normal_matrix(dtype, rows, cols),
        random.stream("residual").normal_matrix(dtype, rows, cols, mean, 2.0),
        random.stream("weight").uniform_matrix(dtype, 1, cols, 0.5, 1.5), eps, arrangement));
  };
  for (Dtype dtype : {Dtype::fp32, Dtype::fp16, Dtype::bf16}) {
    for (std::int64_t cols : {17, 257, 1023, 4097}) {
      add(dtype, 2, cols, 0.0, 1e-6, {});
    }
    add(dtype, 17, 17, 0.0, 1e-6, {});
    add(dtype, 2, 200, 20.0, 1e-6, {});
    add(dtype, 2, 70, 300.0, 1e-6, {});
    add(dtype, 2, 100, 0.0, 0.25, {});
    add(dtype, 8, 100, 0.0, 5.0, {});  // about the mean of the squares
    add(dtype, 4, 100, 0.0, 1e-6, {{"x", {7}}, {"residual", {4}}, {"sum", {11}}, {"y", {20}}});
  }
  return calls;
}

/// Each of these outputs.
onepass::tests::Expected all_of(std::vector<Expectation (*)(const Case&)> outputs) {
  return [outputs = std::move(outputs)](const Case& call) {
    std::vector<Expectation> all;
    for (const auto expected : outputs) {
      all.push_back(expected(call));
    }
    return all;
  };
}

}  // namespace

TEST_CASE("rmsnorm's reference on numbers worked out by hand") {
  CHECK(row_sums(row_of({1, 2, 3}))(0, 0) == 6.0);
  Forward pass = {.x = row_of({2}), .centred = false};
  CHECK(forward(pass, "rstd")->values == std::vector{0.5});
  pass.x = row_of({3, 3, 3, 3});
  pass.eps = 7.0;
  CHECK(forward(pass, "rstd")->values == std::vector{0.25});  // mean 9, with eps 16
  const Forward scaled = {.x = row_of({2, -2}), .centred = false, .weight = row_of({10, 3})};
  CHECK(forward(scaled, "y")->values == std::vector{10.0, -3.0});
}

TEST_CASE("a 16-bit sum stops growing once the terms are too small for it") {
  const Field ones(1, 5000, 1.0);
  CHECK(sum_in(Dtype::fp16, ones, {1, false})(0, 0) == 2048.0);
  CHECK(sum_in(Dtype::bf16, ones, {1, false})(0, 0) == 256.0);
  CHECK(sum_in(Dtype::fp16, ones, {256, false})(0, 0) == 5000.0);
}

TEST_CASE("an id stands once in a table of rmsnorm's mistakes, and has a sentence") {
  CHECK(scattered(block_sum_mistakes()) == "");
  CHECK(scattered(forward_mistakes()) == "");
  CHECK(scattered(residual_mistakes()) == "");
}

TEST_CASE("each mistake of rmsnorm/block_sum is told from the right result and from the others") {
  CHECK(not_told_apart(block_sum_calls(), block_sum_mistakes(), all_of({expected_sums})) == "");
}

TEST_CASE("each mistake of rmsnorm/forward is told from the right result and from the others") {
  CHECK(not_told_apart(forward_calls(), forward_mistakes(), all_of({expected_rstd, expected_y})) ==
        "");
}

TEST_CASE("each mistake of rmsnorm/backward is told from the right result and from the others") {
  CHECK(not_told_apart(backward_calls(), backward_mistakes(),
                       all_of({expected_dx, expected_dweight})) == "");
}

TEST_CASE("each mistake of rmsnorm/residual is told from the right result and from the others") {
  CHECK(not_told_apart(residual_calls(), residual_mistakes(),
                       all_of({expected_sum, expected_residual_rstd, expected_residual_y})) == "");
}

TEST_CASE("a sum has one rounding: twice rounded, by way of fp32, it is the same") {
  const Random random(9);
  for (Dtype dtype : {Dtype::fp16, Dtype::bf16}) {
    const Matrix a = random.stream("a").normal_matrix(dtype, 100, 100, 0.0, 1.0);
    const Matrix b = random.stream("b").normal_matrix(dtype, 100, 100, 0.0, 300.0);
    for (std::int64_t row = 0; row < 100; ++row) {
      for (std::int64_t col = 0; col < 100; ++col) {
        const double sum = a.get(row, col) + b.get(row, col);
        const double by_fp32 = onepass::verdict::round_to(Dtype::fp32, sum);
        REQUIRE(onepass::verdict::round_to(dtype, by_fp32) ==
                onepass::verdict::round_to(dtype, sum));
      }
    }
  }
}
