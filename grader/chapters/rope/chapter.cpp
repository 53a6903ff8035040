// Chapter 3, RoPE: its exercises, and the sizes at which they are measured. The checks are in
// checks_<exercise>.cpp.
#include <algorithm>

#include "chapters/common/exercise.h"
#include "chapters/rope/shapes.h"

namespace onepass::rope {
namespace {

using common::exercise;
using verdict::Exercise;
using verdict::Measurement;
using namespace verdict::contract;

constexpr std::int64_t kHeadDim = 128;
constexpr std::int64_t kQueriesPerKey = 4;  // query heads that share a key head, from 3.3 on

Sizes some_tokens(std::int64_t tokens, std::int64_t heads) {
  return {{"tokens", tokens}, {"heads", heads}, {"head_dim", kHeadDim}};
}

/// What the other sizes are from 3.3 on, whatever the tokens and the heads of k.
void follow(Sizes& sizes) {
  sizes["q_heads"] = kQueriesPerKey * sizes.at("k_heads");
  sizes["rotary_dim"] = sizes.at("head_dim");
  sizes["table_rows"] = sizes.at("tokens");
}

/// heads: of q.
Sizes some_queries(std::int64_t tokens, std::int64_t heads) {
  Sizes sizes = {{"tokens", tokens},
                 {"k_heads", heads / kQueriesPerKey},
                 {"queries_per_key", kQueriesPerKey},  // of no tensor: for `cols`
                 {"head_dim", kHeadDim}};
  follow(sizes);
  return sizes;
}

/// The values of `output` in some tokens. Tables with numbers in [-1, 1) do for cosines and sines:
/// whatever is in them is multiplied.
Measurement measurement_of(const Function& function, const std::vector<std::string>& outputs,
                           Sizes (*sizes)(std::int64_t tokens, std::int64_t heads)) {
  Measurement measurement = measured(function, verdict::outputs_of(expected, outputs));
  // Few tokens, because the simulator runs every thread; enough heads that the tables count as
  // little as they do in a model.
  measurement.traffic = {
      {sizes(8, 32), Dtype::fp32}, {sizes(8, 32), Dtype::fp16}, {sizes(8, 32), Dtype::bf16}};
  // 32 heads, as a model of 8 billion parameters has them; the largest go well beyond any L2.
  measurement.bandwidth = {{sizes(2048, 32), Dtype::fp16},
                           {sizes(8192, 32), Dtype::fp16},
                           {sizes(8192, 32), Dtype::fp32},
                           {sizes(32768, 32), Dtype::bf16}};
  measurement.map = {sizes(2, 4), Dtype::fp32};
  measurement.rows = measurement.sampled_rows = "tokens";
  measurement.cols = "heads * head_dim";
  return measurement;
}

/// Of a function on q and k. Token t is at position tokens - 1 - t: any order costs the same.
Measurement on_q_and_k(const Function& function) {
  Measurement measurement = measurement_of(function, {"q", "k"}, some_queries);
  measurement.make_case = [&function](const verdict::Shape& shape, std::uint64_t seed) {
    std::vector<std::int64_t> ids = counting(shape.sizes.at("tokens"));
    std::reverse(ids.begin(), ids.end());
    return call(function, shape.dtype,
                {.values = {{"positions", positions(Dtype::int32, ids)}},
                 .sizes = shape.sizes,
                 .seed = seed});
  };
  measurement.cols = "k_heads * queries_per_key * head_dim";
  measurement.follow = follow;
  return measurement;
}

std::vector<Exercise> exercises() {
  return {
      exercise("interleaved", "Interleaved pairs", "3.1 Interleaved pairs",
               measurement_of(kInterleaved, {"x"}, some_tokens)),
      exercise("backward", "The backward pass", "3.2 The backward pass",
               measurement_of(kBackward, {"dx"}, some_tokens)),
      exercise("half_split", "Split halves", "3.3 Split halves", on_q_and_k(kHalfSplit.int32)),
      exercise("fast", "At the speed of memory", "3.4 At the speed of memory",
               on_q_and_k(kFastSplit.int32)),
      exercise("qk_norm", "RMSNorm of q and k first", "3.5 RMSNorm of q and k first",
               on_q_and_k(kQkNorm.int32)),
  };
}

}  // namespace
}  // namespace onepass::rope

int main(int argc, char** argv) {
  return onepass::verdict::grade({ONEPASS_CHAPTER, onepass::rope::exercises()}, argc, argv);
}
