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

/// All of x belongs to the sample, of whatever else there is for each channel only these.
std::vector<Expectation> sampled_forward(const Case& sampled,
                                         const std::vector<std::int64_t>& channels) {
  const Matrix x = sampled.values("x");
  const std::int64_t all_channels = sampled.integer("channels");
  const auto count = static_cast<std::int64_t>(channels.size());
  const Inputs in = inputs_of(
      sampled, verdict::field_of(count, sampled.integer("batch") * x.cols(), [&](auto c, auto j) {
        const std::int64_t channel = channels[static_cast<std::size_t>(c)];
        return x.get(j / x.cols() * all_channels + channel, j % x.cols());
      }));
  std::vector<Expectation> expectations;
  for (const char* output : {"save_mean", "save_rstd", "running_mean", "running_var", "y"}) {
    Expectation expectation = expected_in_training(in, output);
    for (Field* field : {&expectation.value, &expectation.bound}) {  // of y sample 0
      field->rows = count;
      field->values.resize(static_cast<std::size_t>(count * field->cols));
    }
    expectations.push_back(expectation);
  }
  return expectations;
}

/// Rows of x, each a channel of its own, and all that there is for each channel.
std::vector<Expectation> sampled_evaluate(const Case& sampled,
                                          const std::vector<std::int64_t>& rows) {
  Inputs in = inputs_of(sampled, sampled.values("x").field());
  in.batch = 1;
  for (Field* field : {&in.weight, &in.bias, &in.running_mean, &in.running_var}) {
    *field = verdict::field_of(in.x.rows, 1, [&](auto i, auto) {
      return (*field)(rows[static_cast<std::size_t>(i)] % field->rows, 0);
    });
  }
  return {expected_in_evaluation(in)};
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

/// Channels too large to be kept on chip: x is read twice.
Measurement forward_fast() {
  Measurement measurement = measurement_of(kForwardFast, "channels", sampled_forward);
  for (verdict::Shape& shape : measurement.bandwidth) {
    shape.times_least = 1.5;
  }
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
      exercise("forward_fast", "At the speed of memory", "4.3 At the speed of memory",
               forward_fast()),
  };
}

}  // namespace
}  // namespace onepass::batchnorm

int main(int argc, char** argv) {
  return onepass::verdict::grade({ONEPASS_CHAPTER, onepass::batchnorm::exercises()}, argc, argv);
}
