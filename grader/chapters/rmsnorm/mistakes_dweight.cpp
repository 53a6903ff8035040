// Exercise 1.3: what dweight would be with one mistake.
#include <functional>
#include <optional>
#include <utility>

#include "chapters/common/column_sums.h"
#include "chapters/common/misread.h"
#include "chapters/rmsnorm/calls_backward.h"
#include "chapters/rmsnorm/mistakes.h"
#include "chapters/rmsnorm/reference.h"

namespace onepass::rmsnorm {

using verdict::Oracle;

namespace {

/// A mistake in the terms that are added up, [rows, cols]; nothing where it makes no difference.
using Terms = std::function<std::optional<Field>(const Case&)>;
Oracle wrong_terms(std::string id, std::string sentence, Terms terms) {
  auto result = [terms = std::move(terms)](const Case& call,
                                           const std::string& output) -> std::optional<Field> {
    if (output != "dweight" || call.integer("rows") == 0) {
      return std::nullopt;
    }
    const std::optional<Field> wrong = terms(call);
    return wrong ? std::optional(column_sums(*wrong)) : std::nullopt;
  };
  return {std::move(id), std::move(sentence), result};
}

/// A mistake in x_hat.
Oracle wrong_x_hat(std::string id, std::string sentence, Terms x_hat) {
  return wrong_terms(std::move(id), std::move(sentence),
                     [x_hat = std::move(x_hat)](const Case& call) -> std::optional<Field> {
                       const std::optional<Field> wrong = x_hat(call);
                       return wrong ? std::optional(product(call.values("dy").field(), *wrong))
                                    : std::nullopt;
                     });
}

/// A mistake in how the terms are added up.
Oracle wrong_column_sum(const common::WrongColumnSum& wrong) {
  auto result = [sums = wrong.sums](const Case& call,
                                    const std::string& output) -> std::optional<Field> {
    if (output != "dweight" || call.integer("rows") == 0) {
      return std::nullopt;
    }
    return sums(call.dtype(), product(call.values("dy").field(), x_hat_for_dweight_of(call)));
  };
  return {wrong.mistake, wrong.sentence, result, wrong.slack};
}

std::vector<Oracle> wrong_formulas() {
  return {
      wrong_x_hat("cast-order",
                  "x_hat was rounded to the 16-bit type: where the weight is applied in fp32, the "
                  "forward pass did not round it either.",
                  [](const Case& call) -> std::optional<Field> {
                    if (order_of(call) != CastOrder::weight_in_fp32) {
                      return std::nullopt;
                    }
                    return rounded_x_hat(call.dtype(), call.values("x").field(),
                                         call.values("rstd").field());
                  }),
      wrong_x_hat("cast-order",
                  "x_hat was not rounded: in LLaMA's order the forward pass rounded it to the "
                  "16-bit type before it met the weight, so dweight takes the rounded value.",
                  [](const Case& call) -> std::optional<Field> {
                    return order_of(call) == CastOrder::llama ? std::optional(x_hat_of(call))
                                                              : std::nullopt;
                  }),
      wrong_x_hat("wrong-saved-statistics",
                  "dweight is what comes out of x: it takes x_hat = x * rstd.",
                  [](const Case& call) { return call.values("x").field(); }),
      wrong_x_hat("no-reciprocal", "x was divided by rstd: x_hat is x * rstd.",
                  [](const Case& call) {
                    return product(call.values("x").field(),
                                   common::map(call.values("rstd").field(),
                                               [](double rstd) { return 1.0 / rstd; }));
                  }),
      wrong_terms("x-hat-missing", "dweight is the sum of dy alone: multiply each dy by its x_hat.",
                  [](const Case& call) { return call.values("dy").field(); }),
      wrong_terms(
          "weight-in-dweight",
          "The terms were multiplied by the weight: dweight is the sum of dy * x_hat.",
          [](const Case& call) { return product(wdy_of(call), x_hat_for_dweight_of(call)); }),
  };
}

std::vector<Oracle> dweight_misread() {
  std::vector<Oracle> all;
  for (const char* buffer : {"x", "dy"}) {
    const std::string name = buffer;
    for (const char* other : {"cols", "x_stride", "dy_stride", "dx_stride"}) {
      const std::string stride = other;
      all.push_back(wrong_terms(
          "stride-ignored",
          "The rows of " + name + " were read " + stride + " elements apart: they start " + name +
              "_stride apart.",
          [=](const Case& call) -> std::optional<Field> {
            const auto read = common::with_stride(call, name.c_str(), call.integer(stride));
            if (!read) {
              return std::nullopt;
            }
            if (name == "dy") {
              return product(*read, x_hat_for_dweight_of(call));
            }
            return product(call.values("dy").field(), product(*read, call.values("rstd").field()));
          }));
    }
  }
  return all;
}

}  // namespace

std::vector<Oracle> dweight_mistakes() {
  std::vector<Oracle> all = wrong_formulas();
  const std::vector<Oracle> reading = dweight_misread();
  all.insert(all.end(), reading.begin(), reading.end());
  for (const common::WrongColumnSum& wrong : common::wrong_column_sums()) {
    all.push_back(wrong_column_sum(wrong));
  }
  return all;
}

std::vector<Oracle> backward_mistakes() {
  std::vector<Oracle> all = dx_mistakes();
  const std::vector<Oracle> dweight = dweight_mistakes();
  all.insert(all.end(), dweight.begin(), dweight.end());
  return all;
}

}  // namespace onepass::rmsnorm
