// Chapter 3, RoPE: its exercises, and the sizes at which they are measured. The checks are in
// checks_<exercise>.cpp.
#include "verdict/session/chapter.h"

#include <utility>

#include "chapters/rope/shapes.h"

namespace onepass::rope {
namespace {

using verdict::Exercise;
using verdict::HashFill;
using verdict::Measurement;
using verdict::Shape;

// A shape's rows are tokens, its columns the heads of a token, of 128 elements each.
constexpr std::int64_t kHeadDim = 128;
constexpr std::int64_t kHalf = kHeadDim / 2;
constexpr std::int64_t kQueriesForKey = 4;  // query heads that share a key head, in 3.3

std::int64_t tensor_bytes(const Shape& shape) {
  return shape.rows * shape.cols * static_cast<std::int64_t>(verdict::size_of(shape.dtype));
}

/// Of cosines and sines, a row a token, in fp32.
std::int64_t tables_bytes(const Shape& shape) {
  return shape.rows * 2 * kHalf * 4;
}

/// Bytes of one position.
constexpr std::int64_t kPosition = 4;

/// Numbers in [-1, 1) do for cosines and sines: whatever is in the tables is multiplied.
Case with_tables(Case call, std::int64_t rows, std::uint64_t seed) {
  call.input("cos", Dtype::fp32, rows, kHalf, HashFill{seed + 1, 0.0, 1.0});
  call.input("sin", Dtype::fp32, rows, kHalf, HashFill{seed + 2, 0.0, 1.0});
  return call;
}

Case measured_interleaved(const Shape& shape, std::uint64_t seed) {
  Case call("rope_interleaved", shape.dtype);
  call.integer("rows", shape.rows);  // what is sampled by
  call.integer("tokens", shape.rows).integer("heads", shape.cols / kHeadDim);
  call.integer("head_dim", kHeadDim);
  call.in_place("x", shape.dtype, shape.rows, shape.cols, HashFill{seed, 0.0, 1.0});
  return with_tables(std::move(call), shape.rows, seed);
}

Case measured_backward(const Shape& shape, std::uint64_t seed) {
  Case call("rope_backward", shape.dtype);
  call.integer("rows", shape.rows);  // what is sampled by
  call.integer("tokens", shape.rows).integer("heads", shape.cols / kHeadDim);
  call.integer("head_dim", kHeadDim);
  call.input("dy", shape.dtype, shape.rows, shape.cols, HashFill{seed, 0.0, 1.0});
  call.output("dx", shape.dtype, shape.rows, shape.cols);
  return with_tables(std::move(call), shape.rows, seed);
}

/// Token t is at position tokens - t: any order costs the same. The tables have a row more than
/// there are tokens, so that a sample of the call has all of their rows.
Case measured_half_split(const Shape& shape, std::uint64_t seed) {
  const std::int64_t k_cols = shape.cols / kQueriesForKey;
  std::vector<std::int64_t> ids = counting(shape.rows);
  for (std::int64_t& id : ids) {
    id = shape.rows - id;
  }
  Case call("rope_half_split, fp32 tables, int32", shape.dtype);
  call.integer("rows", shape.rows);  // what is sampled by
  call.integer("tokens", shape.rows).integer("q_heads", shape.cols / kHeadDim);
  call.integer("k_heads", k_cols / kHeadDim).integer("head_dim", kHeadDim);
  call.integer("rotary_dim", kHeadDim);
  call.integer("q_stride", shape.cols).integer("k_stride", k_cols);
  call.in_place("q", shape.dtype, shape.rows, shape.cols, HashFill{seed, 0.0, 1.0});
  call.in_place("k", shape.dtype, shape.rows, k_cols, HashFill{seed + 3, 0.0, 1.0});
  call.input("positions", positions(Dtype::int32, ids));
  return with_tables(std::move(call), shape.rows + 1, seed);
}

// Few tokens, because the simulator runs every thread; enough heads that the tables count as little
// as they do in a model.
std::vector<Shape> traffic_shapes() {
  return {{8, 32 * kHeadDim, Dtype::fp32},
          {8, 32 * kHeadDim, Dtype::fp16},
          {8, 32 * kHeadDim, Dtype::bf16}};
}

// 32 heads, as a model of 8 billion parameters has them; the largest go well beyond any L2.
std::vector<Shape> bandwidth_shapes() {
  return {{2048, 32 * kHeadDim, Dtype::fp16},
          {8192, 32 * kHeadDim, Dtype::fp16},
          {8192, 32 * kHeadDim, Dtype::fp32},
          {32768, 32 * kHeadDim, Dtype::bf16}};
}

/// What 3.1 and 3.2 share: `output` is as large as the input, and both are read or written once.
Measurement one_tensor(const char* output, Case (*make_case)(const Shape&, std::uint64_t)) {
  Measurement measurement;
  measurement.traffic = traffic_shapes();
  measurement.bandwidth = bandwidth_shapes();
  measurement.map = {2, 4 * kHeadDim, Dtype::fp32};
  measurement.cols_step = kHeadDim;
  measurement.least_bytes = [](const Shape& shape) {
    return 2 * tensor_bytes(shape) + tables_bytes(shape);
  };
  measurement.make_case = make_case;
  measurement.expectations = [output](const Case& sampled, const std::vector<std::int64_t>&) {
    return std::vector<Expectation>{expected(sampled, output)};
  };
  return measurement;
}

Exercise interleaved_exercise() {
  return {"rope/interleaved", "Interleaved pairs", "03_rope/interleaved.cu",
          "docs/03_rope.md, \"3.1 Interleaved pairs\"", one_tensor("x", measured_interleaved)};
}

Exercise backward_exercise() {
  return {"rope/backward", "The backward pass", "03_rope/backward.cu",
          "docs/03_rope.md, \"3.2 The backward pass\"", one_tensor("dx", measured_backward)};
}

Exercise half_split_exercise() {
  Measurement measurement = one_tensor("q", measured_half_split);
  measurement.cols_step = kQueriesForKey * kHeadDim;
  measurement.least_bytes = [](const Shape& shape) {
    return 2 * (tensor_bytes(shape) + tensor_bytes(shape) / kQueriesForKey) + tables_bytes(shape) +
           shape.rows * kPosition;
  };
  measurement.expectations = [](const Case& sampled, const std::vector<std::int64_t>&) {
    return std::vector<Expectation>{expected(sampled, "q"), expected(sampled, "k")};
  };
  return {"rope/half_split", "Split halves", "03_rope/half_split.cu",
          "docs/03_rope.md, \"3.3 Split halves\"", std::move(measurement)};
}

}  // namespace
}  // namespace onepass::rope

int main(int argc, char** argv) {
  using namespace onepass::rope;
  return onepass::verdict::grade(
      {"rope", {interleaved_exercise(), backward_exercise(), half_split_exercise()}}, argc, argv);
}
