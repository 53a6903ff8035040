// What goes wrong in a forward pass once mean and variance are there: eps, rstd and y.
#include "chapters/common/forward_mistakes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace onepass::common {

using verdict::Dtype;
using verdict::round_to;

namespace {

using Hooks = ForwardHooks;

double inverse_root(double value) {
  return 1.0 / std::sqrt(value);
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
    ways.push_back({say("The sum of {v} and eps was raised to a number of the kernel's own where "
                        "it is smaller: take it as it is.",
                        words),
                    {.rstd = [least](const Row& r) {
                      return inverse_root(std::max(r.variance + r.eps, least));
                    }}});
  }
  return ways;
}

/// To the type of the tensors, or to one that is the same whatever theirs is.
std::vector<Way<Hooks>> eps_rounded() {
  const auto rounded_to = [](const std::string& type, std::optional<Dtype> fixed) {
    return Way<Hooks>{"The result is what comes out when eps is rounded to " + type +
                          ", before it is added: leave it a float.",
                      {.rstd = [fixed](const Row& r) {
                        return inverse_root(r.variance + round_to(fixed.value_or(r.dtype), r.eps));
                      }}};
  };
  return {rounded_to("the 16-bit type", std::nullopt), rounded_to("fp16", Dtype::fp16),
          rounded_to("bf16", Dtype::bf16)};
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
  all.push_back(
      {"other-weight",
       {{say("y is what 1 + weight[{i}] gives: multiply by weight[{i}] as it is.", words),
         {.y = [](const Element& e) { return e.x_hat() * (1.0 + e.weight) + e.bias; }}},
        {say("The weight multiplied twice: once is right.", words),
         {.y = [](const Element& e) { return e.x_hat() * e.weight * e.weight + e.bias; }}}}});
  if (words.centred) {
    all.push_back({"mean-not-subtracted",
                   {{"y is what comes out if the mean is not subtracted.", {.y = x_scaled}}}});
  }
  all.push_back({"cast-order", cast_order(words)});
  return all;
}

}  // namespace

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

Table<Hooks> scaling_mistakes(const ForwardWords& words) {
  const Table<Hooks> roots = {
      {"eps-outside-root",
       {{say("The result is what 1 / (sqrt({v}) + eps) gives: eps belongs inside the root, "
             "sqrt({v} + eps).",
             words),
         {.rstd = [](const Row& r) { return 1.0 / (std::sqrt(r.variance) + r.eps); }}},
        {say("The result is what 1 / sqrt({v}) + eps gives: eps belongs inside the root, as in "
             "rsqrtf({v} + eps).",
             words),
         {.rstd = [](const Row& r) { return inverse_root(r.variance) + r.eps; }}}}},
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
         {.rstd = [](const Row& r) { return 1.0 / (r.variance + r.eps); }}}}},
      {"cast-order", eps_rounded()}};
  return joined<Hooks>({roots, y_mistakes(words)});
}

}  // namespace onepass::common
