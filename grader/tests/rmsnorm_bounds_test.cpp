// The bounds of RMSNorm, against sums in fp32 in several orders and against mistakes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "chapters/rmsnorm/bounds.h"
#include "verdict/values/random.h"

using namespace onepass;
using namespace onepass::verdict;

namespace {

using Summation = std::function<float(const std::vector<float>&)>;

float sequential(const std::vector<float>& terms) {
  float sum = 0.0f;
  for (const float term : terms) {
    sum += term;
  }
  return sum;
}

float by_256_threads(const std::vector<float>& terms) {
  std::vector<float> shares(256, 0.0f);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    shares[i % 256] += terms[i];
  }
  for (std::size_t step = 128; step > 0; step /= 2) {
    for (std::size_t i = 0; i < step; ++i) {
      shares[i] += shares[i + step];
    }
  }
  return shares[0];
}

/// The largest error of y over its bound, computed as an honest kernel would.
double worst_ratio(Dtype dtype, std::int64_t cols, double mean, const Summation& sum,
                   bool round_early) {
  const Random random = Random(static_cast<std::uint64_t>(cols)).stream(name(dtype));
  const Matrix x = random.stream("x").normal_matrix(dtype, 1, cols, mean, 1.3);
  const Matrix weight = random.stream("weight").normal_matrix(dtype, 1, cols, 1.0, 0.5);
  std::vector<float> squares;
  double exact = 0.0;
  for (std::int64_t col = 0; col < cols; ++col) {
    const double value = x.get(0, col);
    squares.push_back(static_cast<float>(value) * static_cast<float>(value));
    exact += value * value;
  }
  const double rstd = 1.0 / std::sqrt(exact / static_cast<double>(cols) + 1e-6);
  const float got_rstd = 1.0f / std::sqrt(sum(squares) / static_cast<float>(cols) + 1e-6f);
  double worst = std::abs(got_rstd - rstd) / rmsnorm::rstd_bound(cols, rstd);
  for (std::int64_t col = 0; col < cols; ++col) {
    const double y = x.get(0, col) * rstd * weight.get(0, col);
    double normalized = static_cast<float>(x.get(0, col)) * got_rstd;
    normalized = round_early ? round_to(dtype, normalized) : normalized;
    const float product = static_cast<float>(normalized) * static_cast<float>(weight.get(0, col));
    worst =
        std::max(worst, std::abs(round_to(dtype, product) - y) / rmsnorm::y_bound(dtype, cols, y));
  }
  return worst;
}

}  // namespace

TEST_CASE("honest orders of summation stay within the bound") {
  for (const Summation& sum : {Summation(sequential), Summation(by_256_threads)}) {
    for (const std::int64_t cols : {1, 17, 33, 1000, 4097, 65536}) {
      for (const double mean : {0.0, 100.0}) {
        CAPTURE(cols);
        CHECK(worst_ratio(Dtype::fp32, cols, mean, sum, false) <= 0.6);
        // In 16 bits the rounding alone may use up all of its half ULP.
        CHECK(worst_ratio(Dtype::fp16, cols, mean, sum, false) <= 1.0);
        CHECK(worst_ratio(Dtype::bf16, cols, mean, sum, false) <= 1.0);
      }
    }
  }
}

TEST_CASE("rounding before the weight is outside of the bound") {
  for (const Dtype dtype : {Dtype::fp16, Dtype::bf16}) {
    CHECK(worst_ratio(dtype, 1000, 0.0, by_256_threads, true) > 1.5);
  }
}

TEST_CASE("a row sum in any honest order stays within the bound") {
  for (const std::int64_t cols : {1, 33, 4097, 65536}) {
    const Matrix x = Random(5).normal_matrix(Dtype::fp32, 1, cols);
    std::vector<float> terms;
    double exact = 0.0;
    double magnitudes = 0.0;
    for (std::int64_t col = 0; col < cols; ++col) {
      terms.push_back(static_cast<float>(x.get(0, col)));
      exact += x.get(0, col);
      magnitudes += std::abs(x.get(0, col));
    }
    for (const Summation& sum : {Summation(sequential), Summation(by_256_threads)}) {
      CHECK(std::abs(sum(terms) - exact) <= 0.6 * bounds::row_sum(cols, magnitudes));
    }
  }
}
