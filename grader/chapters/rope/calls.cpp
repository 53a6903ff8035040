// Calls of chapter 3's functions.
#include "chapters/rope/calls.h"

#include <numeric>
#include <utility>

namespace onepass::rope {

namespace bounds = verdict::bounds;

Case call_of(const Function& function, Matrix x_or_dy, Tables tables,
             const Arrangement& arrangement) {
  return call(function,
              {.values = {{function.tensors.front().name, std::move(x_or_dy)},
                          {"cos", std::move(tables.cos)},
                          {"sin", std::move(tables.sin)}}},
              arrangement);
}

Case q_and_k_call(const OnQAndK& functions, QAndK arguments) {
  const bool own_tables = arguments.tables.cos.dtype() != Dtype::fp32;
  const bool wide = arguments.positions.dtype() == Dtype::int64;
  const Function& function = own_tables ? functions.own_tables
                             : wide     ? functions.int64
                                        : functions.int32;
  return call(function,
              {.values = {{"q", std::move(arguments.q)},
                          {"k", std::move(arguments.k)},
                          {"positions", std::move(arguments.positions)},
                          {"cos", std::move(arguments.tables.cos)},
                          {"sin", std::move(arguments.tables.sin)}},
               .sizes = {{"q_heads", arguments.q_heads}, {"k_heads", arguments.k_heads}}},
              arguments.arrangement);
}

bool is_backward(const Case& call) {
  return call.function() == "rope_backward";
}

Heads heads_of(const Case& call, const std::string& output) {
  Heads heads;
  heads.x = call.values(is_backward(call) ? "dy" : output).field();
  heads.heads = call.integer(output == "q" || output == "k" ? output + "_heads" : "heads");
  heads.head_dim = call.integer("head_dim");
  heads.cos = call.values("cos").field();
  heads.sin = call.values("sin").field();
  heads.dtype = call.dtype();
  heads.backward = is_backward(call);
  const bool on_q_and_k = call.has_scalar("rotary_dim");
  heads.pairing = call.has_scalar("pairing") ? static_cast<Pairing>(call.integer("pairing"))
                  : on_q_and_k               ? Pairing::split
                                             : Pairing::interleaved;
  heads.rows.resize(static_cast<std::size_t>(heads.tokens()));
  std::iota(heads.rows.begin(), heads.rows.end(), 0);
  if (on_q_and_k) {
    heads.q_heads = call.integer("q_heads");
    heads.wide_positions = call.buffer("positions").dtype == Dtype::int64;
    const Field positions = call.values("positions").field();
    heads.rows.assign(positions.values.begin(), positions.values.end());
  }
  return heads;
}

// Two products and their sum, in fp32, rounded to the type once. Each product is off by u times
// itself, and |a cos| + |b sin| <= length (Cauchy and Schwarz), of the pair and of its angle; the
// sum is off by u times |value| <= length. With a fused multiply-add one of them is missing. The
// products' errors are independent of each other, so 2 u length is seldom reached; it is the worst
// case nevertheless.
Expectation expected(const Case& call, const std::string& output) {
  const Heads heads = heads_of(call, output);
  const Field value = turned(heads);
  Field bound = pair_lengths(heads);
  for (std::size_t i = 0; i < bound.values.size(); ++i) {
    bound.values[i] =
        bounds::rounded(call.dtype(), value.values[i], 2.0 * bounds::u * bound.values[i]);
  }
  return {call.place_of(output), value, bound};
}

}  // namespace onepass::rope
