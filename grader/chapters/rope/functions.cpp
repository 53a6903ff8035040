// Chapter 3's functions as data: what onepass/rope.h says of each.
#include "chapters/rope/calls.h"

namespace onepass::rope {

using namespace verdict::contract;

namespace {

const Size kHeads = {.name = "heads", .most = kMostHeads, .is_width = false};
const std::vector<Size> kSizes = {{"tokens", 0}, kHeads, {"head_dim", 2, 8192, 2}};

const Tensor kCos = {"cos", input, "tokens", "head_dim / 2", {.dtype = Dtype::fp32}};
const Tensor kSin = {"sin", input, "tokens", "head_dim / 2", {.dtype = Dtype::fp32}};

/// What a function takes besides what 3.3 takes.
struct More {
  std::int64_t most_head_dim = 8192;
  std::vector<Tensor> weights = {};
  std::vector<Scalar> scalars = {};
};

Function on_q_and_k(const std::string& name, std::optional<Dtype> table, Dtype position,
                    const More& more) {
  Function function = {name,
                       {{"tokens", 0},
                        {.name = "q_heads", .most = kMostHeads, .is_width = false},
                        {.name = "k_heads", .most = kMostHeads, .is_width = false},
                        {.name = "head_dim", .least = 2, .most = more.most_head_dim, .multiple = 2},
                        {.name = "rotary_dim",
                         .least = 2,
                         .most = more.most_head_dim,
                         .multiple = 2,
                         .part_of = "head_dim"},
                        {.name = "table_rows", .is_argument = false}},
                       {{"q", in_place, "tokens", "q_heads * head_dim", {.strided = true}},
                        {"k", in_place, "tokens", "k_heads * head_dim", {.strided = true}},
                        {"positions", input, "tokens", 1, {.dtype = position}},
                        {"cos", input, "table_rows", "rotary_dim / 2", {.dtype = table}},
                        {"sin", input, "table_rows", "rotary_dim / 2", {.dtype = table}}},
                       more.scalars};
  function.tensors.insert(function.tensors.end(), more.weights.begin(), more.weights.end());
  return function;
}

OnQAndK with_all_types(const std::string& name, const More& more = {}) {
  return {on_q_and_k(name + ", fp32 tables, int32", Dtype::fp32, Dtype::int32, more),
          on_q_and_k(name + ", fp32 tables, int64", Dtype::fp32, Dtype::int64, more),
          on_q_and_k(name + ", own tables, int64", std::nullopt, Dtype::int64, more)};
}

OnQAndK fast(Pairing pairing) {
  return with_all_types("rope_fast",
                        {.scalars = {{"pairing", static_cast<std::int64_t>(pairing)}}});
}

OnQAndK qk_norm() {
  return with_all_types(
      "rope_qk_norm", {.most_head_dim = 1024,
                       .weights = {{"q_weight", input, 1, "head_dim", {.mean = 1.0, .scale = 0.5}},
                                   {"k_weight", input, 1, "head_dim", {.mean = 1.0, .scale = 0.5}}},
                       .scalars = {{"eps", 1e-6}}});
}

}  // namespace

const Function kInterleaved = {
    "rope_interleaved", kSizes, {{"x", in_place, "tokens", "heads * head_dim"}, kCos, kSin}};

const Function kBackward = {"rope_backward",
                            kSizes,
                            {{"dy", input, "tokens", "heads * head_dim"},
                             kCos,
                             kSin,
                             {"dx", output, "tokens", "heads * head_dim", {.over = "dy"}}}};

const OnQAndK kHalfSplit = with_all_types("rope_half_split");
const OnQAndK kFastInterleaved = fast(Pairing::interleaved);
const OnQAndK kFastSplit = fast(Pairing::split);
const OnQAndK kQkNorm = qk_norm();

}  // namespace onepass::rope
