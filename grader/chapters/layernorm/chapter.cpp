// Chapter 2, LayerNorm: its exercises, and the sizes at which they are measured. The checks are in
// checks_<exercise>.cpp.
#include "verdict/session/chapter.h"

#include <onepass/layernorm_scratch.h>

#include <utility>

#include "chapters/layernorm/calls.h"

namespace onepass::layernorm {
namespace {

using verdict::Exercise;
using verdict::HashFill;
using verdict::Measurement;
using verdict::Shape;

/// Bytes of the two fp32 numbers of a row, mean and rstd.
constexpr std::int64_t kRowStatistics = 8;

std::int64_t tensor_bytes(const Shape& shape) {
  return shape.rows * shape.cols * static_cast<std::int64_t>(verdict::size_of(shape.dtype));
}

/// `tensors` of [rows, cols], `vectors` of [cols], and the statistics of the rows.
auto least_bytes(int tensors, int vectors) {
  return [=](const Shape& shape) {
    return tensors * tensor_bytes(shape) + vectors * tensor_bytes({1, shape.cols, shape.dtype}) +
           shape.rows * kRowStatistics;
  };
}

Case measured_forward(const Shape& shape, std::uint64_t seed) {
  Case call("layernorm_forward", shape.dtype);
  call.integer("rows", shape.rows).integer("cols", shape.cols);
  call.integer("x_stride", shape.cols).integer("y_stride", shape.cols);
  call.real("eps", 1e-5f);
  call.input("x", shape.dtype, shape.rows, shape.cols, HashFill{seed, 0.5, 1.0});
  call.input("weight", shape.dtype, 1, shape.cols, HashFill{seed + 1, 1.0, 0.5});
  call.input("bias", shape.dtype, 1, shape.cols, HashFill{seed + 2, 0.0, 1.0});
  call.output("y", shape.dtype, shape.rows, shape.cols);
  call.output("mean", Dtype::fp32, shape.rows, 1).output("rstd", Dtype::fp32, shape.rows, 1);
  return call;
}

/// mean and rstd are numbers of their own here: close to those of x, which is uniform in [-1, 1).
Case measured_backward(const char* function, const Shape& shape, std::uint64_t seed, bool dx,
                       bool sums) {
  const auto rows = static_cast<int>(shape.rows);
  const auto cols = static_cast<int>(shape.cols);
  Case call(function, shape.dtype);
  call.integer("rows", rows).integer("cols", cols);
  call.integer("dy_stride", cols).integer("x_stride", cols);
  call.input("dy", shape.dtype, rows, cols, HashFill{seed, 0.0, 1.0});
  call.input("x", shape.dtype, rows, cols, HashFill{seed + 1, 0.0, 1.0});
  call.input("mean", Dtype::fp32, rows, 1, HashFill{seed + 2, 0.0, 0.1});
  call.input("rstd", Dtype::fp32, rows, 1, HashFill{seed + 3, 1.7, 0.1});
  if (dx) {
    call.integer("dx_stride", cols);
    call.input("weight", shape.dtype, 1, cols, HashFill{seed + 4, 1.0, 0.5});
    call.output("dx", shape.dtype, rows, cols);
  }
  if (sums) {
    call.output("dweight", shape.dtype, 1, cols).output("dbias", shape.dtype, 1, cols);
    call.output("scratch", Dtype::fp32, 1, layernorm_scratch_size(rows, cols));
    call.output("returned", Dtype::int32, 1, 1);
  }
  return call;
}

/// Few rows, because the simulator runs every thread; wide enough that what all rows share and what
/// is saved for each row hardly count.
std::vector<Shape> wide_and_few() {
  return {{16, 4096, Dtype::fp32}, {16, 4096, Dtype::fp16}};
}

/// For sums down the columns: enough rows that the partial sums of a group do not outweigh them.
std::vector<Shape> narrow_and_many() {
  return {{2048, 128, Dtype::fp32}, {2048, 128, Dtype::fp16}};
}

/// The hidden sizes of language models; the largest go well beyond any L2.
std::vector<Shape> bandwidth_shapes() {
  return {{4096, 4096, Dtype::fp16},
          {4096, 8192, Dtype::fp16},
          {4096, 15872, Dtype::fp16},
          {4096, 8192, Dtype::fp32},
          {16384, 4096, Dtype::bf16}};
}

Exercise exercise(const char* name, const char* title, const char* section, Measurement details) {
  details.bandwidth = bandwidth_shapes();
  return {std::string("layernorm/") + name, title, std::string("02_layernorm/") + name + ".cu",
          std::string("docs/02_layernorm.md, \"") + section + "\"", std::move(details)};
}

Exercise forward_exercise() {
  Measurement details;
  details.traffic = wide_and_few();
  details.least_bytes = least_bytes(2, 2);
  details.make_case = measured_forward;
  details.expectations = [](const Case& sampled, const std::vector<std::int64_t>&) {
    return std::vector<Expectation>{expected_mean(sampled), expected_rstd(sampled),
                                    expected_y(sampled)};
  };
  return exercise("forward", "LayerNorm, the forward pass", "2.1 The forward pass",
                  std::move(details));
}

Exercise backward_dx_exercise() {
  Measurement details;
  details.traffic = wide_and_few();
  details.least_bytes = least_bytes(3, 1);
  details.make_case = [](const Shape& shape, std::uint64_t seed) {
    return measured_backward("layernorm_backward_dx", shape, seed, true, false);
  };
  details.expectations = [](const Case& sampled, const std::vector<std::int64_t>&) {
    return std::vector<Expectation>{expected_dx(sampled)};
  };
  return exercise("backward_dx", "LayerNorm, the gradient of x", "2.2 The gradient of x",
                  std::move(details));
}

std::vector<Expectation> expected_sums(const Case& sampled) {
  return {expected_dweight(sampled), expected_dbias(sampled)};
}

Exercise backward_dweight_dbias_exercise() {
  Measurement details;
  details.traffic = narrow_and_many();
  details.least_bytes = least_bytes(2, 2);
  details.make_case = [](const Shape& shape, std::uint64_t seed) {
    return measured_backward("layernorm_backward_dweight_dbias", shape, seed, false, true);
  };
  details.expectations = [](const Case&, const std::vector<std::int64_t>&) {
    return std::vector<Expectation>{};
  };
  details.column_sums = expected_sums;
  return exercise("backward_dweight_dbias", "LayerNorm, the gradients of weight and bias",
                  "2.3 The gradients of weight and bias", std::move(details));
}

Exercise backward_fused_exercise() {
  Measurement details;
  details.traffic = narrow_and_many();
  details.least_bytes = least_bytes(3, 3);
  details.make_case = [](const Shape& shape, std::uint64_t seed) {
    return measured_backward("layernorm_backward", shape, seed, true, true);
  };
  details.expectations = [](const Case& sampled, const std::vector<std::int64_t>&) {
    return std::vector<Expectation>{expected_dx(sampled)};
  };
  details.column_sums = expected_sums;
  return exercise("backward_fused", "LayerNorm, the whole backward pass", "2.4 One pass",
                  std::move(details));
}

}  // namespace
}  // namespace onepass::layernorm

int main(int argc, char** argv) {
  using namespace onepass::layernorm;
  return onepass::verdict::grade({"layernorm",
                                  {forward_exercise(), backward_dx_exercise(),
                                   backward_dweight_dbias_exercise(), backward_fused_exercise()}},
                                 argc, argv);
}
