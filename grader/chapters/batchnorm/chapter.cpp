// Chapter 4, batch normalisation: its exercises, and the sizes at which they are measured. The
// checks are in checks_<exercise>.cpp.
#include <utility>

#include "chapters/batchnorm/calls.h"
#include "chapters/common/exercise.h"

namespace onepass::batchnorm {
namespace {

using common::exercise;
using verdict::Exercise;
using verdict::Measurement;
using namespace verdict::contract;

Sizes of_32_samples(std::int64_t channels, std::int64_t space) {
  return {{"batch", 32}, {"channels", channels}, {"space", space}};
}

Inputs without_tensors(const Case& sampled) {
  Inputs in;
  in.eps = eps_of(sampled);
  return in;
}

/// The first rows of a field.
Field first_rows(const Field& field, std::int64_t rows) {
  Field result(rows, field.cols);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < field.cols; ++col) {
      result(row, col) = field(row, col);
    }
  }
  return result;
}

std::vector<Expectation> sampled_forward(const Case& sampled,
                                         const std::vector<std::int64_t>& channels) {
  const Matrix x = sampled.values("x");  // whole
  const std::int64_t all_channels = sampled.integer("channels");
  const auto count = static_cast<std::int64_t>(channels.size());
  Inputs in = without_tensors(sampled);
  in.momentum = static_cast<float>(sampled.real("momentum"));
  in.batch = sampled.integer("batch");
  in.x = Field(count, in.batch * x.cols());
  for (std::int64_t c = 0; c < count; ++c) {
    for (std::int64_t j = 0; j < in.x.cols; ++j) {
      const std::int64_t channel = channels[static_cast<std::size_t>(c)];
      in.x(c, j) = x.get(j / x.cols() * all_channels + channel, j % x.cols());
    }
  }
  in.weight = sampled.values("weight").field();
  in.bias = sampled.values("bias").field();
  in.running_mean = sampled.values("running_mean").field();
  in.running_var = sampled.values("running_var").field();
  std::vector<Expectation> expectations;
  for (const char* output : {"save_mean", "save_rstd", "running_mean", "running_var", "y"}) {
    Expectation expectation = expected_in_training(in, sampled.dtype(), output);
    expectation.value = first_rows(expectation.value, count);
    expectation.bound = first_rows(expectation.bound, count);
    expectations.push_back(expectation);
  }
  return expectations;
}

std::vector<Expectation> sampled_evaluate(const Case& sampled,
                                          const std::vector<std::int64_t>& rows) {
  Inputs in = without_tensors(sampled);
  in.x = sampled.values("x").field();
  const auto of_rows = [&](const char* name) {
    const Field channels = sampled.values(name).field();
    Field result(static_cast<std::int64_t>(rows.size()), 1);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      result.values[i] = channels(rows[i] % channels.rows, 0);
    }
    return result;
  };
  in.weight = of_rows("weight");
  in.bias = of_rows("bias");
  in.running_mean = of_rows("running_mean");
  in.running_var = of_rows("running_var");
  return {expected_in_evaluation(in, sampled.dtype())};
}

/// sampled: what a call is sampled by.
Measurement measurement_of(const Function& function, const Extent& sampled,
                           decltype(Measurement::expectations) expectations) {
  Measurement measurement = verdict::contract::measured(function, {});
  // Few channels, because the simulator runs every thread.
  const Sizes small = of_32_samples(8, 128);
  measurement.traffic = {{small, Dtype::fp32}, {small, Dtype::fp16}, {small, Dtype::bf16}};
  // Feature maps of a residual network, from its first layers to its last but one; the smallest of
  // them in a type in which x and y together do not fit in L2.
  measurement.bandwidth = {{of_32_samples(64, 112 * 112), Dtype::bf16},
                           {of_32_samples(256, 56 * 56), Dtype::fp16},
                           {of_32_samples(256, 56 * 56), Dtype::fp32},
                           {of_32_samples(512, 28 * 28), Dtype::fp32}};
  measurement.map = {of_32_samples(2, 32), Dtype::fp32};
  measurement.rows = "channels";
  measurement.cols = "space * batch";
  measurement.sampled_rows = sampled;
  measurement.expectations = std::move(expectations);
  return measurement;
}

/// The forward pass by channels: all of x belongs to the sample, and of y the channels of sample 0.
/// Evaluation by rows of x, each a sample's channel.
std::vector<Exercise> exercises() {
  return {
      exercise("forward", "The forward pass", "4.1 The forward pass",
               measurement_of(kForward, "channels", sampled_forward)),
      exercise("evaluate", "Evaluation", "4.2 Evaluation",
               measurement_of(kEvaluate, "batch * channels", sampled_evaluate)),
  };
}

}  // namespace
}  // namespace onepass::batchnorm

int main(int argc, char** argv) {
  return onepass::verdict::grade({ONEPASS_CHAPTER, onepass::batchnorm::exercises()}, argc, argv);
}
