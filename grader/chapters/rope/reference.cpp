// The fp64 reference of chapter 3.
#include "chapters/rope/reference.h"

#include <cmath>

namespace onepass::rope {
namespace {

/// What is right, for whatever `turn` leaves empty.
Turn completed(Turn turn) {
  if (!turn.pairs) {
    turn.pairs = [](const Heads& heads) { return heads.half(); };
  }
  if (!turn.pair) {
    turn.pair = [](const Heads& heads, const Place& at) {
      return heads.pairing == Pairing::interleaved ? interleaved_pair(heads, at)
                                                   : split_pair(heads, at, heads.half());
    };
  }
  if (!turn.row) {
    turn.row = [](const Heads& heads, const Place& at) {
      return heads.rows[static_cast<std::size_t>(at.token)];
    };
  }
  if (!turn.col) {
    turn.col = [](const Heads&, const Place& at) { return at.i; };
  }
  if (!turn.turn) {
    turn.turn = [](const Heads&, double a, double b, double cos, double sin) {
      return rotated(a, b, cos, sin);
    };
  }
  return turn;
}

}  // namespace

Pair interleaved_pair(const Heads& heads, const Place& at) {
  const std::int64_t start = at.head * heads.head_dim;
  return {start + 2 * at.i, start + 2 * at.i + 1};
}

Pair split_pair(const Heads& heads, const Place& at, std::int64_t distance) {
  const std::int64_t start = at.head * heads.head_dim;
  return {start + at.i, start + at.i + distance};
}

Turned rotated(double a, double b, double cos, double sin) {
  return {a * cos - b * sin, a * sin + b * cos};
}

std::optional<Field> turned(const Heads& heads, const Turn& given) {
  const Turn turn = completed(given);
  const double sign = heads.backward ? -1.0 : 1.0;
  const std::int64_t pairs = turn.pairs(heads);
  Field result = turn.rest_cleared ? Field(heads.x.rows, heads.x.cols) : heads.x;
  for (std::int64_t token = 0; token < heads.tokens(); ++token) {
    for (std::int64_t head = 0; head < heads.heads; ++head) {
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
        const Turned now = turn.turn(heads, heads.x(token, pair.first), heads.x(token, pair.second),
                                     cos, sign * sin);
        result(token, pair.first) = now.a;
        result(token, pair.second) = now.b;
      }
    }
  }
  return result;
}

Field turned(const Heads& heads) {
  return turned(heads, {}).value();
}

Field pair_lengths(const Heads& heads) {
  const auto length = [](const Heads&, double a, double b, double cos, double sin) {
    const double both = std::hypot(a, b) * std::hypot(cos, sin);
    return Turned{both, both};
  };
  return turned(heads, {.turn = length, .rest_cleared = true}).value();
}

}  // namespace onepass::rope
