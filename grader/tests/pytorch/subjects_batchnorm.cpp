// Chapter 4's exercises, for the comparison with PyTorch.
#include "chapters/batchnorm/calls.h"
#include "tests/pytorch/draw.h"
#include "tests/pytorch/subjects.h"

namespace onepass::agreement {
namespace {

using namespace batchnorm;
using Expectations = std::vector<Expectation>;

constexpr std::int64_t kMostBatch = 16;
constexpr std::int64_t kMostChannels = 40;
constexpr std::int64_t kMostSpace = 300;

/// Every channel has a mean and a spread of its own.
Matrix draw_x(Draw& draw, Dtype dtype, std::int64_t batch, std::int64_t channels,
              std::int64_t space) {
  const double mean = draw.one_of({0.0, 5.0, 100.0});
  const Matrix centres = draw.normal(Dtype::fp32, channels, 1, mean);
  const Matrix spreads = draw.uniform(Dtype::fp32, channels, 1, 0.2, 2.0);
  const Matrix noise = draw.normal(Dtype::fp32, batch * channels, space);
  Matrix x(dtype, batch * channels, space);
  for (std::int64_t row = 0; row < x.rows(); ++row) {
    const std::int64_t channel = row % channels;
    for (std::int64_t col = 0; col < space; ++col) {
      x.set(row, col, centres.get(channel, 0) + spreads.get(channel, 0) * noise.get(row, col));
    }
  }
  return x;
}

Arguments draw_arguments(const Random& random, Dtype dtype) {
  Draw draw(random);
  const std::int64_t batch = draw.size(1, kMostBatch);
  const std::int64_t channels = draw.size(1, kMostChannels);
  const std::int64_t space = draw.size(batch == 1 ? 2 : 1, kMostSpace);
  Arguments arguments;
  arguments.eps = draw.one_of({1e-5f, 1e-3f});
  arguments.momentum = draw.one_of({0.1f, 0.01f, 0.75f, 0.0f, 1.0f});
  arguments.x = draw_x(draw, dtype, batch, channels, space);
  arguments.weight = draw.uniform(dtype, channels, 1, 0.5, 1.5);
  arguments.bias = draw.uniform(dtype, channels, 1, -1.0, 1.0);
  arguments.running_mean = draw.uniform(Dtype::fp32, channels, 1, -2.0, 2.0);
  arguments.running_var = draw.uniform(Dtype::fp32, channels, 1, 0.5, 2.0);
  return arguments;
}

Case draw_forward(const Random& random, Dtype dtype) {
  return call_of(kForward, draw_arguments(random, dtype));
}

Case draw_evaluate(const Random& random, Dtype dtype) {
  return call_of(kEvaluate, draw_arguments(random, dtype));
}

Expectations expected_of_forward(const Case& call) {
  return {expected(call, "y"), expected(call, "save_mean"), expected(call, "save_rstd"),
          expected(call, "running_mean"), expected(call, "running_var")};
}

Expectations expected_of_evaluate(const Case& call) {
  return {expected(call, "y")};
}

}  // namespace

std::vector<Subject> batchnorm_subjects() {
  return {{"batchnorm/forward", draw_forward, expected_of_forward},
          {"batchnorm/evaluate", draw_evaluate, expected_of_evaluate}};
}

}  // namespace onepass::agreement
