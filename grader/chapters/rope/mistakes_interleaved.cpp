// Exercises 3.1 and 3.2: what x or dx would be with one mistake.
#include <optional>

#include "chapters/rope/mistakes.h"
#include "chapters/rope/wrong_turns.h"

namespace onepass::rope {

using verdict::Oracle;

namespace {

/// A mistake in the tables' row of a token. `row`: from token and head.
Oracle wrong_row(
    const char* mistake, const char* sentence,
    std::function<std::int64_t(const Heads&, std::int64_t token, std::int64_t head)> row) {
  WrongTurn wrong;
  wrong.angle = [row](const Heads& heads, const AnglePlace& at) {
    return row(heads, at.token, at.head) * heads.half() + at.i;
  };
  return wrong_turn(mistake, sentence, wrong);
}

}  // namespace

std::vector<Oracle> interleaved_mistakes() {
  std::vector<Oracle> all;
  all.push_back(wrong_row(
      "position-ignored",
      "Every token was turned by the angles of token 0: find the token that the pair belongs to.",
      [](const Heads&, std::int64_t, std::int64_t) { return std::int64_t{0}; }));
  all.push_back(wrong_row(
      "position-includes-head",
      "Head h of token t was turned by row t * heads + h: all heads of a token share row t. Divide "
      "by the number of heads too.",
      [](const Heads& heads, std::int64_t token, std::int64_t head) {
        return token * heads.heads + head;
      }));
  all.push_back(wrong_row(
      "position-includes-head",
      "Each head was turned by the row of its own number: the row is the token's, not the head's.",
      [](const Heads&, std::int64_t, std::int64_t head) { return head; }));
  all.push_back(wrong_row(
      "transposed-index",
      "The token was taken for what is left over by tokens: x is [tokens, heads, head_dim], so it "
      "is what comes out of the division by heads.",
      [](const Heads& heads, std::int64_t token, std::int64_t head) {
        return (token * heads.heads + head) % heads.tokens();
      }));
  WrongTurn split;
  split.pair = [](const Heads& heads, std::int64_t head, std::int64_t i) {
    const std::int64_t start = head * heads.head_dim;
    return Pair{start + i, start + i + heads.half()};
  };
  all.push_back(wrong_turn("wrong-pairing",
                           "Element i was paired with element i + head_dim / 2, as in 3.3: here "
                           "the pairs are neighbours, 2i and 2i + 1.",
                           split));
  append_turning_mistakes(all);
  append_angle_mistakes(all);
  return all;
}

}  // namespace onepass::rope
