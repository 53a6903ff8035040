// Exercise 3.3: what q and k would be with one mistake.
#include <cmath>
#include <optional>

#include "chapters/rope/mistakes.h"
#include "chapters/rope/shapes.h"
#include "chapters/rope/wrong_turns.h"

namespace onepass::rope {

using verdict::Oracle;

namespace {

/// The angles of pair i, computed from the position instead of read from the tables.
double angle_at(const Heads& heads, const AnglePlace& at, double exponent) {
  const auto position = static_cast<double>(heads.rows[static_cast<std::size_t>(at.token)]);
  const double share = static_cast<double>(at.i) / static_cast<double>(heads.half());
  return position * std::pow(kBase, -exponent * share);
}

/// A mistake in the tables' row. `row`: of a token's head, in that tensor of that call.
using RowOf = std::function<std::int64_t(const Case& call, const std::string& output,
                                         const Heads& heads, const AnglePlace& at)>;
Oracle wrong_row(const char* mistake, const char* sentence, RowOf row) {
  return wrong_turn_of(mistake, sentence, [row](const Case& call, const std::string& output) {
    WrongTurn wrong;
    wrong.angle = [=, &call](const Heads& heads, const AnglePlace& at) {
      return row(call, output, heads, at) * heads.half() + at.i;
    };
    return std::optional(wrong);
  });
}

std::int64_t token_row(const Heads& heads, std::int64_t token) {
  return token < heads.tokens() ? heads.rows[static_cast<std::size_t>(token)] : -1;
}

void append_row_mistakes(std::vector<Oracle>& all) {
  all.push_back(wrong_row("position-ignored",
                          "Token t was turned by row t of the tables: its row is positions[t].",
                          [](const Case&, const std::string&, const Heads&, const AnglePlace& at) {
                            return at.token;
                          }));
  all.push_back(wrong_row("position-ignored",
                          "Every token was turned by row 0 of the tables: its row is positions[t].",
                          [](const Case&, const std::string&, const Heads&, const AnglePlace&) {
                            return std::int64_t{0};
                          }));
  all.push_back(wrong_row(
      "position-includes-head",
      "Head h of token t was turned by row positions[t] + h: all heads of a token share its row.",
      [](const Case&, const std::string&, const Heads& heads, const AnglePlace& at) {
        return token_row(heads, at.token) + at.head;
      }));
  all.push_back(wrong_row(
      "position-width",
      "The positions were read as if they were 32 bits wide, and they are 64: every other one is "
      "the upper half of the one before, 0. Read them through the type that is given.",
      [](const Case& call, const std::string&, const Heads& heads, const AnglePlace& at) {
        const bool wide = call.buffer("positions").dtype == Dtype::int64;
        return !wide ? -1 : at.token % 2 == 0 ? token_row(heads, at.token / 2) : 0;
      }));
  all.push_back(wrong_row(
      "batch-or-head-offset",
      "k's heads were counted as if k had as many as q: token and head of k come from k_heads.",
      [](const Case& call, const std::string& output, const Heads& heads, const AnglePlace& at) {
        const std::int64_t row = at.token * heads.heads + at.head;
        return output == "k" ? token_row(heads, row / call.integer("q_heads")) : -1;
      }));
}

/// `pair`: of the call's scalars and a pair's number, from the start of the head.
void append_pairing_mistakes(std::vector<Oracle>& all) {
  WrongTurn neighbours;
  neighbours.pair = [](const Heads& heads, std::int64_t head, std::int64_t i) {
    const std::int64_t start = head * heads.head_dim;
    return Pair{start + 2 * i, start + 2 * i + 1};
  };
  all.push_back(wrong_turn("wrong-pairing",
                           "Neighbours were paired, 2i and 2i + 1, as in 3.1: here element i is "
                           "paired with element i + rotary_dim / 2.",
                           neighbours));
  WrongTurn whole_head;
  whole_head.pair = [](const Heads& heads, std::int64_t head, std::int64_t i) {
    const std::int64_t start = head * heads.head_dim;
    return Pair{start + i, start + i + heads.head_dim / 2};
  };
  all.push_back(wrong_turn("beyond-rotary-dim",
                           "Element i was paired with element i + head_dim / 2: only rotary_dim "
                           "elements are turned, so its partner is i + rotary_dim / 2.",
                           whole_head));
}

/// Pairs (i, i + head_dim / 2) for the whole head, reading on in the tables where a row ends.
Oracle whole_head_turned() {
  auto result = [](const Case& call, const std::string& output) -> std::optional<Field> {
    const Heads heads = heads_of(call, output);
    Field x = heads.x;
    for (std::int64_t token = 0; token < heads.tokens(); ++token) {
      for (std::int64_t head = 0; head < heads.heads; ++head) {
        for (std::int64_t i = 0; i < heads.head_dim / 2; ++i) {
          const std::int64_t place = token_row(heads, token) * heads.half() + i;
          if (static_cast<std::size_t>(place) >= heads.cos.values.size()) {
            return std::nullopt;
          }
          const double cos = heads.cos.values[static_cast<std::size_t>(place)];
          const double sin = heads.sin.values[static_cast<std::size_t>(place)];
          const std::int64_t first = head * heads.head_dim + i;
          const std::int64_t second = first + heads.head_dim / 2;
          x(token, first) = heads.x(token, first) * cos - heads.x(token, second) * sin;
          x(token, second) = heads.x(token, first) * sin + heads.x(token, second) * cos;
        }
      }
    }
    return x;
  };
  return {"beyond-rotary-dim",
          "The whole head was turned: the elements from rotary_dim on stay as they are.", result};
}

/// The elements that no pair has, cleared.
Oracle rest_cleared() {
  auto result = [](const Case& call, const std::string& output) -> std::optional<Field> {
    const Heads heads = heads_of(call, output);
    Field x = turned(heads);
    for (std::int64_t token = 0; token < heads.tokens(); ++token) {
      for (std::int64_t col = 0; col < x.cols; ++col) {
        const bool in_a_pair = col % heads.head_dim < 2 * heads.half();
        x(token, col) = in_a_pair ? x(token, col) : 0.0;
      }
    }
    return x;
  };
  return {"beyond-rotary-dim",
          "The elements from rotary_dim on were cleared: they stay as they are.", result};
}

Oracle left_as_it_was() {
  auto result = [](const Case& call, const std::string& output) -> std::optional<Field> {
    return call.values(output).field();
  };
  return {"output-partly-written", "It was left as it was before the call.", result};
}

void append_computed_angles(std::vector<Oracle>& all) {
  WrongTurn exponent;
  exponent.computed_angle = [](const Heads& heads, const AnglePlace& at) {
    return angle_at(heads, at, 0.5);
  };
  all.push_back(wrong_turn("frequency-exponent",
                           "The angles are those of base^(-i / rotary_dim): it is 2i, and better "
                           "still, read the tables.",
                           exponent));
  for (Dtype dtype : kSixteenBit) {
    WrongTurn rounded;
    rounded.computed_angle = [dtype](const Heads& heads, const AnglePlace& at) {
      return verdict::round_to(dtype, angle_at(heads, at, 1.0));
    };
    all.push_back(wrong_turn("half-angle",
                             "The angle was computed in a 16-bit type, and its error grows with "
                             "the position: read cosine and sine from the tables.",
                             rounded));
  }
}

}  // namespace

std::vector<Oracle> half_split_mistakes() {
  std::vector<Oracle> all;
  append_row_mistakes(all);
  append_pairing_mistakes(all);
  all.push_back(whole_head_turned());
  all.push_back(rest_cleared());
  all.push_back(left_as_it_was());
  append_turning_mistakes(all);
  append_angle_mistakes(all);
  append_computed_angles(all);
  return all;
}

}  // namespace onepass::rope
