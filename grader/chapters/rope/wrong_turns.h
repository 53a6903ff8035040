// Rotations with something wrong in them: which elements make a pair, whose angle they are turned
// by, and how. Chapter 3's mistakes are written down in these terms.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "chapters/rope/calls.h"
#include "verdict/diagnosis.h"

namespace onepass::rope {

/// Where in the tables, counted from their first element, the angle of a pair is taken from.
struct AnglePlace {
  std::int64_t token, head, i;
};

struct Turned {
  double a, b;
};

/// A rotation as a kernel might make it. What is left empty is right.
struct WrongTurn {
  /// Two columns of x for pair i of a head.
  std::function<Pair(const Heads&, std::int64_t head, std::int64_t i)> pair = {};
  /// Index into the tables as one long row.
  std::function<std::int64_t(const Heads&, const AnglePlace&)> angle = {};
  /// Instead of the tables' cosine and sine.
  std::function<double(const Heads&, const AnglePlace&)> computed_angle = {};
  /// From a, b, cos and sin to the new a and b.
  std::function<Turned(double a, double b, double cos, double sin)> turn = {};
};

/// The result; nothing if an index leaves x or the tables.
std::optional<Field> wrongly_turned(const Heads& heads, bool backward, const WrongTurn& wrong);

/// The mistake that makes every output of a call come out like that.
verdict::Oracle wrong_turn(std::string mistake, std::string sentence, WrongTurn wrong);

/// As above, where what is wrong depends on the call; nothing where the mistake makes no difference
/// to that output.
using WrongTurnOf =
    std::function<std::optional<WrongTurn>(const Case& call, const std::string& output)>;
verdict::Oracle wrong_turn_of(std::string mistake, std::string sentence, WrongTurnOf wrong);

}  // namespace onepass::rope
