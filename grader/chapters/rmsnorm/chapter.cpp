// Chapter 1, RMSNorm: its exercises, and the sizes at which they are measured. The checks are in
// checks_<exercise>.cpp.
#include "verdict/session/chapter.h"

#include <utility>

#include "chapters/rmsnorm/calls.h"
#include "chapters/rmsnorm/calls_backward.h"
#include "chapters/rmsnorm/calls_residual.h"

namespace onepass::rmsnorm {
namespace {

using verdict::Exercise;
using verdict::HashFill;
using verdict::Measurement;
using verdict::Shape;

/// Bytes of an fp32 number saved for each row.
constexpr std::int64_t kRowResult = 4;

std::int64_t tensor_bytes(const Shape& shape) {
  return shape.rows * shape.cols * static_cast<std::int64_t>(verdict::size_of(shape.dtype));
}

Case measured_block_sum(const Shape& shape, std::uint64_t seed) {
  Case call("block_sum", shape.dtype);
  call.integer("rows", shape.rows).integer("cols", shape.cols).integer("x_stride", shape.cols);
  call.input("x", shape.dtype, shape.rows, shape.cols, HashFill{seed, 0.0, 1.0});
  call.output("sums", Dtype::fp32, shape.rows, 1);
  return call;
}

Case measured_forward(const char* function, const Shape& shape, std::uint64_t seed) {
  Case call(function, shape.dtype);
  call.integer("rows", shape.rows).integer("cols", shape.cols);
  call.integer("x_stride", shape.cols).integer("y_stride", shape.cols);
  call.real("eps", 1e-6);
  call.input("x", shape.dtype, shape.rows, shape.cols, HashFill{seed, 0.0, 1.0});
  call.input("weight", shape.dtype, 1, shape.cols, HashFill{seed + 1, 1.0, 0.5});
  call.output("y", shape.dtype, shape.rows, shape.cols);
  call.output("rstd", Dtype::fp32, shape.rows, 1);
  return call;
}

/// rstd is numbers of their own here: close to those of x, which is uniform in [-1, 1).
Case measured_backward(const Shape& shape, std::uint64_t seed) {
  const auto rows = static_cast<int>(shape.rows);
  const auto cols = static_cast<int>(shape.cols);
  Case call("rmsnorm_backward", shape.dtype);
  call.integer("rows", rows).integer("cols", cols);
  call.integer("order", static_cast<std::int64_t>(CastOrder::llama));
  call.integer("dy_stride", cols).integer("x_stride", cols).integer("dx_stride", cols);
  call.input("dy", shape.dtype, rows, cols, HashFill{seed, 0.0, 1.0});
  call.input("x", shape.dtype, rows, cols, HashFill{seed + 1, 0.0, 1.0});
  call.input("weight", shape.dtype, 1, cols, HashFill{seed + 2, 1.0, 0.5});
  call.input("rstd", Dtype::fp32, rows, 1, HashFill{seed + 3, 1.7, 0.1});
  call.output("dx", shape.dtype, rows, cols).output("dweight", shape.dtype, 1, cols);
  call.output("scratch", Dtype::fp32, 1, rmsnorm_scratch_size(rows, cols));
  return call;
}

Case measured_residual(const Shape& shape, std::uint64_t seed) {
  Case call("rmsnorm_residual", shape.dtype);
  call.integer("rows", shape.rows).integer("cols", shape.cols);
  for (const char* stride : {"x_stride", "residual_stride", "sum_stride", "y_stride"}) {
    call.integer(stride, shape.cols);
  }
  call.real("eps", 1e-6);
  call.input("x", shape.dtype, shape.rows, shape.cols, HashFill{seed, 0.0, 1.0});
  call.input("residual", shape.dtype, shape.rows, shape.cols, HashFill{seed + 1, 0.0, 2.0});
  call.input("weight", shape.dtype, 1, shape.cols, HashFill{seed + 2, 1.0, 0.5});
  call.output("sum", shape.dtype, shape.rows, shape.cols);
  call.output("y", shape.dtype, shape.rows, shape.cols);
  call.output("rstd", Dtype::fp32, shape.rows, 1);
  return call;
}

// Few rows, because the simulator runs every thread; wide enough that the weight and what is saved
// for each row do not count.
std::vector<Shape> traffic_shapes() {
  return {{16, 4096, Dtype::fp32}, {16, 4096, Dtype::fp16}, {16, 4096, Dtype::bf16}};
}

// The hidden sizes of language models; the largest go well beyond any L2.
std::vector<Shape> bandwidth_shapes() {
  return {{4096, 2048, Dtype::fp16},
          {4096, 4096, Dtype::fp16},
          {4096, 8192, Dtype::fp16},
          {4096, 8192, Dtype::fp32},
          {16384, 4096, Dtype::bf16}};
}

Exercise block_sum_exercise() {
  Measurement measurement;
  measurement.traffic = traffic_shapes();
  measurement.bandwidth = bandwidth_shapes();
  measurement.least_bytes = [](const Shape& shape) {
    return tensor_bytes(shape) + shape.rows * kRowResult;
  };
  measurement.make_case = measured_block_sum;
  measurement.expectations = [](const Case& sampled, const std::vector<std::int64_t>&) {
    return std::vector<Expectation>{expected_sums(sampled)};
  };
  return {"rmsnorm/block_sum", "Sum a row", "01_rmsnorm/block_sum.cu",
          "docs/01_rmsnorm.md, \"1.1 Sum a row\"", std::move(measurement)};
}

/// 1.2 and 1.4.
Exercise forward_exercise(const char* function, const char* name, const char* title,
                          const char* section) {
  Measurement measurement;
  measurement.traffic = traffic_shapes();
  measurement.bandwidth = bandwidth_shapes();
  measurement.least_bytes = [](const Shape& shape) {
    const std::int64_t weight_bytes = tensor_bytes({1, shape.cols, shape.dtype});
    return 2 * tensor_bytes(shape) + weight_bytes + shape.rows * kRowResult;
  };
  measurement.make_case = [function](const Shape& shape, std::uint64_t seed) {
    return measured_forward(function, shape, seed);
  };
  measurement.expectations = [](const Case& sampled, const std::vector<std::int64_t>&) {
    return std::vector<Expectation>{expected_rstd(sampled), expected_y(sampled)};
  };
  return {std::string("rmsnorm/") + name, title, std::string("01_rmsnorm/") + name + ".cu",
          std::string("docs/01_rmsnorm.md, \"") + section + "\"", std::move(measurement)};
}

Exercise forward_exercise() {
  return forward_exercise("rmsnorm_forward", "forward", "The forward pass", "1.2 The forward pass");
}

Exercise forward_fast_exercise() {
  Exercise exercise = forward_exercise("rmsnorm_forward_fast", "forward_fast",
                                       "At the speed of memory", "1.4 At the speed of memory");
  for (const Shape& wide : {Shape{32768, 8192, Dtype::bf16}, Shape{8192, 16384, Dtype::bf16},
                            Shape{4096, 32768, Dtype::bf16}, Shape{4096, 65536, Dtype::bf16}}) {
    exercise.measurement.bandwidth.push_back(wide);
  }
  return exercise;
}

Exercise backward_exercise() {
  Measurement measurement;
  // Narrow, so that the rows outnumber the blocks: their partial sums do not count then.
  measurement.traffic = {{2048, 32, Dtype::fp32}};
  measurement.bandwidth = {{4096, 4096, Dtype::fp16},
                           {4096, 8192, Dtype::fp16},
                           {4096, 8192, Dtype::fp32},
                           {16384, 4096, Dtype::bf16},
                           {8192, 16384, Dtype::bf16}};
  measurement.least_bytes = [](const Shape& shape) {
    const std::int64_t vectors = 2 * tensor_bytes({1, shape.cols, shape.dtype});  // the weight's
    return 3 * tensor_bytes(shape) + vectors + shape.rows * kRowResult;
  };
  measurement.make_case = measured_backward;
  measurement.expectations = [](const Case& sampled, const std::vector<std::int64_t>&) {
    return std::vector<Expectation>{expected_dx(sampled)};
  };
  measurement.column_sums = [](const Case& sampled) {
    return std::vector<Expectation>{expected_dweight(sampled)};
  };
  return {"rmsnorm/backward", "The backward pass", "01_rmsnorm/backward.cu",
          "docs/01_rmsnorm.md, \"1.3 The backward pass\"", std::move(measurement)};
}

Exercise residual_exercise() {
  Measurement measurement;
  measurement.traffic = traffic_shapes();
  measurement.bandwidth = bandwidth_shapes();
  measurement.least_bytes = [](const Shape& shape) {
    const std::int64_t weight_bytes = tensor_bytes({1, shape.cols, shape.dtype});
    return 4 * tensor_bytes(shape) + weight_bytes + shape.rows * kRowResult;
  };
  measurement.make_case = measured_residual;
  measurement.expectations = [](const Case& sampled, const std::vector<std::int64_t>&) {
    return std::vector<Expectation>{expected_sum(sampled), expected_residual_rstd(sampled),
                                    expected_residual_y(sampled)};
  };
  return {"rmsnorm/residual", "With the residual", "01_rmsnorm/residual.cu",
          "docs/01_rmsnorm.md, \"1.5 With the residual\"", std::move(measurement)};
}

}  // namespace
}  // namespace onepass::rmsnorm

int main(int argc, char** argv) {
  using namespace onepass::rmsnorm;
  return onepass::verdict::grade({"rmsnorm",
                                  {block_sum_exercise(), forward_exercise(), backward_exercise(),
                                   forward_fast_exercise(), residual_exercise()}},
                                 argc, argv);
}
