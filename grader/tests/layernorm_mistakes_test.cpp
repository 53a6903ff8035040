// Chapter 2's mistakes against each other: what a mistake gives is told from the right result, and
// is named by its own name.
#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "chapters/layernorm/calls.h"
#include "chapters/layernorm/mistakes.h"
#include "tests/told_apart.h"
#include "verdict/values/random.h"

using namespace onepass::layernorm;
using onepass::tests::not_told_apart;
using onepass::tests::scattered;
using onepass::verdict::Random;

namespace {

std::vector<Case> forward_calls() {
  std::vector<Case> calls;
  std::uint64_t seed = 0;
  const auto add = [&](Dtype dtype, std::int64_t rows, std::int64_t cols, double mean,
                       double deviation, float eps, const Arrangement& arrangement) {
    const Random random(++seed);
    calls.push_back(forward_call(
        random.stream("x").normal_matrix(dtype, rows, cols, mean, deviation),
        random.stream("weight").uniform_matrix(dtype, 1, cols, 0.5, 1.5),
        random.stream("bias").uniform_matrix(dtype, 1, cols, -2.0, -1.0), eps, arrangement));
  };
  for (Dtype dtype : kEveryDtype) {
    for (std::int64_t cols : {17, 100, 257, 1000, 1023, 4097}) {
      add(dtype, 3, cols, 0.5, 1.0, 1e-5f, {});
    }
    add(dtype, 17, 17, 0.5, 1.0, 1e-5f, {});
    add(dtype, 4, 1500, 0.5, 1.0, 1e-5f, {});  // as many rows as a block may have at once
    add(dtype, 3, 300, 0.0, 0.5, 0.25f, {});
    add(dtype, 4, 256, 0.0, 300.0, 1e-5f, {});
    add(dtype, 4, 100, 0.5, 1.0, 1e-5f, {{"x", {7}}, {"y", {4}}});
  }
  add(Dtype::fp32, 3, 300, 0.0, 3e-3, 1e-5f, {});
  add(Dtype::fp32, 3, 300, 0.0, 0.01, 0.0f, {});
  add(Dtype::fp32, 4, 1000, 100.0, 1.0, 1e-5f, {});
  add(Dtype::fp32, 4, 1000, 1000.0, 1.0, 1e-5f, {});
  return calls;
}

Gradients random_gradients(std::uint64_t seed, Dtype dtype, std::int64_t rows, std::int64_t cols) {
  const Random random(seed);
  return gradients(kNorm, random.stream("dy").normal_matrix(dtype, rows, cols, 0.3),
                   random.stream("x").normal_matrix(dtype, rows, cols, 0.5, 2.0),
                   random.stream("weight").uniform_matrix(dtype, 1, cols, 0.5, 1.5));
}

/// Calls of 2.2, 2.3 and 2.4.
std::vector<Case> backward_calls() {
  std::vector<Case> calls;
  const auto add = [&](const Gradients& inputs, const Arrangement& arrangement = {}) {
    for (const Function* function : {&kBackwardDx, &kBackwardDweightDbias, &kBackward}) {
      calls.push_back(backward_call(*function, inputs, arrangement));
    }
  };
  std::uint64_t seed = 100;
  for (Dtype dtype : kEveryDtype) {
    for (std::int64_t cols : {17, 100, 257, 1023}) {
      add(random_gradients(++seed, dtype, 3, cols));
    }
    add(random_gradients(++seed, dtype, 17, 17));
    for (std::int64_t rows : {65, 517}) {
      add(random_gradients(++seed, dtype, rows, 5));
    }
    add(random_gradients(++seed, dtype, 4, 100), {{"dy", {7}}, {"x", {4}}, {"dx", {11}}});
    add(cancelling(random_gradients(++seed, dtype, 67, 40)));
    Gradients other_mean = random_gradients(++seed, dtype, 3, 100);
    other_mean.mean->set(1, 0, 0.25);  // not that of x
    add(other_mean);
  }
  return calls;
}

}  // namespace

TEST_CASE("an id stands once in a table of layernorm's mistakes, and has a sentence") {
  CHECK(scattered(forward_mistakes()) == "");
}

TEST_CASE("each mistake of layernorm/forward is told from the right result and from the others") {
  CHECK(not_told_apart(forward_calls(), forward_mistakes(), [](const Case& call) {
          return std::vector{expected_mean(call), expected_rstd(call), expected_y(call)};
        }) == "");
}

TEST_CASE(
    "each mistake of LayerNorm's backward pass is told from the right result and the others") {
  CHECK(not_told_apart(backward_calls(), backward_mistakes(), [](const Case& call) {
          std::vector<Expectation> all;
          for (const auto expected : {expected_dx, expected_dweight, expected_dbias}) {
            const Expectation right = expected(call);
            if (call.find(right.output)) {
              all.push_back(right);
            }
          }
          return all;
        }) == "");
}
