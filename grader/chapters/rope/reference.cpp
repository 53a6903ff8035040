// The fp64 reference of chapter 3.
#include "chapters/rope/reference.h"

#include <cmath>

namespace onepass::rope {
namespace {

/// f(a, b, cos, sin) gives what the two elements of each pair become.
template <typename Function>
Field for_each_pair(const Heads& heads, Field result, Function f) {
  for (std::int64_t token = 0; token < heads.tokens(); ++token) {
    const std::int64_t row = heads.rows[static_cast<std::size_t>(token)];
    for (std::int64_t head = 0; head < heads.heads; ++head) {
      for (std::int64_t i = 0; i < heads.half(); ++i) {
        const Pair pair = pair_of(heads, head, i);
        const double a = heads.x(token, pair.first);
        const double b = heads.x(token, pair.second);
        const auto [first, second] = f(a, b, heads.cos(row, i), heads.sin(row, i));
        result(token, pair.first) = first;
        result(token, pair.second) = second;
      }
    }
  }
  return result;
}

struct Two {
  double first, second;
};

}  // namespace

Pair pair_of(const Heads& heads, std::int64_t head, std::int64_t i) {
  const std::int64_t start = head * heads.head_dim;
  if (heads.pairing == Pairing::interleaved) {
    return {start + 2 * i, start + 2 * i + 1};
  }
  return {start + i, start + i + heads.half()};
}

Field turned(const Heads& heads) {
  return for_each_pair(heads, heads.x, [](double a, double b, double cos, double sin) {
    return Two{a * cos - b * sin, a * sin + b * cos};
  });
}

Field turned_back(const Heads& heads) {
  return for_each_pair(heads, heads.x, [](double a, double b, double cos, double sin) {
    return Two{a * cos + b * sin, -a * sin + b * cos};
  });
}

Field pair_lengths(const Heads& heads) {
  const Field none(heads.x.rows, heads.x.cols);
  return for_each_pair(heads, none, [](double a, double b, double cos, double sin) {
    const double length = std::hypot(a, b) * std::hypot(cos, sin);
    return Two{length, length};
  });
}

}  // namespace onepass::rope
