// Calls of chapter 3's functions.
#include "chapters/rope/calls.h"

#include <cmath>
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
  verdict::contract::Arguments all = {
      .values = {{"q", std::move(arguments.q)},
                 {"k", std::move(arguments.k)},
                 {"positions", std::move(arguments.positions)},
                 {"cos", std::move(arguments.tables.cos)},
                 {"sin", std::move(arguments.tables.sin)}},
      .sizes = {{"q_heads", arguments.q_heads}, {"k_heads", arguments.k_heads}}};
  if (arguments.q_weight) {
    all.values["q_weight"] = std::move(arguments.q_weight);
    all.values["k_weight"] = std::move(arguments.k_weight);
  }
  if (arguments.eps) {
    all.scalars["eps"] = *arguments.eps;
  }
  return call(function, std::move(all), arguments.arrangement);
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

bool is_normalising(const Case& call) {
  return call.has_scalar("eps");
}

Field in_rows(const Field& field, std::int64_t cols) {
  Field result = field;
  result.rows = field.rows * field.cols / cols;
  result.cols = cols;
  return result;
}

Forward norm_of(const Case& call, const std::string& output) {
  return {.dtype = call.dtype(),
          .x = in_rows(call.values(output).field(), call.integer("head_dim")),
          .eps = eps_of(call),
          .centred = false,
          .weight = call.values(output + "_weight").field()};
}

Field normalised(const Case& call, const std::string& output) {
  return in_rows(*forward(norm_of(call, output), "y"), call.values(output).cols());
}

namespace {

/// Of each result, what was off in the elements of its pair before they were turned: nothing, or
/// what RMSNorm is off by. Its relative error is that of 1.2 (chapters/rmsnorm/bounds.cpp): half
/// that of the sum of squares, and 8 operations.
Field errors_before_turning(const Heads& heads, bool normalising) {
  if (!normalising) {
    return Field(heads.x.rows, heads.x.cols);
  }
  const auto shares = [](const Elements& e) {
    return Turned(e.a * std::abs(e.cos) + e.b * std::abs(e.sin),
                  e.a * std::abs(e.sin) + e.b * std::abs(e.cos));
  };
  Heads sizes = heads;
  sizes.x = magnitudes(heads.x);
  const double relative = bounds::u * (bounds::sum_of_squares(heads.head_dim) / 2.0 + 8.0);
  return map(turned(sizes, {.turn = shares}).value(),
             [&](double size) { return relative * size + bounds::kFlushed; });
}

}  // namespace

// Two products and their sum, in fp32, rounded to the type once. Each product is off by u times
// itself, and |a cos| + |b sin| <= length (Cauchy and Schwarz), of the pair and of its angle; the
// sum is off by u times |value| <= length. With a fused multiply-add one of them is missing. The
// products' errors are independent of each other, so 2 u length is seldom reached; it is the worst
// case nevertheless.
Expectation expected(const Case& call, const std::string& output) {
  Heads heads = heads_of(call, output);
  if (is_normalising(call)) {
    heads.x = normalised(call, output);
  }
  const Field value = turned(heads);
  const Field before = errors_before_turning(heads, is_normalising(call));
  Field bound = pair_lengths(heads);
  for (std::size_t i = 0; i < bound.values.size(); ++i) {
    bound.values[i] = bounds::rounded(call.dtype(), value.values[i],
                                      before.values[i] + 2.0 * bounds::u * bound.values[i]);
  }
  return {call.place_of(output), value, bound};
}

}  // namespace onepass::rope
