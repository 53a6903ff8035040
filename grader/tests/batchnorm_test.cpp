// Chapter 4's reference against numbers worked out by hand, and its mistakes against each other.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "chapters/batchnorm/calls.h"
#include "chapters/batchnorm/mistakes.h"
#include "chapters/batchnorm/reference.h"
#include "chapters/batchnorm/shapes.h"
#include "tests/told_apart.h"
#include "verdict/values/random.h"

using namespace onepass::batchnorm;
using onepass::tests::not_told_apart;
using onepass::tests::scattered;
using onepass::verdict::Random;

namespace {

Field column_of(const std::vector<double>& values) {
  Field field(static_cast<std::int64_t>(values.size()), 1);
  field.values = values;
  return field;
}

/// Two samples, two channels, two positions. Channel 0 holds 1, 5, 1, 5 (mean 3, variance 4),
/// channel 1 holds 2, 2, 6, 6 (mean 4, variance 4).
Inputs by_hand() {
  Field tensor(4, 2);
  tensor.values = {1.0, 5.0, 2.0, 2.0, 1.0, 5.0, 6.0, 6.0};
  Inputs in;
  in.x = by_channel(tensor, 2);
  in.weight = column_of({10.0, 3.0});
  in.bias = column_of({0.5, -1.0});
  in.running_mean = column_of({1.0, 0.0});
  in.running_var = column_of({12.0, 5.0});
  in.momentum = 0.25;
  in.batch = 2;
  return in;
}

/// As shapes.cpp draws them: each channel has a mean and a spread of its own.
Arguments drawn(std::uint64_t seed, Dtype dtype, const Shape& shape, double mean, double spread) {
  const Random random(seed);
  const auto each_channel = [&](const char* tensor, Dtype type, double low, double high) {
    return random.stream(tensor).uniform_matrix(type, shape.channels, 1, low, high);
  };
  Arguments arguments;
  arguments.weight = each_channel("weight", dtype, 0.5, 1.5);
  arguments.bias = each_channel("bias", dtype, -1.0, 1.0);
  arguments.running_mean = each_channel("running_mean", Dtype::fp32, -2.0, 2.0);
  arguments.running_var = each_channel("running_var", Dtype::fp32, 0.5, 2.0);
  arguments.x = Matrix(dtype, shape.batch * shape.channels, shape.space);
  const Random numbers = random.stream("x");
  for (std::int64_t row = 0; row < arguments.x.rows(); ++row) {
    const double centre = mean + spread * static_cast<double>(row % shape.channels);
    for (std::int64_t s = 0; s < shape.space; ++s) {
      const auto i = static_cast<std::uint64_t>(row * shape.space + s);
      arguments.x.set(row, s, centre + spread * numbers.normal(i));
    }
  }
  return arguments;
}

std::vector<Arguments> all_arguments() {
  std::vector<Arguments> all;
  std::uint64_t seed = 0;
  for (Dtype dtype : kEveryDtype) {
    for (const Shape& shape : {Shape{33, 5, 1}, Shape{5, 2, 33}, Shape{2, 3, 64}, Shape{8, 8, 8},
                               Shape{3, 2, 700}, Shape{1, 2, 1025}}) {
      all.push_back(drawn(++seed, dtype, shape, 1.0, 2.0));
      all.back().momentum = 0.3f;
    }
    all.push_back(drawn(++seed, dtype, {3, 1, 2049}, 3.0, 1.0));
    all.push_back(drawn(++seed, dtype, {4, 1, 64}, 0.0, 300.0));
    all.push_back(drawn(++seed, dtype, {4, 3, 9}, 0.0, 0.5));
    all.back().eps = 0.25f;
  }
  all.push_back(drawn(++seed, Dtype::fp32, {4, 3, 9}, 0.0, 3e-3));
  all.push_back(drawn(++seed, Dtype::fp32, {4, 3, 9}, 0.0, 0.01));
  all.back().eps = 0.0f;
  for (double mean : {100.0, 1000.0}) {
    all.push_back(drawn(++seed, Dtype::fp32, {4, 3, 70}, mean, 1.0));
  }
  // Old running statistics that are large, and have next to no share.
  all.push_back(drawn(++seed, Dtype::fp32, {4, 3, 9}, 1.0, 2.0));
  all.back().momentum = 0.999f;
  for (Matrix* running : {&all.back().running_mean, &all.back().running_var}) {
    *running =
        onepass::common::changed(*running, [](auto, auto, double value) { return 1e8 * value; });
  }
  return all;
}

}  // namespace

