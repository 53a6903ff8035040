#include "chapters/rope/functions.h"

#include <utility>

namespace onepass::rope {

using verdict::Dtype;
using namespace verdict::contract;

namespace {

const std::vector<Size> kSizes = {{"tokens", 0}, {"heads"}, {"head_dim", 2}};

Tensor table(const char* name) {
  return input(name, "tokens", "head_dim / 2").of(Dtype::fp32);
}

Function half_split(const char* name, std::optional<Dtype> table_type, Dtype position_type) {
  const auto angles = [&](const char* table) {
    Tensor result = input(table, "table_rows", "rotary_dim / 2");
    result.dtype = table_type;
    return result;
  };
  return {name,
          {{"tokens", 0},
           {"q_heads"},
           {"k_heads"},
           {"head_dim", 2},
           {"rotary_dim", 2},
           {"table_rows", 1, kMostInt, false}},
          {in_place("q", "tokens", "q_heads * head_dim").strided(),
           in_place("k", "tokens", "k_heads * head_dim").strided(),
           input("positions", "tokens", 1).of(position_type), angles("cos"), angles("sin")},
          {}};
}

}  // namespace

const Function& interleaved_function() {
  static const Function function = {
      "rope_interleaved",
      kSizes,
      {in_place("x", "tokens", "heads * head_dim"), table("cos"), table("sin")},
      {}};
  return function;
}

const Function& backward_function() {
  static const Function function = {
      "rope_backward",
      kSizes,
      {input("dy", "tokens", "heads * head_dim"), table("cos"), table("sin"),
       output("dx", "tokens", "heads * head_dim").over("dy")},
      {}};
  return function;
}

const Function& half_split_function(Types types) {
  static const Function functions[] = {
      half_split("rope_half_split, fp32 tables, int32", Dtype::fp32, Dtype::int32),
      half_split("rope_half_split, fp32 tables, int64", Dtype::fp32, Dtype::int64),
      half_split("rope_half_split, own tables, int64", std::nullopt, Dtype::int64)};
  return functions[static_cast<int>(types)];
}

}  // namespace onepass::rope
