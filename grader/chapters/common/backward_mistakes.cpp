#include "chapters/common/backward_mistakes.h"

#include <utility>

#include "chapters/common/column_sums.h"
#include "chapters/common/lost_columns.h"
#include "chapters/common/misread.h"
#include "chapters/common/sixteen_bit_sums.h"
#include "chapters/common/thread_sums.h"

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
      {"wrong-saved-statistics",
       {{"The result was not multiplied by rstd at the end.",
         {.means = [](Backward& p) { p.rstd = Field(p.x.rows, 1, 1.0); }}},
        {"x was used for x_hat: it is " + x_hat + ".",
         {.x_hat = [](Backward& p) { p.x_hat = p.x; }}}}},
      {"no-reciprocal",
       {{"The result was divided by rstd: multiply by it.",
         {.means = [=](Backward& p) { p.rstd = inverse(p.rstd); }}},
        {x + " was divided by rstd: x_hat is " + x_hat + ".",
         {.x_hat = [=](Backward& p) { p.x_hat = normalized(p.x, p.mean, inverse(p.rstd)); }}}}},
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

/// What each column's thread takes for the sum of the row, where thread t has the packs t,
/// t + threads, ... of `pack` columns.
Field held(const ThreadSums& sums, std::int64_t pack, const Field& terms) {
  const auto thread_of = [&](std::int64_t col) {
    return static_cast<std::size_t>(col / pack % sums.threads);
  };
  Field all(terms.rows, terms.cols);
  for (std::int64_t row = 0; row < terms.rows; ++row) {
    std::vector<double> shares(static_cast<std::size_t>(sums.threads), 0.0);
    for (std::int64_t col = 0; col < terms.cols; ++col) {
      shares[thread_of(col)] += terms(row, col);
    }
    const std::vector<double> totals = sums.reduce(shares);
    for (std::int64_t col = 0; col < terms.cols; ++col) {
      all(row, col) = totals[thread_of(col)];
    }
  }
  return all;
}

BackwardHooks with_held(const ThreadSums& sums, bool packs_of_16_bytes) {
  const auto pack_for = [=](verdict::Dtype dtype) {
    return packs_of_16_bytes ? static_cast<std::int64_t>(16 / verdict::size_of(dtype)) : 1;
  };
  return {
      .when = [=](const Case& call) { return call.integer("cols") % pack_for(call.dtype()) == 0; },
      .row_sums = [=](const Backward& pass,
                      const Field& terms) { return held(sums, pack_for(pass.dtype), terms); }};
}

/// What is past the end of the row read as its first or last column.
Field with_surplus(std::int64_t threads, bool last, const Field& terms) {
  const auto surplus = static_cast<double>((threads - terms.cols % threads) % threads);
  Field sums = row_sums(terms);
  for (std::int64_t row = 0; row < terms.rows; ++row) {
    sums(row, 0) += surplus * terms(row, last ? terms.cols - 1 : 0);
  }
  return sums;
}

Mistake<BackwardHooks> sixteen_bit_row_sums(bool centred) {
  Mistake<BackwardHooks> mistake{"half-accumulation", {}};
  for (const SixteenBitSum how : sixteen_bit_sums()) {
    mistake.ways.push_back(
        {std::string(centred ? "The two sums are" : "The row's sum is") +
             " what adding up in the 16-bit type gives: convert to float and add in float.",
         {.when = in_sixteen_bits,
          .row_sums = [how](const Backward& pass,
                            const Field& terms) { return sum_in(pass.dtype, terms, how); }},
         verdict::kSixteenBitSlack});
  }
  return mistake;
}

BackwardTable wrong_row_sums() {
  Mistake<BackwardHooks> surplus{"wrong-when-narrow", {}};
  for (std::int64_t threads : {32, 64, 128, 256, 512, 1024}) {
    for (bool last : {false, true}) {
      surplus.ways.push_back(
          {"Threads whose column is past the end of the row add something too: their share must be "
           "0.",
           {.row_sums = [=](const Backward&, const Field& terms) {
             return with_surplus(threads, last, terms);
           }}});
    }
  }
  BackwardTable table = {surplus};
  for (const LostColumns& lost : lost_columns()) {
    const auto sums = [counted = lost.counted](const Backward&, const Field& terms) {
      return row_sums(
          only(terms, [&](std::int64_t, std::int64_t col) { return counted(col, terms.cols); }));
    };
    table.push_back({lost.mistake, {{lost.sentence, {.row_sums = sums}}}});
  }
  for (const ThreadSums& sums : thread_sums()) {
    table.push_back(
        {sums.mistake,
         {{sums.sentence, with_held(sums, false)}, {sums.sentence, with_held(sums, true)}}});
  }
  return table;
}

/// Do the hooks concern that output?
bool concern(const BackwardHooks& hooks, const std::string& output) {
  if (output == "dx") {
    return hooks.read || hooks.x_hat || hooks.wdy || hooks.row_sums || hooks.means;
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
  BackwardTable all;
  for (const BackwardTable& table : {wrong_formulas(centred),
                                     {sixteen_bit_row_sums(centred)},
                                     own,
                                     {wrong_strides()},
                                     wrong_row_sums(),
                                     column_sum_mistakes(),
                                     {wrong_indices()}}) {
    all.insert(all.end(), table.begin(), table.end());
  }
  return oracles<BackwardHooks>(
      all, [given](const Case& call, const std::string& output, const BackwardHooks& hooks) {
        return result(given, call, output, hooks);
      });
}

}  // namespace onepass::common
