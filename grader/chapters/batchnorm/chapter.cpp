// Chapter 4, batch normalisation: its exercises, and the sizes at which they are measured. The
// checks are in checks_<exercise>.cpp.
#include "verdict/session/chapter.h"

#include <utility>

#include "chapters/batchnorm/calls.h"

namespace onepass::batchnorm {
namespace {

using verdict::Exercise;
using verdict::HashFill;
using verdict::Measurement;

// A shape's rows are channels, its columns the elements of a channel: of so many samples.
constexpr std::int64_t kBatch = 32;

std::int64_t space_of(const verdict::Shape& shape) {
  return shape.cols / kBatch;
}

std::int64_t element_bytes(const verdict::Shape& shape) {
  return static_cast<std::int64_t>(verdict::size_of(shape.dtype));
}

std::int64_t tensor_bytes(const verdict::Shape& shape) {
  return shape.rows * shape.cols * element_bytes(shape);
}

/// What both calls get. `rows`: what is sampled by.
Case measured_call(const char* function, const verdict::Shape& shape, std::int64_t rows,
                   std::uint64_t seed) {
  Case call(function, shape.dtype);
  call.integer("rows", rows).integer("batch", kBatch).integer("channels", shape.rows);
  call.integer("space", space_of(shape)).real("eps", 1e-5f);
  call.input("x", shape.dtype, kBatch * shape.rows, space_of(shape), HashFill{seed, 0.0, 1.0});
  call.input("weight", shape.dtype, shape.rows, 1, HashFill{seed + 1, 1.0, 0.5});
  call.input("bias", shape.dtype, shape.rows, 1, HashFill{seed + 2, 0.0, 1.0});
  call.output("y", shape.dtype, kBatch * shape.rows, space_of(shape));
  return call;
}

constexpr HashFill running_mean(std::uint64_t seed) {
  return {seed + 3, 0.0, 1.0};
}
constexpr HashFill running_var(std::uint64_t seed) {
  return {seed + 4, 1.0, 0.5};
}

/// Sampled by channels: all of x belongs to the sample, and of y the channels of sample 0.
Case measured_forward(const verdict::Shape& shape, std::uint64_t seed) {
  Case call = measured_call("batchnorm_forward", shape, shape.rows, seed);
  call.real("momentum", 0.1f);
  call.in_place("running_mean", Dtype::fp32, shape.rows, 1, running_mean(seed));
  call.in_place("running_var", Dtype::fp32, shape.rows, 1, running_var(seed));
  call.output("save_mean", Dtype::fp32, shape.rows, 1);
  call.output("save_rstd", Dtype::fp32, shape.rows, 1);
  return call;
}

/// Sampled by rows of x, each a sample's channel.
Case measured_evaluate(const verdict::Shape& shape, std::uint64_t seed) {
  Case call = measured_call("batchnorm_evaluate", shape, kBatch * shape.rows, seed);
  call.input("running_mean", Dtype::fp32, shape.rows, 1, running_mean(seed));
  call.input("running_var", Dtype::fp32, shape.rows, 1, running_var(seed));
  return call;
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

Measurement measured(Case (*make_case)(const verdict::Shape&, std::uint64_t),
                     std::int64_t (*channel_bytes)(const verdict::Shape&)) {
  Measurement measurement;
  measurement.traffic = traffic_shapes();
  measurement.bandwidth = bandwidth_shapes();
  measurement.map = {2, kBatch * 32, Dtype::fp32};
  measurement.cols_step = kBatch;
  measurement.least_bytes = [channel_bytes](const verdict::Shape& shape) {
    return 2 * tensor_bytes(shape) + shape.rows * channel_bytes(shape);
  };
  measurement.make_case = make_case;
  return measurement;
}

/// weight and bias; two running statistics read and written, two numbers saved.
std::int64_t forward_channel_bytes(const verdict::Shape& shape) {
  return 2 * element_bytes(shape) + 6 * 4;
}

/// weight and bias; two running statistics read.
std::int64_t evaluate_channel_bytes(const verdict::Shape& shape) {
  return 2 * element_bytes(shape) + 2 * 4;
}

Exercise forward_exercise() {
  Measurement measurement = measured(measured_forward, forward_channel_bytes);
  measurement.expectations = sampled_forward;
  return {"batchnorm/forward", "The forward pass", "04_batchnorm/forward.cu",
          "docs/04_batchnorm.md, \"4.1 The forward pass\"", std::move(measurement)};
}

Exercise evaluate_exercise() {
  Measurement measurement = measured(measured_evaluate, evaluate_channel_bytes);
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
