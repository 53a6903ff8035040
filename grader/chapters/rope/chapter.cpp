// Chapter 3, RoPE: its exercises, and the sizes at which they are measured. The checks are in
// checks_<exercise>.cpp.
#include <utility>

#include "chapters/rope/shapes.h"
#include "verdict/contract/measured.h"

namespace onepass::rope {
namespace {

using verdict::Exercise;
using verdict::Measurement;
using verdict::Shape;
using namespace verdict::contract;

// A shape's rows are tokens, its columns the heads of a token, of 128 elements each.
constexpr std::int64_t kHeadDim = 128;
constexpr std::int64_t kQueriesForKey = 4;  // query heads that share a key head, in 3.3

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

/// heads: how many share a shape's columns.
Sizes sizes_of(const Shape& shape) {
  return {{"tokens", shape.rows}, {"heads", shape.cols / kHeadDim}, {"head_dim", kHeadDim}};
}

Sizes half_split_sizes(const Shape& shape) {
  return {{"tokens", shape.rows},
          {"q_heads", shape.cols / kHeadDim},
          {"k_heads", shape.cols / kQueriesForKey / kHeadDim},
          {"head_dim", kHeadDim},
          {"rotary_dim", kHeadDim},
          {"table_rows", shape.rows}};
}

/// The call is sampled by its tokens.
Case sampled_by_tokens(Case call) {
  return call.integer("rows", call.integer("tokens"));
}

/// The values of `output` in some tokens. Tables with numbers in [-1, 1) do for cosines and sines:
/// whatever is in them is multiplied.
Measurement measurement_of(const Function& function, Sizes (*sizes)(const Shape&),
                           const std::vector<const char*>& outputs) {
  Outputs expected_outputs;
  for (const char* output : outputs) {
    expected_outputs.emplace_back([output](const Case& call) { return expected(call, output); });
  }
  Measurement measurement = measured(function, sizes, expected_outputs);
  measurement.make_case = [make = measurement.make_case](const Shape& shape, std::uint64_t seed) {
    return sampled_by_tokens(make(shape, seed));
  };
  measurement.traffic = traffic_shapes();
  measurement.bandwidth = bandwidth_shapes();
  measurement.map = {2, 4 * kHeadDim, Dtype::fp32};
  measurement.cols_step = kHeadDim;
  return measurement;
}

Exercise interleaved_exercise() {
  return {"rope/interleaved", "Interleaved pairs", "03_rope/interleaved.cu",
          "docs/03_rope.md, \"3.1 Interleaved pairs\"",
          measurement_of(kInterleaved, sizes_of, {"x"})};
}

Exercise backward_exercise() {
  return {"rope/backward", "The backward pass", "03_rope/backward.cu",
          "docs/03_rope.md, \"3.2 The backward pass\"",
          measurement_of(kBackward, sizes_of, {"dx"})};
}

/// Token t is at position tokens - t: any order costs the same. The tables have a row more than
/// there are tokens, so that a sample of the call has all of their rows.
Case measured_half_split(const Shape& shape, std::uint64_t seed) {
  std::vector<std::int64_t> ids = counting(shape.rows);
  for (std::int64_t& id : ids) {
    id = shape.rows - id;
  }
  Sizes sizes = half_split_sizes(shape);
  ++sizes.at("table_rows");
  return sampled_by_tokens(call(
      kHalfSplit, shape.dtype,
      {.values = {{"positions", positions(Dtype::int32, ids)}}, .sizes = sizes, .seed = seed}));
}

Exercise half_split_exercise() {
  Measurement measurement = measurement_of(kHalfSplit, half_split_sizes, {"q", "k"});
  measurement.make_case = measured_half_split;
  measurement.cols_step = kQueriesForKey * kHeadDim;
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
