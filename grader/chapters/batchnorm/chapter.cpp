// Chapter 4, batch normalisation: its exercises, and the sizes at which they are measured. The
// checks are in checks_<exercise>.cpp.
#include <utility>

#include "chapters/batchnorm/calls.h"
#include "verdict/contract/measured.h"

namespace onepass::batchnorm {
namespace {

using verdict::Exercise;
using verdict::Measurement;
using namespace verdict::contract;

// A shape's rows are channels, its columns the elements of a channel: of so many samples.
constexpr std::int64_t kBatch = 32;

Sizes sizes_of(const verdict::Shape& shape) {
  return {{"batch", kBatch}, {"channels", shape.rows}, {"space", shape.cols / kBatch}};
}

Inputs without_tensors(const Case& sampled) {
  Inputs in;
  in.eps = static_cast<float>(sampled.real("eps"));
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

// Few channels, because the simulator runs every thread.
std::vector<verdict::Shape> traffic_shapes() {
  return {{8, kBatch * 128, Dtype::fp32},
          {8, kBatch * 128, Dtype::fp16},
          {8, kBatch * 128, Dtype::bf16}};
}

// Feature maps of a residual network, from its first layers to its last but one; the smallest of
// them in a type in which x and y together do not fit in L2.
std::vector<verdict::Shape> bandwidth_shapes() {
  return {{64, kBatch * 112 * 112, Dtype::bf16},
          {256, kBatch * 56 * 56, Dtype::fp16},
          {256, kBatch * 56 * 56, Dtype::fp32},
          {512, kBatch * 28 * 28, Dtype::fp32}};
}

/// rows: what a call is sampled by.
Measurement measurement_of(const Function& function, Extent rows) {
  Measurement measurement = measured(function, sizes_of, {});
  measurement.make_case = [make = measurement.make_case, rows](const verdict::Shape& shape,
                                                               std::uint64_t seed) {
    return make(shape, seed).integer("rows", rows.in(sizes_of(shape)));
  };
  measurement.traffic = traffic_shapes();
  measurement.bandwidth = bandwidth_shapes();
  measurement.map = {2, kBatch * 32, Dtype::fp32};
  measurement.cols_step = kBatch;
  return measurement;
}

/// Sampled by channels: all of x belongs to the sample, and of y the channels of sample 0.
Exercise forward_exercise() {
  Measurement measurement = measurement_of(kForward, "channels");
  measurement.expectations = sampled_forward;
  return {"batchnorm/forward", "The forward pass", "04_batchnorm/forward.cu",
          "docs/04_batchnorm.md, \"4.1 The forward pass\"", std::move(measurement)};
}

/// Sampled by rows of x, each a sample's channel.
Exercise evaluate_exercise() {
  Measurement measurement = measurement_of(kEvaluate, "batch * channels");
  measurement.expectations = sampled_evaluate;
  return {"batchnorm/evaluate", "Evaluation", "04_batchnorm/evaluate.cu",
          "docs/04_batchnorm.md, \"4.2 Evaluation\"", std::move(measurement)};
}

}  // namespace
}  // namespace onepass::batchnorm

int main(int argc, char** argv) {
  using namespace onepass::batchnorm;
  return onepass::verdict::grade({"batchnorm", {forward_exercise(), evaluate_exercise()}}, argc,
                                 argv);
}
