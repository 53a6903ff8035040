// The fp64 reference of chapter 3.
#include "chapters/rope/reference.h"

#include <cmath>

namespace onepass::rope {

Pair interleaved_pair(const Heads& heads, const Place& at) {
  const std::int64_t start = at.head * heads.head_dim;
  return {start + 2 * at.i, start + 2 * at.i + 1};
}

Pair split_pair(const Heads& heads, const Place& at, std::int64_t distance) {
  const std::int64_t start = at.head * heads.head_dim;
  return {start + at.i, start + at.i + distance};
}

Pair right_pair(const Heads& heads, const Place& at) {
  return heads.pairing == Pairing::interleaved ? interleaved_pair(heads, at)
                                               : split_pair(heads, at, heads.half());
}

std::optional<Field> turned(const Heads& heads, const Turn& turn) {
  const double sign = heads.backward ? -1.0 : 1.0;
  const std::int64_t turned_heads = turn.heads(heads);
  const std::int64_t pairs = turn.pairs(heads);
  Field result = turn.rest_cleared ? Field(heads.x.rows, heads.x.cols) : heads.x;
  for (std::int64_t token = 0; token < heads.tokens(); ++token) {
    for (std::int64_t head = 0; head < turned_heads; ++head) {
      for (std::int64_t i = 0; i < pairs; ++i) {
        const Place at{token, head, i};
        const Pair pair = turn.pair(heads, at);
        const std::int64_t place = turn.row(heads, at) * heads.half() + turn.col(heads, at);
        const auto size = static_cast<std::int64_t>(heads.cos.values.size());
        if (pair.second >= heads.x.cols || place < 0 || place >= size) {
          return std::nullopt;
        }
        double cos = heads.cos.values[static_cast<std::size_t>(place)];
        double sin = heads.sin.values[static_cast<std::size_t>(place)];
        if (turn.angle) {
          cos = std::cos(turn.angle(heads, at));
          sin = std::sin(turn.angle(heads, at));
        }
        const Turned now = turn.turn({heads.dtype, heads.backward, heads.x(token, pair.first),
                                      heads.x(token, pair.second), cos, sign * sin});
        result(token, pair.first) = now.first;
        result(token, pair.second) = now.second;
      }
    }
  }
  return result;
}

Field turned(const Heads& heads) {
  return turned(heads, {}).value();
}

Field pair_lengths(const Heads& heads) {
  const auto length = [](const Elements& e) {
    const double both = std::hypot(e.a, e.b) * std::hypot(e.cos, e.sin);
    return Turned(both, both);
  };
  return turned(heads, {.turn = length, .rest_cleared = true}).value();
}

}  // namespace onepass::rope
