#include "chapters/common/forward_mistakes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "chapters/common/misread.h"
#include "chapters/common/row_walks.h"
#include "chapters/common/sixteen_bit_sums.h"
#include "chapters/common/welford.h"

namespace onepass::common {

using verdict::Case;
using verdict::Dtype;
using verdict::round_to;

namespace {

using Hooks = ForwardHooks;

double inverse_root(double value) {
  return 1.0 / std::sqrt(value);
}

/// A sentence, with the chapter's words for {variance} (at its beginning {Variance}), {v}, {cols},
/// {row} and {i}.
std::string say(const char* sentence, const ForwardWords& words) {
  std::string capital = words.variance;
  capital[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(capital[0])));
  return fmt::format(fmt::runtime(sentence), fmt::arg("variance", words.variance),
                     fmt::arg("Variance", capital), fmt::arg("v", words.v),
                     fmt::arg("cols", words.cols), fmt::arg("row", words.of.row),
                     fmt::arg("i", words.index));
}

/// Another x is read; nothing where that makes no difference.
Hooks x_read(std::function<std::optional<Field>(const Case&, const Field& x)> wrong) {
  return {
      .read = [wrong = std::move(wrong)](const Case& call, Forward pass) -> std::optional<Forward> {
        const std::optional<Field> x = wrong(call, pass.x);
        if (!x) {
          return std::nullopt;
        }
        pass.x = *x;
        return pass;
      }};
}

/// weight[row] for weight[col]; not where that is past the end.
std::optional<Forward> with_weight_by_row(const Case&, Forward pass) {
  if (pass.x.rows > pass.x.cols) {
    return std::nullopt;
  }
  for (Field* parameter : {&pass.weight, &pass.bias}) {
    *parameter =
        verdict::field_of(pass.x.rows, 1, [&](auto row, auto) { return at(*parameter, 0, row); });
  }
  return pass;
}

// ---- Where digits are lost ----

const char* const kSquaresRounded =
    "The squares were rounded to the 16-bit type, and in fp16 whatever is above 255 squares to "
    "infinity: convert to float first, then square.";

double rounded_square(const Element& e) {
  return round_to(e.dtype, (e.x - e.mean) * (e.x - e.mean));
}

double rounded_twice(const Element& e) {
  const double distance = round_to(e.dtype, e.x - e.mean);
  return round_to(e.dtype, distance * distance);
}

std::vector<Way<Hooks>> half_accumulation(const ForwardWords& words) {
  std::vector<Way<Hooks>> ways;
  for (const RowSum& sum : sums_in_sixteen_bits()) {
    if (words.centred) {
      ways.push_back(
          {"The mean is what adding up in the 16-bit type gives: convert each element "
           "to float and add in float.",
           {.sum = sum},
           verdict::kSixteenBitSlack});
    }
    for (const auto& square : {std::function(rounded_square), Hooks{}.square}) {
      ways.push_back(
          {"The sum of the squares is what adding up in the 16-bit type gives: it stops "
           "growing once the terms are smaller than its last digit. Add in float.",
           {.square = square, .sum_of_squares = sum},
           verdict::kSixteenBitSlack});
    }
  }
  return ways;
}

// Of E[x^2] - E[x]^2: mean / deviation from which on what is left of the variance is rounding, up
// to which something of it is left, and how far apart, in bounds, two orders of addition may be.
constexpr double kCancels = 30.0;
constexpr double kNothingLeft = 300.0;
constexpr double kCancellationSlack = 200.0;

/// Does what there is of each row's variance cancel, but not all of it?
bool cancels(const Field& x) {
  const Statistics right = *statistics({.x = x});
  return std::equal(right.mean.values.begin(), right.mean.values.end(),
                    right.variance.values.begin(), [](double mean, double variance) {
                      const double ratio = std::abs(mean) / std::sqrt(variance);
                      return ratio >= kCancels && ratio <= kNothingLeft;
                    });
}

/// In fp64 the formula is right: it is the rounding that goes wrong. What is left is noise that
/// another order of additions does not repeat, but it is no larger than that of another order.
std::vector<Way<Hooks>> one_pass_variance() {
  std::vector<Way<Hooks>> ways;
  for (std::int64_t threads : {256, 1024, 512, 32, 1}) {
    const RowSum in_fp32 = [threads](Dtype, const Field& terms) {
      return std::optional(sum_in(Dtype::fp32, terms, {threads, true}));
    };
    const RowSum where_it_cancels = [in_fp32](Dtype dtype, const Field& x) {
      return cancels(x) ? in_fp32(dtype, x) : std::nullopt;
    };
    ways.push_back(
        {"The variance lost its digits, as E[x^2] - E[x]^2 does where the mean is large: subtract "
         "two nearly equal numbers, and only their rounding errors remain. Find the mean first and "
         "then add up (x - mean)^2, or use Welford's method.",
         {.sum = where_it_cancels,
          .square = [](const Element& e) { return round_to(Dtype::fp32, e.x * e.x); },
          .sum_of_squares = in_fp32,
          .variance =
              [](const Row& r) {
                const auto mean = static_cast<float>(r.mean);
                const auto mean_of_squares = static_cast<float>(r.squares / r.cols);
                return static_cast<double>(mean_of_squares - mean * mean);
              }},
         kCancellationSlack});
  }
  return ways;
}

// ---- Sums and means ----

/// The sums that a mistake may be in: there is one only if there is no mean.
std::vector<Of> sums_of(const ForwardWords& words) {
  return words.centred ? std::vector{Of::x, Of::squares, Of::both} : std::vector{Of::squares};
}

std::vector<Way<Hooks>> sum_not_mean(const ForwardWords& words) {
  std::vector<Way<Hooks>> ways;
  for (Of of : sums_of(words)) {
    ways.push_back({say("The result is what comes out of the sum: divide it by {cols}.", words),
                    divided_by([](const Row&) { return 1.0; }, of)});
    for (double threads : {256.0, 1024.0, 512.0, 128.0, 64.0, 32.0}) {
      ways.push_back({fmt::format("The result is what comes out of dividing by {}: the sum is to "
                                  "be divided by {}, not by the number of threads.",
                                  threads, words.cols),
                      divided_by([threads](const Row&) { return threads; }, of)});
    }
  }
  return ways;
}

std::vector<Way<Hooks>> wrong_count(const ForwardWords& words) {
  std::vector<Way<Hooks>> ways;
  for (Of of : sums_of(words)) {
    for (const WrongCount& count : wrong_counts()) {
      ways.push_back(
          {fmt::format("The result is what dividing by {} gives: divide by {}.", count.what,
                       words.cols),
           divided_by([count](const Row& r) { return count.of(r.cols, r.stride); }, of)});
    }
  }
  return ways;
}

/// Each thread, or warp, takes the root of its own share, and the roots are added up.
std::vector<Way<Hooks>> roots_added_up(const ForwardWords& words) {
  std::vector<Way<Hooks>> ways;
  for (std::int64_t threads : {256, 1024, 512, 128, 64, 32}) {
    for (bool warps : {false, true}) {
      for (bool packs : {false, true}) {
        ways.push_back(
            {fmt::format("rstd is a sum of roots, of each {}'s share of the {}: add up "
                         "the shares first, and take the root of the whole.",
                         warps ? "warp" : "thread", words.of.row),
             {.sum_of_squares = shares_of(threads, warps, packs), .rstd_total = row_sums}});
      }
    }
  }
  return ways;
}

/// Threads or lanes past the end of the row add (0 - mean)^2: up to a multiple of so many, or for 0
/// to the next power of two.
std::vector<Way<Hooks>> masked_lanes(const ForwardWords& words) {
  std::vector<Way<Hooks>> ways;
  for (std::int64_t group : {256, 1024, 512, 128, 64, 32, 0}) {
    ways.push_back(
        {say("What is past the end of the {row} entered the variance, as (0 - mean)^2: only "
             "elements that exist may add to it.",
             words),
         {.variance = [group](const Row& r) {
           const auto cols = static_cast<std::int64_t>(r.cols);
           std::int64_t padded = 1;
           while (padded < cols) {
             padded *= 2;
           }
           return (r.squares + surplus(group > 0 ? group : padded, cols) * r.mean * r.mean) /
                  r.cols;
         }}});
  }
  return ways;
}

double x_scaled(const Element& e) {
  return e.x * e.rstd * e.weight + e.bias;
}

// ---- eps ----

std::vector<Way<Hooks>> eps_ignored(const ForwardWords& words) {
  std::vector<Way<Hooks>> ways = {
      {say("The result is what comes out without eps: add it to {variance}.", words),
       {.rstd = [](const Row& r) { return inverse_root(r.variance); }}}};
  for (float fixed : words.usual_eps) {
    ways.push_back(
        {fmt::format("The result is what comes out with eps = {}, whatever eps is given: "
                     "use the argument.",
                     fixed),
         {.rstd = [fixed](const Row& r) {
           return inverse_root(r.variance + static_cast<double>(fixed));
         }}});
  }
  return ways;
}

std::vector<Way<Hooks>> variance_clamped(const ForwardWords& words) {
  std::vector<Way<Hooks>> ways = {
      {say("The result is what the larger of {v} and eps gives: eps is added, however large {v} "
           "is.",
           words),
       {.rstd = [](const Row& r) { return inverse_root(std::max(r.variance, r.eps)); }}}};
  for (double least : {1e-5, 1e-6, 1e-4, 1e-3, 1e-8, 1e-12}) {
    ways.push_back({say("{Variance} was raised to a number of the kernel's own where it is "
                        "smaller: take it as it is, and add eps.",
                        words),
                    {.rstd = [least](const Row& r) {
                      return inverse_root(std::max(r.variance, least) + r.eps);
                    }}});
  }
  return ways;
}

// ---- y ----

std::vector<Way<Hooks>> cast_order(const ForwardWords& words) {
  const auto sentence = [&](const char* when) {
    return fmt::format("y is what comes out when {}: compute in float and round once, at the end.",
                       when);
  };
  std::vector<Way<Hooks>> ways = {
      {sentence(words.biased ? "the normalised value is rounded to the 16-bit type before it "
                               "meets weight and bias"
                             : "x * rstd is rounded to the 16-bit type before it meets the "
                               "weight"),
       {.y = [](const Element& e) { return round_to(e.dtype, e.x_hat()) * e.weight + e.bias; }}},
      {sentence("each step is rounded to the 16-bit type"),
       {.y =
            [](const Element& e) {
              const double scaled = round_to(e.dtype, round_to(e.dtype, e.x_hat()) * e.weight);
              return round_to(e.dtype, scaled + e.bias);
            }}},
      {sentence(words.centred ? "mean and rstd are rounded to the 16-bit type before they are "
                                "used"
                              : "rstd is rounded to the 16-bit type before it is used"),
       {.y = [](const Element& e) {
         return (e.x - round_to(e.dtype, e.mean)) * round_to(e.dtype, e.rstd) * e.weight + e.bias;
       }}}};
  if (words.centred) {
    ways.push_back({sentence("x - mean is rounded to the 16-bit type before it is multiplied"),
                    {.y = [](const Element& e) {
                      return round_to(e.dtype, e.x - e.mean) * e.rstd * e.weight + e.bias;
                    }}});
    ways.push_back({sentence("scale and shift, rstd * weight and bias - mean * rstd * weight, are "
                             "rounded to the 16-bit type before they are used"),
                    {.y = [](const Element& e) {
                      const double scale = e.rstd * e.weight;
                      return e.x * round_to(e.dtype, scale) +
                             round_to(e.dtype, e.bias - e.mean * scale);
                    }}});
  }
  return ways;
}

Table<Hooks> y_mistakes(const ForwardWords& words) {
  Mistake<Hooks> no_weight = {
      "weight-missing",
      {{say("y is what comes out without the weight: multiply by weight[{i}].", words),
        {.y = [](const Element& e) { return e.x_hat() + e.bias; }}}}};
  Table<Hooks> all;
  if (words.biased) {
    no_weight.ways.push_back({say("y is what comes out without weight and bias: multiply by "
                                  "weight[{i}] and add bias[{i}].",
                                  words),
                              {.y = [](const Element& e) { return e.x_hat(); }}});
    all.push_back({"bias-missing",
                   {{say("y is what comes out without the bias: add bias[{i}].", words),
                     {.y = [](const Element& e) { return e.x_hat() * e.weight; }}}}});
    all.push_back({"weight-bias-swapped",
                   {{"Weight and bias have changed places.",
                     {.y = [](const Element& e) { return e.x_hat() * e.bias + e.weight; }}},
                    {"The bias was added before the weight multiplied: weight first.",
                     {.y = [](const Element& e) { return (e.x_hat() + e.bias) * e.weight; }}}}});
  }
  all.push_back(no_weight);
  if (words.centred) {
    all.push_back({"mean-not-subtracted",
                   {{"y is what comes out if the mean is not subtracted.", {.y = x_scaled}}}});
  }
  all.push_back({"cast-order", cast_order(words)});
  return all;
}

}  // namespace

