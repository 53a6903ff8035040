// Mistakes that every rotation of chapter 3 can have.
#include <optional>

#include "chapters/rope/mistakes.h"
#include "chapters/rope/wrong_turns.h"

namespace onepass::rope {

using verdict::Oracle;
using verdict::round_to;

namespace {

double sign_of(const Case& call) {
  return is_backward(call) ? -1.0 : 1.0;
}

/// A wrong way of turning that depends on the dtype; `turn` gets the sine with the sign that the
/// call's direction gives it.
using TurnIn = Turned (*)(Dtype dtype, double a, double b, double cos, double sin);
Oracle turns(const char* mistake, const char* sentence, TurnIn turn) {
  return wrong_turn_of(mistake, sentence, [turn](const Case& call, const std::string&) {
    WrongTurn wrong;
    wrong.turn = [turn, dtype = call.dtype(), sign = sign_of(call)](double a, double b, double cos,
                                                                    double sin) {
      return turn(dtype, a, b, cos, sign * sin);
    };
    return std::optional(wrong);
  });
}

}  // namespace

void append_turning_mistakes(std::vector<Oracle>& all) {
  all.push_back(turns("sign-flipped",
                      "Each pair was turned the other way round, by the negative angle: mind the "
                      "sign of the sine.",
                      [](Dtype, double a, double b, double cos, double sin) {
                        return Turned{a * cos + b * sin, -a * sin + b * cos};
                      }));
  const char* const same_sign =
      "Both sines have the same sign: one of the two belongs subtracted, or it is no rotation.";
  all.push_back(
      turns("sign-flipped", same_sign, [](Dtype, double a, double b, double cos, double sin) {
        return Turned{a * cos + b * sin, a * sin + b * cos};
      }));
  all.push_back(
      turns("sign-flipped", same_sign, [](Dtype, double a, double b, double cos, double sin) {
        return Turned{a * cos - b * sin, -a * sin + b * cos};
      }));
  all.push_back(wrong_turn_of("cos-sin-swapped", "Cosine and sine have changed places.",
                              [](const Case& call, const std::string&) {
                                WrongTurn wrong;
                                wrong.turn = [sign = sign_of(call)](double a, double b, double cos,
                                                                    double sin) {
                                  return Turned{a * sin - sign * b * cos, sign * a * cos + b * sin};
                                };
                                return std::optional(wrong);
                              }));
  const char* const race =
      "The second element of each pair was computed from the new first one: read both into "
      "registers before you write either.";
  all.push_back(
      turns("in-place-race", race, [](Dtype dtype, double a, double b, double cos, double sin) {
        const double first = round_to(dtype, a * cos - b * sin);
        return Turned{first, first * sin + b * cos};
      }));
  all.push_back(
      turns("in-place-race",
            "The first element of each pair was computed from the new second one: read both into "
            "registers before you write either.",
            [](Dtype dtype, double a, double b, double cos, double sin) {
              const double second = round_to(dtype, a * sin + b * cos);
              return Turned{a * cos - second * sin, second};
            }));
  all.push_back(turns("half-pair", "Only the first element of each pair was turned.",
                      [](Dtype, double a, double b, double cos, double sin) {
                        return Turned{a * cos - b * sin, b};
                      }));
  all.push_back(turns("half-pair", "Only the second element of each pair was turned.",
                      [](Dtype, double a, double b, double cos, double sin) {
                        return Turned{a, a * sin + b * cos};
                      }));
  all.push_back(turns("half-angle",
                      "Cosine and sine were rounded to the 16-bit type before they were used: keep "
                      "them in float.",
                      [](Dtype dtype, double a, double b, double cos, double sin) {
                        const double c = round_to(dtype, cos);
                        const double s = round_to(dtype, sin);
                        return Turned{a * c - b * s, a * s + b * c};
                      }));
  all.push_back(turns("cast-order",
                      "The products were rounded to the 16-bit type before they were added: "
                      "convert to float first, compute, and round once, at the end.",
                      [](Dtype dtype, double a, double b, double cos, double sin) {
                        const auto in = [dtype](double value) { return round_to(dtype, value); };
                        return Turned{in(a * cos) - in(b * sin), in(a * sin) + in(b * cos)};
                      }));
  all.push_back(turns("cast-order",
                      "The rotation was computed in the 16-bit type: convert to float first, "
                      "compute, and round once, at the end.",
                      [](Dtype dtype, double a, double b, double cos, double sin) {
                        const auto in = [dtype](double value) { return round_to(dtype, value); };
                        const double c = in(cos);
                        const double s = in(sin);
                        return Turned{in(a * c) - in(b * s), in(a * s) + in(b * c)};
                      }));
}

void append_angle_mistakes(std::vector<Oracle>& all) {
  const auto angle = [&](const char* mistake, const char* sentence, auto place) {
    WrongTurn wrong;
    wrong.angle = place;
    all.push_back(wrong_turn(mistake, sentence, wrong));
  };
  const auto row_start = [](const Heads& heads, const AnglePlace& at) {
    return heads.rows[static_cast<std::size_t>(at.token)] * heads.half();
  };
  angle("frequency-exponent",
        "Pair i was turned by the angle of pair i / 2: the tables have one column a pair, not one "
        "an element.",
        [=](const Heads& heads, const AnglePlace& at) { return row_start(heads, at) + at.i / 2; });
  angle("frequency-exponent",
        "Pair i was turned by the angle in column 2i: the tables have one column a pair, not one "
        "an element.",
        [=](const Heads& heads, const AnglePlace& at) { return row_start(heads, at) + 2 * at.i; });
  angle("frequency-exponent",
        "All pairs were turned by the angle of the first: pair i has its own.", row_start);
  angle("table-row-length",
        "The rows of the tables were taken for head_dim long: they are half as long, one column a "
        "pair.",
        [](const Heads& heads, const AnglePlace& at) {
          return heads.rows[static_cast<std::size_t>(at.token)] * 2 * heads.half() + at.i;
        });
}

}  // namespace onepass::rope
