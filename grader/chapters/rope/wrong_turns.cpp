// Rotations with something wrong in them.
#include "chapters/rope/wrong_turns.h"

#include <cmath>
#include <utility>

namespace onepass::rope {

using verdict::Oracle;

namespace {

bool inside(std::int64_t index, std::size_t size) {
  return index >= 0 && static_cast<std::size_t>(index) < size;
}

/// What is right, for whatever `wrong` leaves empty.
WrongTurn completed(WrongTurn wrong, bool backward) {
  if (!wrong.pair) {
    wrong.pair = pair_of;
  }
  if (!wrong.angle) {
    wrong.angle = [](const Heads& heads, const AnglePlace& at) {
      return heads.rows[static_cast<std::size_t>(at.token)] * heads.half() + at.i;
    };
  }
  if (!wrong.turn) {
    const double sign = backward ? -1.0 : 1.0;
    wrong.turn = [sign](double a, double b, double cos, double sin) {
      return Turned{a * cos - sign * b * sin, sign * a * sin + b * cos};
    };
  }
  return wrong;
}

}  // namespace

std::optional<Field> wrongly_turned(const Heads& heads, bool backward, const WrongTurn& given) {
  const WrongTurn wrong = completed(given, backward);
  Field result = heads.x;
  for (std::int64_t token = 0; token < heads.tokens(); ++token) {
    for (std::int64_t head = 0; head < heads.heads; ++head) {
      for (std::int64_t i = 0; i < heads.half(); ++i) {
        const AnglePlace at{token, head, i};
        const Pair pair = wrong.pair(heads, head, i);
        const std::int64_t place = wrong.angle(heads, at);
        if (pair.second >= heads.x.cols || !inside(place, heads.cos.values.size())) {
          return std::nullopt;
        }
        double cos = heads.cos.values[static_cast<std::size_t>(place)];
        double sin = heads.sin.values[static_cast<std::size_t>(place)];
        if (wrong.computed_angle) {
          cos = std::cos(wrong.computed_angle(heads, at));
          sin = std::sin(wrong.computed_angle(heads, at));
        }
        const Turned turned =
            wrong.turn(heads.x(token, pair.first), heads.x(token, pair.second), cos, sin);
        result(token, pair.first) = turned.a;
        result(token, pair.second) = turned.b;
      }
    }
  }
  return result;
}

Oracle wrong_turn_of(std::string mistake, std::string sentence, WrongTurnOf wrong) {
  auto result = [wrong = std::move(wrong)](const Case& call,
                                           const std::string& output) -> std::optional<Field> {
    const std::optional<WrongTurn> turn = wrong(call, output);
    if (!turn) {
      return std::nullopt;
    }
    return wrongly_turned(heads_of(call, output), is_backward(call), *turn);
  };
  return {std::move(mistake), std::move(sentence), result};
}

Oracle wrong_turn(std::string mistake, std::string sentence, WrongTurn wrong) {
  return wrong_turn_of(
      std::move(mistake), std::move(sentence),
      [wrong = std::move(wrong)](const Case&, const std::string&) { return wrong; });
}

}  // namespace onepass::rope