Hooks divided_by(const std::function<double(const Row&)>& divisor, Of of) {
  Hooks hooks;
  if (of != Of::squares) {
    hooks.mean = [divisor](const Row& r) { return r.sum / divisor(r); };
  }
  if (of != Of::x) {
    hooks.variance = [divisor](const Row& r) { return r.squares / divisor(r); };
  }
  return hooks;
}

Hooks summed_by(const RowSum& sum, Of of) {
  Hooks hooks;
  if (of != Of::squares) {
    hooks.sum = sum;
  }
  if (of != Of::x) {
    hooks.sum_of_squares = sum;
  }
  return hooks;
}

Table<Hooks> index_mistakes(const std::vector<std::string>& strides) {
  Mistake<Hooks> wrong_stride{"stride-ignored", {}};
  for (const std::string& stride : strides) {
    wrong_stride.ways.push_back(
        {"The rows of x were read " + stride + " elements apart: they start x_stride apart.",
         x_read([stride](const Case& call, const Field&) {
           return with_stride(call, "x", call.integer(stride));
         })});
  }
  Mistake<Hooks> not_moved{"prefetch-mixed-up", {}};
  for (const RowWalk& walk : walks_right_at_first()) {
    not_moved.ways.push_back(
        {.sentence = "Each row came out as the first one of its block: go on to the next row's x "
                     "in each turn of the loop.",
         .hooks = {},
         .of_rows = [walk](const verdict::WrongRows& wrong) -> std::optional<Hooks> {
           const std::optional<RowsBefore> before = walk(wrong);
           return before ? std::optional(
                               x_read([first = first_rows(*before)](const Case&, const Field& x) {
                                 return std::optional(taken(x, first));
                               }))
                         : std::nullopt;
         }});
  }
  return {wrong_stride,
          not_moved,
          {"transposed-index",
           {{"Row and column of x are swapped in an index.",
             x_read([](const Case&, const Field& x) { return transposed(x); })}}},
          {"weight-by-row",
           {{"y is what weight[row] gives: look it up by the column, weight[col].",
             {.read = with_weight_by_row}}}}};
}

