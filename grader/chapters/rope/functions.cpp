// Chapter 3's functions as data: what onepass/rope.h says of each.
#include "chapters/rope/calls.h"

namespace onepass::rope {

using namespace verdict::contract;

namespace {

const std::vector<Size> kSizes = {{"tokens", 0}, {"heads"}, {"head_dim", 2, 8192}};

const Tensor kCos = {"cos", input, "tokens", "head_dim / 2", {.dtype = Dtype::fp32}};
const Tensor kSin = {"sin", input, "tokens", "head_dim / 2", {.dtype = Dtype::fp32}};

Function on_q_and_k(const std::string& name, std::optional<Dtype> table, Dtype position,
                    const std::vector<Scalar>& scalars) {
  return {name,
          {{"tokens", 0},
           {"q_heads"},
           {"k_heads"},
           {"head_dim", 2, 8192},
           {"rotary_dim", 2, 8192},
           {.name = "table_rows", .is_argument = false}},
          {{"q", in_place, "tokens", "q_heads * head_dim", {.strided = true}},
           {"k", in_place, "tokens", "k_heads * head_dim", {.strided = true}},
           {"positions", input, "tokens", 1, {.dtype = position}},
           {"cos", input, "table_rows", "rotary_dim / 2", {.dtype = table}},
           {"sin", input, "table_rows", "rotary_dim / 2", {.dtype = table}}},
          scalars};
}

OnQAndK with_all_types(const std::string& name, const std::vector<Scalar>& scalars = {}) {
  return {on_q_and_k(name + ", fp32 tables, int32", Dtype::fp32, Dtype::int32, scalars),
          on_q_and_k(name + ", fp32 tables, int64", Dtype::fp32, Dtype::int64, scalars),
          on_q_and_k(name + ", own tables, int64", std::nullopt, Dtype::int64, scalars)};
}

OnQAndK fast(Pairing pairing) {
  return with_all_types("rope_fast", {{"pairing", static_cast<std::int64_t>(pairing)}});
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

}  // namespace onepass::rope
