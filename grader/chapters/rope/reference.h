// What chapter 3's functions should give, in fp64, the plainest code there is. The inputs are the
// numbers as they were rounded to their dtype; nothing here is rounded again. A rotation may have
// hooks: with none it is what is right, with some it is a mistake.
#pragma once

#include <onepass/rope_types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "verdict/values/dtype.h"
#include "verdict/values/field.h"

namespace onepass::rope {

using verdict::Field;

/// One tensor and the angles that turn it.
struct Heads {
  Field x;  // [tokens, heads * head_dim]
  verdict::Dtype dtype = verdict::Dtype::fp32;
  std::int64_t heads = 1;
  std::int64_t head_dim = 2;
  Pairing pairing = Pairing::interleaved;
  bool backward = false;           // turned by the negative angles
  Field cos, sin;                  // [rows, half]
  std::vector<std::int64_t> rows;  // [tokens], the tables' row for each token

  // What a kernel may take for its own.
  std::int64_t q_heads = 1;     // of the call
  bool wide_positions = false;  // `rows` came in 64 bits

  std::int64_t tokens() const { return x.rows; }
  std::int64_t half() const { return cos.cols; }  // pairs that are turned, of each head
  /// -1 for a token that has none.
  std::int64_t row_of(std::int64_t token) const {
    const auto index = static_cast<std::size_t>(token);
    return index < rows.size() ? rows[index] : -1;
  }
};

/// Pair i of a token's head.
struct Place {
  std::int64_t token, head, i;
};

/// Two columns of x.
struct Pair {
  std::int64_t first, second;
};

Pair interleaved_pair(const Heads& heads, const Place& at);
Pair split_pair(const Heads& heads, const Place& at, std::int64_t distance);
/// As `pairing` says.
Pair right_pair(const Heads& heads, const Place& at);

/// The elements of a pair and its angle; the sine comes with the sign that the direction gives it.
struct Elements {
  verdict::Dtype dtype;
  bool backward;
  double a, b, cos, sin;

  double first() const { return a * cos - b * sin; }
  double second() const { return a * sin + b * cos; }
};

/// What the elements of a pair become.
using Turned = std::pair<double, double>;

/// A rotation as a kernel might make it. What is left alone is right.
struct Turn {
  using Number = std::function<std::int64_t(const Heads&, const Place&)>;

  /// How many heads of each token are turned, and how many pairs of each head.
  std::function<std::int64_t(const Heads&)> heads = [](const Heads& h) { return h.heads; };
  std::function<std::int64_t(const Heads&)> pairs = [](const Heads& h) { return h.half(); };
  std::function<Pair(const Heads&, const Place&)> pair = right_pair;
  /// Row and column of the tables; what is past the end of a row is in the next one.
  Number row = [](const Heads& h, const Place& at) { return h.row_of(at.token); };
  Number col = [](const Heads&, const Place& at) { return at.i; };
  /// An angle, instead of the tables' cosine and sine.
  std::function<double(const Heads&, const Place&)> angle = {};
  std::function<Turned(const Elements&)> turn = [](const Elements& e) {
    return Turned(e.first(), e.second());
  };
  /// Do the elements that no pair has become 0?
  bool rest_cleared = false;
};

/// (a, b) becomes (a cos - b sin, a sin + b cos); backward the sine is negative. Elements in no
/// pair stay as they are. Nothing if, with hooks, an index leaves x or the tables.
std::optional<Field> turned(const Heads& heads, const Turn& turn);
Field turned(const Heads& heads);

/// For each element sqrt(a^2 + b^2) of its pair, times sqrt(cos^2 + sin^2), which is 1 but for the
/// tables' rounding: how large the terms are that it is the sum of. 0 for elements in no pair.
Field pair_lengths(const Heads& heads);

}  // namespace onepass::rope
