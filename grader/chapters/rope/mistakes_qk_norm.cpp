// Exercise 3.5: what q and k would be with one mistake in how heads are normalised, in how they are
// turned, or between the two.
#include <algorithm>
#include <utility>

#include "chapters/common/forward_mistakes.h"
#include "chapters/rope/calls.h"
#include "chapters/rope/mistakes.h"

namespace onepass::rope {

using common::Element;
using common::Forward;
using common::ForwardHooks;
using verdict::field_of;
using verdict::round_to;

namespace {

/// Of which elements of a head the squares are added up.
enum class Squares { all, turned, turned_and_their_mean };

/// Both steps as a kernel might make them. What is left alone is right.
struct Steps {
  ForwardHooks norm = {};
  Turn turn = {};
  Squares squares = Squares::all;
  bool weight_last = false;  // it multiplies what has been turned
  bool rest_left = false;    // elements in no pair stay as they were
  std::int64_t pack = 0;     // in bytes: what fills no couple of packs stays, and is not counted
};

/// The sum of the first `turned` of each row's terms, `scale` times.
common::RowSum sum_of_first(std::int64_t turned, double scale) {
  return [=](verdict::Dtype, const Field& terms) {
    return std::optional(field_of(terms.rows, 1, [&](auto row, auto) {
      double sum = 0.0;
      for (std::int64_t col = 0; col < turned; ++col) {
        sum += terms(row, col);
      }
      return scale * sum;
    }));
  };
}

std::optional<Field> result_of(const Case& call, const std::string& output, Steps steps) {
  const Forward right = norm_of(call, output);
  std::optional<Forward> pass = steps.norm.read(call, right);
  if (!pass) {
    return std::nullopt;
  }
  if (steps.weight_last) {
    pass->weight = Field(1, 1, 1.0);
  }
  const std::int64_t rotary_dim = call.integer("rotary_dim");
  const std::int64_t head_dim = call.integer("head_dim");
  if (steps.squares != Squares::all) {
    const double share = static_cast<double>(head_dim) / static_cast<double>(rotary_dim);
    steps.norm.sum_of_squares =
        sum_of_first(rotary_dim, steps.squares == Squares::turned ? 1.0 : share);
  }
  std::int64_t whole = head_dim;
  if (steps.pack > 0) {
    whole -=
        head_dim % (2 * steps.pack / static_cast<std::int64_t>(verdict::size_of(call.dtype())));
    steps.norm.sum_of_squares = sum_of_first(whole, 1.0);
    if (whole == head_dim || whole < rotary_dim) {
      return std::nullopt;
    }
  }
  const std::optional<Field> y = forward(*pass, "y", steps.norm);
  if (!y) {
    return std::nullopt;
  }
  Heads heads = heads_of(call, output);
  const Field x = heads.x;
  heads.x = in_rows(*y, x.cols);
  const std::optional<Field> result = turned(heads, steps.turn);
  if (!result) {
    return std::nullopt;
  }
  return field_of(x.rows, x.cols, [&](auto token, auto col) {
    if (col % head_dim >= (steps.rest_left ? rotary_dim : whole)) {
      return x(token, col);
    }
    const double weight = steps.weight_last ? right.weight(0, col % head_dim) : 1.0;
    return (*result)(token, col) * weight;
  });
}

/// All heads of a token are one row, as OLMo 2 has it; the weights repeat with the heads.
std::optional<Forward> token_as_row(const Case& call, Forward pass) {
  const std::int64_t head_dim = pass.x.cols;
  const std::int64_t cols = pass.x.rows * head_dim / call.values("q").rows();
  const Field weight = pass.weight;
  pass.weight = field_of(1, cols, [&](auto, auto col) { return weight(0, col % head_dim); });
  pass.x = in_rows(pass.x, cols);
  return pass;
}

ForwardHooks with_weight_of(const char* tensor) {
  return {.read = [tensor](const Case& call, Forward pass) {
    pass.weight = call.values(tensor).field();
    return std::optional(pass);
  }};
}

std::optional<Forward> centred(const Case&, Forward pass) {
  pass.centred = true;
  return pass;
}

const char* const kLastPack =
    "The last elements of each head stayed as they were, and did not count in its squares: a head "
    "may be an odd number of packs, and the last one needs its turn too.";

const common::Table<Steps> kBetweenTheTwo = {
    {"heads-normalised-together",
     {{"The squares of all heads of a token were added up: each head is normalised by its own.",
       {.norm = {.read = token_as_row}}}}},
    {"norm-missing",
     {{"The heads were turned, and not normalised.",
       {.norm = {.y = [](const Element& e) { return e.x; }}}}}},
    {"weight-after-rotation",
     {{"The weight multiplied what had been turned: a rotation mixes elements of different "
       "weights. Normalise first, with the weight, and then turn.",
       {.weight_last = true}}}},
    {"weights-swapped",
     {{"This is what q's weight gives: k has one of its own, k_weight.",
       {.norm = with_weight_of("q_weight")}},
      {"This is what k's weight gives: q has one of its own, q_weight.",
       {.norm = with_weight_of("k_weight")}}}},
    {"rest-not-normalised",
     {{"The elements from rotary_dim on stayed as they were: they are not turned, but normalised "
       "like the others.",
       {.rest_left = true}},
      {"Only the squares of the first rotary_dim elements were added up: all of a head's count.",
       {.squares = Squares::turned}},
      {"rstd is that of the first rotary_dim elements: all of a head's count.",
       {.squares = Squares::turned_and_their_mean}}}},
    {"tail-dropped", {{kLastPack, {.pack = 16}}, {kLastPack, {.pack = 8}}}},
    {"cast-order",
     {{"The normalised heads were rounded to the 16-bit type before they were turned: keep them in "
       "float, and round once, at the end.",
       {.norm = {.y = [](const Element& e) { return round_to(e.dtype, e.x_hat() * e.weight); }}}}}},
    {"mean-subtracted",
     {{"The result is what comes out when the head's mean is subtracted, as LayerNorm does: "
       "RMSNorm subtracts nothing.",
       {.norm = {.read = centred}}}}},
};

}  // namespace

std::vector<verdict::Oracle> qk_norm_mistakes() {
  const common::ForwardWords words = {.centred = false,
                                      .biased = false,
                                      .variance = "the mean of the squares",
                                      .v = "mean",
                                      .cols = "head_dim",
                                      .index = "c",
                                      .of = {.row = "head", .column = "element"}};
  // A sum that is carried on is told by which rows are wrong: there a row is a token, not a head.
  // Squares in 16 bits are told from sums in 16 bits by rstd alone, which is not saved.
  common::Table<ForwardHooks> statistics = common::statistics_mistakes(words);
  statistics.erase(std::remove_if(statistics.begin(), statistics.end(),
                                  [](const auto& mistake) {
                                    return mistake.id == "sum-not-reset" ||
                                           mistake.id == "half-square-overflow";
                                  }),
                   statistics.end());
  for (auto& mistake : statistics) {
    if (mistake.id != "half-accumulation") {
      continue;
    }
    for (auto& way : mistake.ways) {
      way.sentence =
          "The sum of the squares is what comes of the 16-bit type: of squares that are rounded to "
          "it, or added up in it. Convert each element to float, then square, and add in float.";
    }
  }
  const auto in_norm = [](const ForwardHooks& hooks) { return Steps{.norm = hooks}; };
  const auto in_turn = [](const Turn& turn) { return Steps{.turn = turn}; };
  return common::oracles<Steps>(
      common::joined<Steps>(
          {kBetweenTheTwo, common::placed(common::scaling_mistakes(words), in_norm),
           common::placed(split_turns(), in_turn), common::placed(statistics, in_norm)}),
      result_of);
}

}  // namespace onepass::rope