Table<Hooks> variance_about_0() {
  const auto square = [](const Element& e) { return e.x * e.x; };
  return {{"mean-not-subtracted",
           {{"The variance is the mean of x^2: subtract the mean from each element before it is "
             "squared.",
             {.square = square}},
            {"Nothing is subtracted, as in RMSNorm: subtract the mean from each element, in the "
             "variance and in y.",
             {.square = square, .y = x_scaled}}}}};
}

Table<Hooks> statistics_mistakes(const ForwardWords& words) {
  Table<Hooks> all = {
      {"unbiased-variance",
       {{say("The result is what comes out of dividing by {cols} - 1: {variance} is the sum of the "
             "squares divided by {cols}.",
             words),
         {.rstd = [](const Row& r) { return inverse_root(r.squares / (r.cols - 1.0) + r.eps); }}}}},
      {"sum-not-mean", sum_not_mean(words)},
      {"wrong-count", wrong_count(words)},
      {"unfinished-sum", roots_added_up(words)},
      {"integer-division",
       {{say("{Variance} came out as 0: as an integer that is divided by {cols}, or for want of "
             "terms in the sum. Divide a float, and add up every column.",
             words),
         {.variance = [](const Row&) { return 0.0; }}}}},
      {"wrong-saved-statistics",
       {{say("rstd holds {variance}: save 1 / sqrt({v} + eps).", words),
         {.rstd = [](const Row& r) { return r.variance; }}},
        {say("rstd holds {v} + eps: save 1 / sqrt({v} + eps).", words),
         {.rstd = [](const Row& r) { return r.variance + r.eps; }}}}}};
  if (words.centred) {
    all.push_back({"masked-lanes-in-variance", masked_lanes(words)});
    all.push_back({"one-pass-variance", one_pass_variance()});
    all = joined<Hooks>({all, wrong_merges()});
  }
  for (Of of : sums_of(words)) {
    const auto in_sums = [of](const RowSum& sum) { return summed_by(sum, of); };
    all = joined<Hooks>(
        {all, placed(wrong_shares(words.of), in_sums), placed(carried_sums(words.of), in_sums)});
  }
  const Of all_sums = words.centred ? Of::both : Of::squares;
  all = joined<Hooks>({all, placed(wrong_totals(), [all_sums](const RowSum& sum) {
                         return summed_by(sum, all_sums);
                       })});
  all.push_back({"half-square-overflow",
                 {{kSquaresRounded, {.square = rounded_square}},
                  {kSquaresRounded, {.square = rounded_twice}}}});
  all.push_back({"half-accumulation", half_accumulation(words)});
  return all;
}

