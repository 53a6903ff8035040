// What x, dx, q or k would be with one mistake.
#include "chapters/rope/mistakes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "chapters/common/mistakes.h"
#include "chapters/rope/calls.h"
#include "chapters/rope/shapes.h"

namespace onepass::rope {

using common::Table;
using verdict::Oracle;
using verdict::round_to;

namespace {

/// The pair turned by another angle.
Turned rotated(Elements e, double cos, double sin) {
  e.cos = cos;
  e.sin = sin;
  return {e.first(), e.second()};
}

/// The signs stay where they are.
Turned with_swapped_angles(const Elements& e) {
  const double sign = e.backward ? -1.0 : 1.0;
  return rotated(e, sign * e.sin, sign * e.cos);
}

/// The angle of a pair, computed from the position instead of read from the tables.
double angle_at(const Heads& heads, const Place& at, double exponent) {
  const double share = static_cast<double>(at.i) / static_cast<double>(heads.half());
  return static_cast<double>(heads.row_of(at.token)) * std::pow(kBase, -exponent * share);
}

Turn with_rounded_angle(Dtype dtype) {
  return {.angle = [dtype](const Heads& heads, const Place& at) {
    return round_to(dtype, angle_at(heads, at, 1.0));
  }};
}

Pair whole_head_pair(const Heads& heads, const Place& at) {
  return split_pair(heads, at, heads.head_dim / 2);
}

const char* const kSameSign =
    "Both sines have the same sign: one of the two belongs subtracted, or it is no rotation.";
const char* const kAngleRounded =
    "The angle was computed in a 16-bit type, and its error grows with the position: read cosine "
    "and sine from the tables.";

const common::Way<Turn> kRestCleared = {
    "The elements from rotary_dim on were cleared: they stay as they are.", {.rest_cleared = true}};

/// Of a mistake that a call cannot show: beyond every tensor.
constexpr Pair kNoPair = {0, std::numeric_limits<std::int64_t>::max()};

/// Ways in which each group of so many tokens has the row of its first, and the others' follow from
/// it: row(heads, first, offset). A block that has several tokens goes wrong so.
std::vector<common::Way<Turn>> by_first_of_group(
    const char* sentence,
    const std::function<std::int64_t(const Heads&, std::int64_t first, std::int64_t offset)>& row) {
  std::vector<common::Way<Turn>> ways;
  for (std::int64_t group : {4, 8, 2, 16, 32, 64, 128, 256}) {
    ways.push_back(
        {fmt::format(fmt::runtime(sentence), group), {.row = [=](const Heads& h, const Place& at) {
           return row(h, at.token / group * group, at.token % group);
         }}});
  }
  return ways;
}

// ---- 3.1 and 3.2: the row of a token is its number ----

/// Runs of pairs, each with the angles that follow that of its first pair.
common::Mistake<Turn> runs_across_heads() {
  common::Mistake<Turn> mistake{"run-across-channels", {}};
  for (std::int64_t run : {8, 4, 2}) {
    const auto first_of = [run](const Heads& h, const Place& at) {
      return ((at.token * h.heads + at.head) * h.half() + at.i) / run * run;
    };
    mistake.ways.push_back(
        {"Neighbouring pairs were turned by the angles that follow the first one's, where a run of "
         "them reaches into the next head, which begins with angle 0: a run has one head only if "
         "its length divides head_dim / 2.",
         {.row = [=](const Heads& h,
                     const Place& at) { return h.row_of(first_of(h, at) / h.half() / h.heads); },
          .col =
              [=](const Heads& h, const Place& at) {
                const std::int64_t first = first_of(h, at);
                return first % h.half() + (at.token * h.heads + at.head) * h.half() + at.i - first;
              }}});
  }
  return mistake;
}

const Table<Turn> kInterleavedMistakes = {
    {"position-ignored",
     {{"Every token was turned by the angles of token 0: find the token that the pair belongs to.",
       {.row = [](const Heads&, const Place&) { return 0; }}}}},
    {"position-ignored",
     by_first_of_group(
         "Of every {} tokens all were turned by the angles of the first: each has its "
         "own row of the tables.",
         [](const Heads&, std::int64_t first, std::int64_t) { return first; })},
    {"position-includes-head",
     {{"Head h of token t was turned by row t * heads + h: all heads of a token share row t. "
       "Divide by the number of heads too.",
       {.row = [](const Heads& h, const Place& at) { return at.token * h.heads + at.head; }}},
      {"Each head was turned by the row of its own number: the row is the token's, not the head's.",
       {.row = [](const Heads&, const Place& at) { return at.head; }}}}},
    {"transposed-index",
     {{"The token was taken for what is left over by tokens: x is [tokens, heads, head_dim], so it "
       "is what comes out of the division by heads.",
       {.row = [](const Heads& h,
                  const Place& at) { return (at.token * h.heads + at.head) % h.tokens(); }}}}},
    {"wrong-pairing",
     {{"Element i was paired with element i + head_dim / 2, as in 3.3: here the pairs are "
       "neighbours, 2i and 2i + 1.",
       {.pair = whole_head_pair}}}},
    runs_across_heads(),
};

// ---- 3.3 and 3.4: positions say the row, and a head may have elements in no pair ----

const Table<Turn> kPositionMistakes = {
    {"consecutive-positions",
     {{"Token t was turned by row positions[0] + t, as if positions counted up one by one: its row "
       "is positions[t].",
       {.row = [](const Heads& h, const Place& at) { return h.row_of(0) + at.token; }}}}},
    {"consecutive-positions",
     by_first_of_group("Of every {} tokens only the first one's position was looked up, and the "
                       "others' rows count up from it: the row of token t is positions[t].",
                       [](const Heads& h, std::int64_t first, std::int64_t offset) {
                         return h.row_of(first) + offset;
                       })},
    {"position-ignored",
     by_first_of_group(
         "Of every {} tokens all were turned by the first one's row: the row of token "
         "t is positions[t].",
         [](const Heads& h, std::int64_t first, std::int64_t) { return h.row_of(first); })},
    {"position-ignored",
     {{"Token t was turned by row t of the tables: its row is positions[t].",
       {.row = [](const Heads&, const Place& at) { return at.token; }}},
      {"Every token was turned by row 0 of the tables: its row is positions[t].",
       {.row = [](const Heads&, const Place&) { return 0; }}},
      {"Token t was turned by the row of the token before it: its own is positions[t].",
       {.row = [](const Heads& h,
                  const Place& at) { return h.row_of(at.token - (at.token > 0)); }}},
      {"Token t was turned by the row of the token behind it: its own is positions[t].",
       {.row = [](const Heads& h,
                  const Place& at) { return h.row_of(std::min(at.token + 1, h.tokens() - 1)); }}}}},
    {"position-includes-head",
     {{"Head h of token t was turned by row positions[t] + h: all heads of a token share its row.",
       {.row = [](const Heads& h, const Place& at) { return h.row_of(at.token) + at.head; }}},
      {"Head h of token t was turned by row positions[t * heads + h]: there is one position a "
       "token, positions[t].",
       {.row = [](const Heads& h,
                  const Place& at) { return h.row_of(at.token * h.heads + at.head); }}}}},
    {"position-width",
     {{"The positions were read as if they were 32 bits wide, and they are 64: every other one is "
       "the upper half of the one before, 0. Read them through the type that is given.",
       {.row =
            [](const Heads& h, const Place& at) {
              const std::int64_t read = at.token % 2 == 0 ? h.row_of(at.token / 2) : 0;
              return h.wide_positions ? read : -1;
            }}}}},
    {"batch-or-head-offset",
     {{"k's heads were counted as if k had as many as q: token and head of k come from k_heads.",
       {.row =
            [](const Heads& h, const Place& at) {
              return h.row_of((at.token * h.heads + at.head) / h.q_heads);
            }}},
      {"Only as many heads of k were turned as q has, and k has more: their number is k_heads.",
       {.heads = [](const Heads& h) { return std::min(h.heads, h.q_heads); }}}}},
    {"output-partly-written",
     {{"It was not turned.", {.turn = [](const Elements& e) { return Turned(e.a, e.b); }}}}},
    {"frequency-exponent",
     {{"The angles are those of base^(-i / rotary_dim): it is 2i, and better still, read the "
       "tables.",
       {.angle = [](const Heads& h, const Place& at) { return angle_at(h, at, 0.5); }}}}},
    {"table-row-length",
     {{"The rows of the tables were taken for head_dim / 2 long: they are rotary_dim / 2 long.",
       {.row = [](const Heads&, const Place&) { return 0; },
        .col = [](const Heads& h,
                  const Place& at) { return h.row_of(at.token) * (h.head_dim / 2) + at.i; }}}}},
    {"half-angle",
     {{kAngleRounded, with_rounded_angle(Dtype::fp16)},
      {kAngleRounded, with_rounded_angle(Dtype::bf16)}}},
};

const Table<Turn> kSplitPairs = {
    {"wrong-pairing",
     {{"Neighbours were paired, 2i and 2i + 1, as in 3.1: here element i is paired with element i "
       "+ rotary_dim / 2.",
       {.pair = interleaved_pair}}}},
    {"beyond-rotary-dim",
     {{"Element i was paired with element i + head_dim / 2: only rotary_dim elements are turned, "
       "so its partner is i + rotary_dim / 2.",
       {.pair = whole_head_pair}},
      {"The whole head was turned: the elements from rotary_dim on stay as they are.",
       {.pairs = [](const Heads& h) { return h.head_dim / 2; }, .pair = whole_head_pair}},
      kRestCleared}},
};

/// The other pairing's pairs, of calls that have this one.
Turn other_pairs(Pairing pairing) {
  return {.pair = [pairing](const Heads& heads, const Place& at) {
    const bool split = pairing == Pairing::split;
    return heads.pairing != pairing ? kNoPair
           : split                  ? interleaved_pair(heads, at)
                                    : split_pair(heads, at, heads.half());
  }};
}

const Table<Turn> kPairsOfEither = {
    {"wrong-pairing",
     {{"Neighbours were paired, 2i and 2i + 1: with Pairing::split element i is paired with "
       "element i + rotary_dim / 2.",
       other_pairs(Pairing::split)},
      {"Element i was paired with element i + rotary_dim / 2: with Pairing::interleaved the pairs "
       "are neighbours, 2i and 2i + 1.",
       other_pairs(Pairing::interleaved)}}},
    {"beyond-rotary-dim",
     {{"Element i was paired with element i + head_dim / 2: only rotary_dim elements are turned, "
       "so its partner is i + rotary_dim / 2.",
       {.pair =
            [](const Heads& heads, const Place& at) {
              return heads.pairing == Pairing::split ? whole_head_pair(heads, at) : kNoPair;
            }}},
      {"The whole head was turned: the elements from rotary_dim on stay as they are.",
       {.pairs = [](const Heads& h) { return h.head_dim / 2; },
        .pair =
            [](const Heads& heads, const Place& at) {
              return heads.pairing == Pairing::split ? whole_head_pair(heads, at)
                                                     : interleaved_pair(heads, at);
            }}},
      kRestCleared}},
};

// ---- Of any rotation: how a pair is turned, and where in a token's row its angle is found ----

const Table<Turn> kMistakesOfAny = {
    {"sign-flipped",
     {{"Each pair was turned the other way round, by the negative angle: mind the sign of the "
       "sine.",
       {.turn = [](const Elements& e) { return rotated(e, e.cos, -e.sin); }}},
      {kSameSign,
       {.turn = [](const Elements& e) { return Turned(e.a * e.cos + e.b * e.sin, e.second()); }}},
      {kSameSign,
       {.turn = [](const Elements& e) { return Turned(e.first(), -e.a * e.sin + e.b * e.cos); }}}}},
    {"cos-sin-swapped",
     {{"Cosine and sine have changed places.", {.turn = with_swapped_angles}},
      {"Cosine and sine have changed places in the second element of each pair.",
       {.turn =
            [](const Elements& e) { return Turned(e.first(), with_swapped_angles(e).second); }}},
      {"Cosine and sine have changed places in the first element of each pair.",
       {.turn =
            [](const Elements& e) { return Turned(with_swapped_angles(e).first, e.second()); }}}}},
    {"in-place-race",
     {{"The second element of each pair was computed from the new first one: read both into "
       "registers before you write either.",
       {.turn =
            [](const Elements& e) {
              const double first = round_to(e.dtype, e.first());
              return Turned(first, first * e.sin + e.b * e.cos);
            }}},
      {"The first element of each pair was computed from the new second one: read both into "
       "registers before you write either.",
       {.turn =
            [](const Elements& e) {
              const double second = round_to(e.dtype, e.second());
              return Turned(e.a * e.cos - second * e.sin, second);
            }}}}},
    {"half-pair",
     {{"Only the first element of each pair was turned.",
       {.turn = [](const Elements& e) { return Turned(e.first(), e.b); }}},
      {"Only the second element of each pair was turned.",
       {.turn = [](const Elements& e) { return Turned(e.a, e.second()); }}}}},
    {"half-angle",
     {{"Cosine and sine, or products with them, were rounded to the 16-bit type before they were "
       "used: keep them in float.",
       {.turn =
            [](const Elements& e) {
              return rotated(e, round_to(e.dtype, e.cos), round_to(e.dtype, e.sin));
            }}}}},
    {"cast-order",
     {{"The products were rounded to the 16-bit type before they were added: convert to float "
       "first, compute, and round once, at the end.",
       {.turn =
            [](const Elements& e) {
              const auto in = [&](double value) { return round_to(e.dtype, value); };
              return Turned(in(e.a * e.cos) - in(e.b * e.sin), in(e.a * e.sin) + in(e.b * e.cos));
            }}},
      {"The rotation was computed in the 16-bit type: convert to float first, compute, and round "
       "once, at the end.",
       {.turn =
            [](const Elements& e) {
              const auto in = [&](double value) { return round_to(e.dtype, value); };
              const double c = in(e.cos);
              const double s = in(e.sin);
              return Turned(in(e.a * c) - in(e.b * s), in(e.a * s) + in(e.b * c));
            }}}}},
    {"frequency-exponent",
     {{"Pair i was turned by the angle of pair i / 2: the tables have one column a pair, not one "
       "an element.",
       {.col = [](const Heads&, const Place& at) { return at.i / 2; }}},
      {"Pair i was turned by the angle in column 2i: the tables have one column a pair, not one an "
       "element.",
       {.col = [](const Heads&, const Place& at) { return 2 * at.i; }}},
      {"All pairs were turned by the angle of the first: pair i has its own.",
       {.col = [](const Heads&, const Place&) { return 0; }}}}},
    {"table-row-length",
     {{"The rows of the tables were taken for head_dim long: they are half as long, one column a "
       "pair.",
       {.row = [](const Heads& h, const Place& at) { return 2 * h.row_of(at.token); }}}}},
};

std::vector<Oracle> with_those_of_any(const std::vector<Table<Turn>>& tables) {
  std::vector<Table<Turn>> all = tables;
  all.push_back(kMistakesOfAny);
  return common::oracles<Turn>(common::joined<Turn>(all),
                               [](const Case& call, const std::string& output, const Turn& turn) {
                                 return turned(heads_of(call, output), turn);
                               });
}

}  // namespace

std::vector<Oracle> interleaved_mistakes() {
  return with_those_of_any({kInterleavedMistakes});
}

common::Table<Turn> split_turns() {
  return common::joined<Turn>({kPositionMistakes, kSplitPairs, kMistakesOfAny});
}

std::vector<Oracle> half_split_mistakes() {
  return with_those_of_any({kPositionMistakes, kSplitPairs});
}

std::vector<Oracle> fast_mistakes() {
  return with_those_of_any({kPositionMistakes, kPairsOfEither});
}

}  // namespace onepass::rope