TEST_CASE("batchnorm's reference on numbers worked out by hand") {
  const auto output = [](const char* name) { return *batchnorm_forward(by_hand(), name); };
  CHECK(output("save_mean").values == std::vector<double>{3.0, 4.0});
  CHECK(output("save_rstd").values == std::vector<double>{0.5, 0.5});
  // A quarter of the new, three quarters of the old; the variance is 16 / 3 by count - 1.
  CHECK(output("running_mean").values == std::vector<double>{1.5, 1.0});
  CHECK(output("running_var")(0, 0) == doctest::Approx(0.75 * 12.0 + 0.25 * 16.0 / 3.0));
  CHECK(output("running_var")(1, 0) == doctest::Approx(0.75 * 5.0 + 0.25 * 16.0 / 3.0));
  // In the tensor's order again: sample 0 has -9.5, 10.5 of channel 0 and -4, -4 of channel 1.
  CHECK(as_tensor(output("y"), 2).values ==
        std::vector<double>{-9.5, 10.5, -4.0, -4.0, -9.5, 10.5, 2.0, 2.0});
}

TEST_CASE("eps joins the variance in rstd, and stays out of the running variance") {
  Inputs in = by_hand();
  in.eps = 12.0;
  CHECK(batchnorm_forward(in, "save_rstd")->values == std::vector<double>{0.25, 0.25});
  CHECK(batchnorm_forward(in, "running_var")->values ==
        batchnorm_forward(by_hand(), "running_var")->values);
}

TEST_CASE("evaluation by hand: running statistics, whatever the batch holds") {
  Inputs in = by_hand();
  in.eps = 4.0;  // with 12 and 5: roots 4 and 3
  const Field y = *batchnorm_evaluate(in);
  CHECK(y(0, 0) == 0.5);
  CHECK(y(0, 1) == doctest::Approx((5.0 - 1.0) / 4.0 * 10.0 + 0.5));
  CHECK(y(1, 3) == doctest::Approx(6.0 / 3.0 * 3.0 - 1.0));
}

TEST_CASE("an id stands once in a table of batchnorm's mistakes, and has a sentence") {
  CHECK(scattered(forward_mistakes()) == "");
  CHECK(scattered(evaluate_mistakes()) == "");
}

TEST_CASE("each mistake of batchnorm/forward is told from the right result and from the others") {
  std::vector<Case> calls;
  for (const Arguments& arguments : all_arguments()) {
    calls.push_back(call_of(kForward, arguments));
  }
  CHECK(
      not_told_apart(calls, forward_mistakes(), [](const Case& call) {
        std::vector<Expectation> all;
        for (const char* output : {"save_mean", "save_rstd", "running_mean", "running_var", "y"}) {
          all.push_back(expected(call, output));
        }
        return all;
      }) == "");
}

TEST_CASE("each mistake of batchnorm/evaluate is told from the right result and from the others") {
  std::vector<Case> calls;
  for (const Arguments& arguments : all_arguments()) {
    calls.push_back(call_of(kEvaluate, arguments));
  }
  for (double mean : {0.0, 1.0}) {
    for (double variance : {0.5e-3, 1e-3}) {  // eps about as large, where its place is best seen
      Arguments arguments = drawn(77, Dtype::fp32, {4, 1, 9}, mean, 1.0);
      arguments.running_var.set(0, 0, variance);
      arguments.eps = 1e-3f;
      calls.push_back(call_of(kEvaluate, arguments));
    }
  }
  CHECK(not_told_apart(calls, evaluate_mistakes(),
                       [](const Case& call) { return std::vector{expected(call, "y")}; }) == "");
}
