// What chapter 3's functions should give, in fp64, the plainest code there is. The inputs are the
// numbers as they were rounded to their dtype; nothing here is rounded again.
#pragma once

#include <cstdint>
#include <vector>

#include "verdict/values/field.h"

namespace onepass::rope {

using verdict::Field;

/// Which two elements of a head make pair i: (2i, 2i + 1) or (i, i + half).
enum class Pairing { interleaved, split };

/// One tensor and the angles that turn it.
struct Heads {
  Field x;  // [tokens, heads * head_dim]
  std::int64_t heads = 1;
  std::int64_t head_dim = 2;
  Pairing pairing = Pairing::interleaved;
  Field cos, sin;                  // [rows, half]
  std::vector<std::int64_t> rows;  // [tokens], the tables' row for each token

  std::int64_t tokens() const { return x.rows; }
  std::int64_t half() const { return cos.cols; }  // pairs that are turned, of each head
};

/// Two columns of x.
struct Pair {
  std::int64_t first, second;
};
Pair pair_of(const Heads& heads, std::int64_t head, std::int64_t i);

/// (a, b) becomes (a cos - b sin, a sin + b cos). Elements in no pair stay as they are.
Field turned(const Heads& heads);

/// (a, b) becomes (a cos + b sin, -a sin + b cos): the other way round.
Field turned_back(const Heads& heads);

/// For each element sqrt(a^2 + b^2) of its pair, times sqrt(cos^2 + sin^2), which is 1 but for the
/// tables' rounding: how large the terms are that it is the sum of. 0 for elements in no pair.
Field pair_lengths(const Heads& heads);

}  // namespace onepass::rope