Table<Hooks> scaling_mistakes(const ForwardWords& words) {
  const Table<Hooks> roots = {
      {"eps-outside-root",
       {{say("The result is what 1 / (sqrt({v}) + eps) gives: eps belongs inside the root, "
             "sqrt({v} + eps).",
             words),
         {.rstd = [](const Row& r) { return 1.0 / (std::sqrt(r.variance) + r.eps); }}}}},
      {"eps-ignored", eps_ignored(words)},
      {"eps-in-sum",
       {{say("eps was added to the sum, and divided with it: add it to {variance}.", words),
         {.rstd = [](const Row& r) { return inverse_root(r.variance + r.eps / r.cols); }}}}},
      {"variance-clamped", variance_clamped(words)},
      {"no-reciprocal",
       {{say("y is what multiplying by sqrt({v} + eps) gives: divide by it, or multiply by rstd.",
             words),
         {.y = [](const Element& e) { return (e.x - e.mean) / e.rstd * e.weight + e.bias; }}},
        {say("The result is sqrt({v} + eps): rstd is its reciprocal. Use rsqrtf().", words),
         {.rstd = [](const Row& r) { return std::sqrt(r.variance + r.eps); }}}}},
      {"no-root",
       {{say("The result is what 1 / ({v} + eps) gives: take the root too, with rsqrtf().", words),
         {.rstd = [](const Row& r) { return 1.0 / (r.variance + r.eps); }}}}}};
  return joined<Hooks>({roots, y_mistakes(words)});
}

}  // namespace onepass::common
