#include "chapters/common/backward_mistakes.h"

#include <utility>

#include "chapters/common/column_sums.h"
#include "chapters/common/misread.h"

namespace onepass::common {

using verdict::Case;

namespace {

using BackwardTable = Table<BackwardHooks>;

BackwardTable wrong_formulas(bool centred) {
  const auto either = [centred](const char* layernorm, const char* rmsnorm) {
    return std::string(centred ? layernorm : rmsnorm);
  };
  const std::string x = either("x - mean", "x");
  const std::string x_hat = either("(x - mean) * rstd", "x * rstd");
  const auto inverse = [](const Field& rstd) {
    return map(rstd, [](double value) { return 1.0 / value; });
  };
  const auto without_weight = [](Backward& p) { p.wdy = p.dy; };
  const auto with_weight = [](Backward& p) { p.wdy = product(p.dy, p.weight); };
  return {
      {"missing-reduction-term",
       {{either("x_hat times the mean of wdy * x_hat is not subtracted: each x also moves the "
                "row's rstd, and with it every y.",
                "dx is rstd * wdy: x_hat times the mean of wdy * x_hat is not subtracted. Each x "
                "also moves the row's rstd, and with it every y."),
         {.means = [](Backward& p) { p.mean_wdy_hat = Field(p.x.rows, 1); }}}}},
      {"sum-not-mean",
       {{"The sum of wdy * x_hat was used as it is: divide it by cols.",
         {.means = [](Backward& p) { p.mean_wdy_hat = row_sums(product(p.wdy, p.x_hat)); }}}}},
      {"weight-missing-in-dx",
       {{"dx is what comes out of dy alone: it is dy times weight that reaches x_hat.",
         {.wdy = without_weight}},
        {either("The two means are those of dy: multiply by the weight before summing.",
                "The mean is that of dy * x_hat: multiply by the weight before adding up."),
         {.wdy = without_weight, .means = with_weight}},
        {either("The two means are those of weight * dy, but the first term is dy alone: multiply "
                "it by the weight too.",
                "The weight is in the mean only: also the dy in front of it is times the weight."),
         {.means = without_weight}}}},
      {"weight-by-row",
       {{"wdy is dy * weight[row]: the weights belong to the columns.",
         {.when = [](const Case& call) { return call.integer("rows") <= call.integer("cols"); },
          .wdy =
              [](Backward& p) {
                const Field weights = verdict::field_of(
                    p.dy.rows, 1, [&](auto row, auto) { return p.weight(0, row); });
                p.wdy = product(p.dy, weights);
              }}}}},
      {"no-reciprocal",
       {{"The result was divided by rstd: multiply by it.",
         {.means = [=](Backward& p) { p.rstd = inverse(p.rstd); }}},
        {x + " was divided by rstd: x_hat is " + x_hat + ".",
         {.x_hat = [=](Backward& p) { p.x_hat = normalized(p.x, p.mean, inverse(p.rstd)); }}}}},
      {"wrong-saved-statistics",
       {{"The result was not multiplied by rstd at the end.",
         {.means = [](Backward& p) { p.rstd = Field(p.x.rows, 1, 1.0); }}},
        {"x was used for x_hat: it is " + x_hat + ".",
         {.x_hat = [](Backward& p) { p.x_hat = p.x; }}}}},
  };
}

/// x or dy as `read` finds it.
template <typename Read>
BackwardHooks misread(const std::string& buffer, Read read) {
  return {.read = [=](const Case& call, Backward& pass) {
    const std::optional<Field> found = read(call, buffer.c_str());
    if (found) {
      (buffer == "x" ? pass.x : pass.dy) = *found;
    }
    return found.has_value();
  }};
}

Mistake<BackwardHooks> wrong_strides() {
  Mistake<BackwardHooks> mistake{"stride-ignored", {}};
  for (const std::string buffer : {"x", "dy"}) {
    for (const std::string stride : {"cols", "x_stride", "dy_stride", "dx_stride"}) {
      mistake.ways.push_back({"The rows of " + buffer + " were read " + stride +
                                  " elements apart: they start " + buffer + "_stride apart.",
                              misread(buffer, [stride](const Case& call, const char* name) {
                                return call.has_scalar(stride)
                                           ? with_stride(call, name, call.integer(stride))
                                           : std::nullopt;
                              })});
    }
  }
  return mistake;
}

Mistake<BackwardHooks> wrong_indices() {
  const auto read = [](const Case& call, const char* name) {
    return transposed(call.values(name).field());
  };
  return {"transposed-index",
          {{"Row and column of x are swapped in an index.", misread("x", read)},
           {"Row and column of dy are swapped in an index.", misread("dy", read)}}};
}

BackwardTable wrong_row_sums(bool centred) {
  Mistake<RowSum> sixteen_bits{"half-accumulation", {}};
  for (const RowSum& sum : sums_in_sixteen_bits()) {
    sixteen_bits.ways.push_back(
        {std::string(centred ? "The two sums are" : "The row's sum is") +
             " what adding up in the 16-bit type gives: convert to float and add in float.",
         sum, verdict::kSixteenBitSlack});
  }
  return placed(joined<RowSum>({{sixteen_bits}, wrong_shares(), wrong_totals()}),
                [](const RowSum& sum) { return BackwardHooks{.row_sum = sum}; });
}

/// Do the hooks concern that output?
bool concern(const BackwardHooks& hooks, const std::string& output) {
  if (output == "dx") {
    return hooks.read || hooks.x_hat || hooks.wdy || hooks.row_sum || hooks.means;
  }
  const bool has_x_hat = output != "dbias";
  return hooks.read || (has_x_hat && hooks.x_hat) || hooks.terms || hooks.column_sums;
}

std::optional<Field> result(const std::function<Backward(const Case& call)>& given,
                            const Case& call, const std::string& output,
                            const BackwardHooks& hooks) {
  if (call.integer("rows") == 0 || !concern(hooks, output) || (hooks.when && !hooks.when(call))) {
    return std::nullopt;
  }
  Backward pass = given(call);
  if (hooks.read && !hooks.read(call, pass)) {
    return std::nullopt;
  }
  if (output == "dx") {
    return backward_dx(pass, hooks);
  }
  const Field terms = backward_terms(pass, output, hooks);
  return hooks.column_sums ? hooks.column_sums(pass.dtype, terms) : column_sums(terms);
}

}  // namespace

bool in_sixteen_bits(const Case& call) {
  return call.dtype() != verdict::Dtype::fp32;
}

std::vector<verdict::Oracle> backward_mistakes(
    bool centred, const BackwardTable& own,
    const std::function<Backward(const Case& call)>& given) {
  // A sum whose parts are rounded to 16 bits is one that is added up in 16 bits, if each part has
  // one row: so the columns' sums, which know both, come before the rows'.
  const BackwardTable all = joined<BackwardHooks>({wrong_formulas(centred),
                                                   own,
                                                   column_sum_mistakes(),
                                                   {wrong_strides()},
                                                   wrong_row_sums(centred),
                                                   {wrong_indices()}});
  return oracles<BackwardHooks>(
      all, [given](const Case& call, const std::string& output, const BackwardHooks& hooks) {
        return result(given, call, output, hooks);
      });
}

}  // namespace onepass::common
