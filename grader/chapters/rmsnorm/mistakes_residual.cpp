// Exercise 1.5: what sum, rstd and y would be with one mistake. What can go wrong in the norm
// itself is what can go wrong in exercise 1.2, with the sum for x.
#include <functional>
#include <optional>
#include <utility>

#include "chapters/common/misread.h"
#include "chapters/rmsnorm/calls_residual.h"
#include "chapters/rmsnorm/mistakes.h"
#include "chapters/rmsnorm/reference.h"

namespace onepass::rmsnorm {

using verdict::Oracle;

namespace {

/// What one call writes.
struct Outputs {
  Field sum, y, rstd;
};

Outputs outputs_of(const Case& call, const Field& sum, const Field& normalized) {
  const Forward forward = rmsnorm_forward(normalized, call.values("weight").field(), eps_of(call));
  return {sum, forward.y, forward.rstd};
}

Field right_sum(const Case& call) {
  return common::rounded(call.dtype(),
                         added(call.values("x").field(), call.values("residual").field()));
}

/// The output that is found in this buffer.
const Field& pick(const Outputs& outputs, const Case& call, const std::string& buffer) {
  return buffer == "rstd" ? outputs.rstd : buffer == call.place_of("sum") ? outputs.sum : outputs.y;
}

/// All outputs with a mistake; nothing where it makes no difference.
using Wrong = std::function<std::optional<Outputs>(const Case&)>;
Oracle wrong(std::string id, std::string sentence, Wrong outputs) {
  auto result = [outputs = std::move(outputs)](const Case& call,
                                               const std::string& buffer) -> std::optional<Field> {
    const std::optional<Outputs> all = outputs(call);
    return all ? std::optional(pick(*all, call, buffer)) : std::nullopt;
  };
  return {std::move(id), std::move(sentence), result};
}

/// A mistake in the sum, which all that follows then has too.
Oracle wrong_residual_sum(std::string id, std::string sentence,
                          std::function<std::optional<Field>(const Case&)> sum) {
  return wrong(std::move(id), std::move(sentence),
               [sum = std::move(sum)](const Case& call) -> std::optional<Outputs> {
                 const std::optional<Field> unrounded = sum(call);
                 if (!unrounded) {
                   return std::nullopt;
                 }
                 const Field rounded = common::rounded(call.dtype(), *unrounded);
                 return outputs_of(call, rounded, rounded);
               });
}

std::vector<Oracle> wrong_sums() {
  std::vector<Oracle> all = {
      wrong_residual_sum("residual-missing", "This is what comes out of x alone: add the residual.",
                         [](const Case& call) { return call.values("x").field(); }),
      wrong_residual_sum("residual-missing", "This is what comes out of the residual alone: add x.",
                         [](const Case& call) { return call.values("residual").field(); }),
  };
  for (const char* buffer : {"x", "residual"}) {
    const std::string name = buffer;
    const std::string other = name == "x" ? "residual" : "x";
    for (const char* stride : {"cols", "x_stride", "residual_stride", "sum_stride", "y_stride"}) {
      const std::string wrong_stride = stride;
      all.push_back(wrong_residual_sum(
          "stride-ignored",
          "The rows of " + name + " were read " + wrong_stride + " elements apart: they start " +
              name + "_stride apart.",
          [=](const Case& call) -> std::optional<Field> {
            const auto read = common::with_stride(call, name.c_str(), call.integer(wrong_stride));
            return read ? std::optional(added(*read, call.values(other).field())) : std::nullopt;
          }));
    }
  }
  return all;
}

std::vector<Oracle> wrong_norms() {
  return {
      wrong("unrounded-sum",
            "This is what comes out when the sum is normalised before it is rounded: normalise "
            "the sum that is stored, rounded to T.",
            [](const Case& call) -> std::optional<Outputs> {
              if (call.dtype() == Dtype::fp32) {
                return std::nullopt;
              }
              return outputs_of(call, right_sum(call),
                                added(call.values("x").field(), call.values("residual").field()));
            }),
      wrong("residual-missing", "x alone was normalised: normalise the sum.",
            [](const Case& call) -> std::optional<Outputs> {
              return outputs_of(call, right_sum(call), call.values("x").field());
            }),
      wrong("added-twice",
            "y is what comes out when x is added twice: once the sum is stored over residual, "
            "residual must not be loaded again.",
            [](const Case& call) -> std::optional<Outputs> {
              const Field sum = right_sum(call);
              const Field twice =
                  common::rounded(call.dtype(), added(sum, call.values("x").field()));
              Outputs all = outputs_of(call, sum, sum);
              all.y = scaled(twice, all.rstd, call.values("weight").field());
              return all;
            }),
      wrong("residual-after-norm",
            "x was normalised, and the residual added to the result: add it first.",
            [](const Case& call) -> std::optional<Outputs> {
              Outputs all = outputs_of(call, right_sum(call), call.values("x").field());
              all.y = added(all.y, call.values("residual").field());
              return all;
            }),
  };
}

/// A mistake of exercise 1.2, made on the sum.
Oracle on_the_sum(const Oracle& oracle) {
  auto result = [of_forward = oracle.result](const Case& call,
                                             const std::string& buffer) -> std::optional<Field> {
    if (buffer == call.place_of("sum")) {
      return std::nullopt;
    }
    return of_forward(forward_of_sum(call), buffer == "rstd" ? "rstd" : "y");
  };
  return {oracle.mistake, oracle.sentence, result, oracle.slack};
}

}  // namespace

std::vector<Oracle> residual_mistakes() {
  std::vector<Oracle> all = wrong_norms();
  const std::vector<Oracle> sums = wrong_sums();
  all.insert(all.end(), sums.begin(), sums.end());
  for (const Oracle& oracle : forward_mistakes()) {
    all.push_back(on_the_sum(oracle));
  }
  return all;
}

}  // namespace onepass::rmsnorm
