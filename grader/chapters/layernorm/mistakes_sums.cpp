// Exercise 2.3: what dweight and dbias would be with one mistake.
#include <optional>
#include <utility>

#include "chapters/common/column_sums.h"
#include "chapters/common/misread.h"
#include "chapters/layernorm/calls.h"
#include "chapters/layernorm/mistakes.h"

namespace onepass::layernorm {

using common::with_stride;
using verdict::Oracle;

namespace {

/// The terms of the sums that `output` holds, [rows, cols]; nothing for other outputs.
std::optional<Field> terms_of(const Case& call, const std::string& output) {
  if (call.integer("rows") == 0 || (output != "dweight" && output != "dbias")) {
    return std::nullopt;
  }
  const Field dy = call.values("dy").field();
  return output == "dbias" ? dy : product(dy, x_hat_of(call));
}

/// A mistake in how the terms are added up.
Oracle wrong_sum(const common::WrongColumnSum& wrong) {
  auto result = [sums = wrong.sums](const Case& call,
                                    const std::string& output) -> std::optional<Field> {
    const std::optional<Field> terms = terms_of(call, output);
    return terms ? sums(call.dtype(), *terms) : std::nullopt;
  };
  return {wrong.mistake, wrong.sentence, result, wrong.slack};
}

/// A mistake in x_hat, which only dweight has.
Oracle wrong_x_hat(std::string id, std::string sentence, std::function<Field(const Case&)> x_hat) {
  auto result = [x_hat = std::move(x_hat)](const Case& call,
                                           const std::string& output) -> std::optional<Field> {
    if (output != "dweight" || call.integer("rows") == 0) {
      return std::nullopt;
    }
    return column_sums(product(call.values("dy").field(), x_hat(call)));
  };
  return {std::move(id), std::move(sentence), result};
}

/// One output for the other.
Oracle swapped() {
  return {"weight-bias-swapped",
          "The sums are those of the other of the two: dweight adds up dy * x_hat, dbias dy alone. "
          "Have they changed places?",
          [](const Case& call, const std::string& output) -> std::optional<Field> {
            const auto other = terms_of(call, output == "dbias" ? "dweight" : "dbias");
            return other && terms_of(call, output) ? std::optional(column_sums(*other))
                                                   : std::nullopt;
          }};
}

void append_x_hat(std::vector<Oracle>& all) {
  all.push_back(wrong_x_hat("mean-not-subtracted",
                            "x_hat is x * rstd here: subtract the saved mean first.",
                            [](const Case& call) {
                              return product(call.values("x").field(), call.values("rstd").field());
                            }));
  all.push_back(
      wrong_x_hat("wrong-saved-statistics", "x_hat is x - mean here: multiply by the saved rstd.",
                  [](const Case& call) {
                    const Field x = call.values("x").field();
                    return normalized(x, call.values("mean").field(), Field(x.rows, 1, 1.0));
                  }));
  all.push_back(wrong_x_hat("wrong-saved-statistics",
                            "dweight is what comes out of x: it takes x_hat = (x - mean) * rstd.",
                            [](const Case& call) { return call.values("x").field(); }));
  all.push_back(wrong_x_hat(
      "no-reciprocal", "x - mean was divided by rstd: multiply by it.", [](const Case& call) {
        const Field inverse =
            common::map(call.values("rstd").field(), [](double r) { return 1.0 / r; });
        return normalized(call.values("x").field(), call.values("mean").field(), inverse);
      }));
  all.push_back(
      {"cast-order",
       "x_hat was rounded to the 16-bit type before it met dy: compute in float and round "
       "once, at the end.",
       [](const Case& call, const std::string& output) -> std::optional<Field> {
         if (output != "dweight" || call.dtype() == Dtype::fp32 || call.integer("rows") == 0) {
           return std::nullopt;
         }
         return column_sums(
             product(call.values("dy").field(), common::rounded(call.dtype(), x_hat_of(call))));
       }});
  all.push_back({"transposed-index", "Row and column of x are swapped in an index.",
                 [](const Case& call, const std::string& output) -> std::optional<Field> {
                   const auto x = common::transposed(call.values("x").field());
                   if (output != "dweight" || call.integer("rows") == 0 || !x) {
                     return std::nullopt;
                   }
                   return column_sums(product(
                       call.values("dy").field(),
                       normalized(*x, call.values("mean").field(), call.values("rstd").field())));
                 }});
  all.push_back({"transposed-index", "Row and column of dy are swapped in an index.",
                 [](const Case& call, const std::string& output) -> std::optional<Field> {
                   const auto dy = common::transposed(call.values("dy").field());
                   if (output != "dweight" || call.integer("rows") == 0 || !dy) {
                     return std::nullopt;
                   }
                   return column_sums(product(*dy, x_hat_of(call)));
                 }});
  for (const char* buffer : {"x", "dy"}) {
    const std::string name = buffer;
    for (const char* other : {"cols", "x_stride", "dy_stride"}) {
      const std::string stride = other;
      all.push_back({"stride-ignored",
                     "The rows of " + name + " were read " + stride +
                         " elements apart: they start " + name + "_stride apart.",
                     [=](const Case& call, const std::string& output) -> std::optional<Field> {
                       const auto read = with_stride(call, name.c_str(), call.integer(stride));
                       if (!read || !terms_of(call, output)) {
                         return std::nullopt;
                       }
                       const Field dy = name == "dy" ? *read : call.values("dy").field();
                       if (output == "dbias") {
                         return column_sums(dy);
                       }
                       const Field x = name == "x" ? *read : call.values("x").field();
                       return column_sums(product(dy, normalized(x, call.values("mean").field(),
                                                                 call.values("rstd").field())));
                     }});
    }
  }
}

}  // namespace

std::vector<Oracle> sums_mistakes() {
  std::vector<Oracle> all;
  append_x_hat(all);
  all.push_back(swapped());
  for (const common::WrongColumnSum& wrong : common::wrong_column_sums()) {
    all.push_back(wrong_sum(wrong));
  }
  return all;
}

std::vector<Oracle> fused_mistakes() {
  std::vector<Oracle> all = dx_mistakes();
  const std::vector<Oracle> sums = sums_mistakes();
  all.insert(all.end(), sums.begin(), sums.end());
  return all;
}

}  // namespace onepass::layernorm
