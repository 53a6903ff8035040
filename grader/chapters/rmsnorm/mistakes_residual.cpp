// Exercise 1.5: what sum, rstd and y would be with one mistake. What can go wrong in the norm
// itself is what can go wrong in exercise 1.2, with the sum for x.
#include <functional>
#include <optional>

#include "chapters/common/misread.h"
#include "chapters/rmsnorm/calls.h"
#include "chapters/rmsnorm/mistakes.h"
#include "verdict/own_rounding.h"

namespace onepass::rmsnorm {

using common::Forward;
using common::ForwardHooks;

namespace {

Field x_of(const Case& call) {
  return call.values("x").field();
}

Field residual_of(const Case& call) {
  return call.values("residual").field();
}

struct ResidualHooks {
  using OfSum = std::function<std::optional<Field>(const Case&, const Field& sum)>;

  /// The sum before it is rounded.
  std::function<std::optional<Field>(const Case&)> sum = [](const Case& call) {
    return added(x_of(call), residual_of(call));
  };
  OfSum normalised = [](const Case&, const Field& rounded_sum) { return rounded_sum; };
  OfSum scaled = {};                      // for y, if it is not what is normalised
  std::optional<ForwardHooks> norm = {};  // a mistake in it, which the sum does not show
  bool residual_after_norm = false;
};

/// The output that is found in this buffer.
std::optional<Field> residual(const Case& call, const std::string& buffer,
                              const ResidualHooks& hooks) {
  const bool wanted = !hooks.norm || buffer != call.place_of("sum");
  const std::optional<Field> unrounded = wanted ? hooks.sum(call) : std::nullopt;
  if (!unrounded) {
    return std::nullopt;
  }
  const Field sum = common::rounded(call.dtype(), *unrounded);
  if (buffer == call.place_of("sum")) {
    return sum;
  }
  const std::optional<Field> x = hooks.normalised(call, sum);
  if (!x) {
    return std::nullopt;
  }
  const ForwardHooks norm = hooks.norm.value_or(ForwardHooks());
  std::optional<Forward> pass = norm.read(call, {.dtype = call.dtype(),
                                                 .x = *x,
                                                 .eps = eps_of(call),
                                                 .centred = false,
                                                 .weight = call.values("weight").field()});
  const auto rows = pass ? common::statistics(*pass, norm) : std::nullopt;
  if (!rows) {
    return std::nullopt;
  }
  if (buffer == "rstd") {
    return common::saved(rows->rstd);
  }
  if (hooks.scaled) {
    const std::optional<Field> scaled = hooks.scaled(call, sum);
    if (!scaled) {
      return std::nullopt;
    }
    pass->x = *scaled;
  }
  const Field y = common::scaled_and_shifted(*pass, *rows, norm);
  return hooks.residual_after_norm ? added(y, residual_of(call)) : y;
}

/// Rows of x or of the residual that are read with another tensor's stride.
std::vector<common::Way<ResidualHooks>> stride_ignored() {
  std::vector<common::Way<ResidualHooks>> ways;
  for (const std::string name : {"x", "residual"}) {
    const std::string other = name == "x" ? "residual" : "x";
    for (const std::string stride :
         {"cols", "x_stride", "residual_stride", "sum_stride", "y_stride"}) {
      ways.push_back(
          {"The rows of " + name + " were read " + stride + " elements apart: they start " + name +
               "_stride apart.",
           {.sum = [=](const Case& call) -> std::optional<Field> {
             const auto read = common::with_stride(call, name.c_str(), call.integer(stride));
             return read ? std::optional(added(*read, call.values(other).field())) : std::nullopt;
           }}});
    }
  }
  return ways;
}

common::Table<ResidualHooks> own_mistakes() {
  const auto x_alone = [](const Case& call, const Field&) { return x_of(call); };
  const auto unrounded = [](const Case& call, const Field&) {
    return call.dtype() == Dtype::fp32 ? std::nullopt
                                       : std::optional(added(x_of(call), residual_of(call)));
  };
  const auto as_stored = [](const Case&, const Field& sum) { return std::optional(sum); };
  return {
      {"unrounded-sum",
       {{"This is what comes out when the sum is normalised before it is rounded: normalise the "
         "sum that is stored, rounded to T.",
         {.normalised = unrounded}},
        {"rstd is that of the sum before it is rounded: take the squares of the sum that is "
         "stored, rounded to T.",
         {.normalised = unrounded, .scaled = as_stored}},
        {"y is made of the sum before it is rounded: make it of the sum that is stored, rounded to "
         "T.",
         {.scaled = unrounded}}}},
      {"residual-missing",
       {{"x alone was normalised: normalise the sum.", {.normalised = x_alone}},
        {"This is what comes out of x alone: add the residual.", {.sum = x_of}},
        {"This is what comes out of the residual alone: add x.", {.sum = residual_of}}}},
      {"added-twice",
       {{"y is what comes out when x is added twice: once the sum is stored over residual, "
         "residual must not be loaded again.",
         {.scaled =
              [](const Case& call, const Field& sum) {
                return common::rounded(call.dtype(), added(sum, x_of(call)));
              }}}}},
      {"residual-after-norm",
       {{"x was normalised, and the residual added to the result: add it first.",
         {.normalised = x_alone, .residual_after_norm = true}}}},
      {"stride-ignored", stride_ignored()}};
}

/// Of the sum, which rstd and y then follow.
common::Table<ResidualHooks> wrong_roundings() {
  common::Table<ResidualHooks> all;
  for (const auto& [mistake, sentence, way] : verdict::own_roundings()) {
    const auto sum = [way = way](const Case& call) {
      return call.dtype() == Dtype::fp32
                 ? std::nullopt
                 : std::optional(map(added(x_of(call), residual_of(call)), [&](double unrounded) {
                     return verdict::round_to(call.dtype(), unrounded, way);
                   }));
    };
    all.push_back({mistake, {{sentence, {.sum = sum}}}});
  }
  return all;
}

}  // namespace

std::vector<verdict::Oracle> residual_mistakes() {
  const auto in_norm = [](const ForwardHooks& hooks) { return ResidualHooks{.norm = hooks}; };
  return common::oracles<ResidualHooks>(
      common::joined<ResidualHooks>(
          {own_mistakes(), wrong_roundings(), placed(forward_table({}), in_norm)}),
      residual);
}

}  // namespace onepass::rmsnorm
