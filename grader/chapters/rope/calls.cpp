// Calls of chapter 3's functions.
#include "chapters/rope/calls.h"

#include <utility>

#include "verdict/bounds.h"

namespace onepass::rope {

namespace {

/// All but the gradients or x of a call of 3.1 or 3.2.
Case call_with_tables(const char* function, Dtype dtype, std::int64_t tokens, std::int64_t heads,
                      Tables tables, const Layout& layout) {
  Case call(function, dtype);
  call.integer("tokens", tokens).integer("heads", heads);
  call.integer("head_dim", 2 * tables.cos.cols());
  call.input("cos", std::move(tables.cos), layout).input("sin", std::move(tables.sin), layout);
  return call;
}

}  // namespace

Case interleaved_call(Matrix x, Tables tables, std::int64_t heads, Places places) {
  Case call = call_with_tables("rope_interleaved", x.dtype(), x.rows(), heads, std::move(tables),
                               places.tables);
  call.in_place("x", std::move(x), places.x);
  return call;
}

Case backward_call(Matrix dy, Tables tables, std::int64_t heads, Places places) {
  const Dtype dtype = dy.dtype();
  const std::int64_t tokens = dy.rows();
  const std::int64_t cols = dy.cols();
  Case call =
      call_with_tables("rope_backward", dtype, tokens, heads, std::move(tables), places.tables);
  call.input("dy", std::move(dy), places.x).output("dx", dtype, tokens, cols, places.x);
  return call;
}

Case backward_in_place_call(Matrix dy, Tables tables, std::int64_t heads, Places places) {
  const Dtype dtype = dy.dtype();
  Case call =
      call_with_tables("rope_backward", dtype, dy.rows(), heads, std::move(tables), places.tables);
  call.in_place("dy", std::move(dy), places.x).null("dx", verdict::Role::output, dtype, "dy");
  return call;
}

Case half_split_call(HalfSplit arguments) {
  const bool own_tables = arguments.tables.cos.dtype() != Dtype::fp32;
  const bool wide = arguments.positions.dtype() == Dtype::int64;
  const std::string function = own_tables ? "rope_half_split, own tables, int64"
                               : wide     ? "rope_half_split, fp32 tables, int64"
                                          : "rope_half_split, fp32 tables, int32";
  Case call(function, arguments.q.dtype());
  call.integer("tokens", arguments.q.rows());
  call.integer("q_heads", arguments.q_heads).integer("k_heads", arguments.k_heads);
  call.integer("head_dim", arguments.q.cols() / arguments.q_heads);
  call.integer("rotary_dim", 2 * arguments.tables.cos.cols());
  call.integer("q_stride", arguments.q_layout.stride_for(arguments.q.cols()));
  call.integer("k_stride", arguments.k_layout.stride_for(arguments.k.cols()));
  call.input("positions", std::move(arguments.positions));
  call.input("cos", std::move(arguments.tables.cos), arguments.tables_layout);
  call.input("sin", std::move(arguments.tables.sin), arguments.tables_layout);
  call.in_place("q", std::move(arguments.q), arguments.q_layout);
  call.in_place("k", std::move(arguments.k), arguments.k_layout);
  return call;
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
  heads.pairing = call.has_scalar("rotary_dim") ? Pairing::split : Pairing::interleaved;
  for (std::int64_t token = 0; token < heads.tokens(); ++token) {
    heads.rows.push_back(token);
  }
  if (heads.pairing == Pairing::split) {
    const Field positions = call.values("positions").field();
    for (std::size_t token = 0; token < heads.rows.size(); ++token) {
      heads.rows[token] = static_cast<std::int64_t>(positions.values[token]);
    }
  }
  return heads;
}

Expectation expected(const Case& call, const std::string& output) {
  const Heads heads = heads_of(call, output);
  const Field value = is_backward(call) ? turned_back(heads) : turned(heads);
  Field bound = pair_lengths(heads);
  for (std::size_t i = 0; i < bound.values.size(); ++i) {
    bound.values[i] = verdict::bounds::rope(call.dtype(), value.values[i], bound.values[i]);
  }
  return {call.place_of(output), value, bound};
}

}  // namespace onepass::rope
