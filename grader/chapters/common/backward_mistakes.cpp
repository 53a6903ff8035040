#include "chapters/common/backward_mistakes.h"

#include <cmath>
#include <utility>

#include "chapters/common/column_sums.h"
#include "chapters/common/forward.h"
#include "chapters/common/misread.h"
#include "chapters/common/row_walks.h"

namespace onepass::common {

using verdict::Case;

namespace {

using BackwardTable = Table<BackwardHooks>;

constexpr double kLikelyEps[] = {0.0, 1e-5, 1e-6, 1e-8, 1e-12};

/// In dx a mean is added.
Mistake<BackwardHooks> signs_flipped(bool centred) {
  const auto way = [](const char* sentence, bool mean_wdy, bool mean_wdy_hat) {
    return Way<BackwardHooks>{sentence, {.means = [=](Backward& p) {
                                const auto less = [](double mean) { return -mean; };
                                p.mean_wdy = mean_wdy ? map(p.mean_wdy, less) : p.mean_wdy;
                                p.mean_wdy_hat =
                                    mean_wdy_hat ? map(p.mean_wdy_hat, less) : p.mean_wdy_hat;
                              }}};
  };
  if (!centred) {
    return {"sign-flipped", {way("The mean is added: it is subtracted.", false, true)}};
  }
  return {"sign-flipped",
          {way("x_hat times the mean of wdy * x_hat is added: it is subtracted.", false, true),
           way("The mean of wdy is added: it is subtracted.", true, false),
           way("Both means are added: they are subtracted.", true, true)}};
}

/// Some columns take other weights than their own, as misread(weight, number) has them:
/// tail_from_front() or again_from_front().
template <typename Misread>
auto weight_as(Misread misread, std::int64_t number) {
  return [misread, number](const Case&, Backward& p) {
    const std::optional<Field> moved = misread(p.weight, number);
    p.weight = moved.value_or(p.weight);
    return moved.has_value();
  };
}

/// What the forward pass has saved, computed from x once more.
Mistake<BackwardHooks> made_anew(bool centred) {
  const char* const taken = " computed from x once more: take what was saved, as it is given.";
  Mistake<BackwardHooks> mistake{"wrong-saved-statistics", {}};
  const auto add = [&](const char* what, bool mean, std::optional<double> eps) {
    mistake.ways.push_back({std::string(what) + taken, {.read = [=](const Case&, Backward& p) {
                              const Statistics own = *statistics(
                                  {.x = p.x, .eps = eps.value_or(0.0), .centred = p.centred});
                              p.mean = mean ? own.mean : p.mean;
                              p.rstd = eps ? own.rstd : p.rstd;
                              return true;
                            }}});
  };
  for (const double eps : kLikelyEps) {
    add("rstd was", false, eps);
    if (centred) {
      add("mean and rstd were", true, eps);
    }
  }
  if (!centred) {
    return mistake;
  }
  add("The mean was", true, std::nullopt);
  for (const double eps : kLikelyEps) {  // about the mean that is given
    mistake.ways.push_back(
        {std::string("rstd was") + taken, {.read = [eps](const Case&, Backward& p) {
           const Field ones(p.x.rows, 1, 1.0);
           const Field apart = normalized(p.x, p.mean, ones);
           p.rstd = map(row_means(product(apart, apart)),
                        [eps](double squares) { return 1.0 / std::sqrt(squares + eps); });
           return true;
         }}});
  }
  return mistake;
}

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
  Mistake<BackwardHooks> weight_missing{
      "weight-missing-in-dx",
      {{"dx is what comes out of dy alone: it is dy times weight that reaches x_hat.",
        {.wdy = without_weight}},
       {either("The two means are those of dy: multiply by the weight before summing.",
               "The mean is that of dy * x_hat: multiply by the weight before adding up."),
        {.wdy = without_weight, .means = with_weight}},
       {either("The two means are those of weight * dy, but the first term is dy alone: multiply "
               "it by the weight too.",
               "The weight is in the mean only: also the dy in front of it is times the weight."),
        {.means = without_weight}}}};
  if (centred) {
    weight_missing.ways.push_back(
        {"The mean of wdy was taken of dy alone: multiply by the weight before adding up.",
         {.means = [](Backward& p) { p.mean_wdy = row_means(p.dy); }}});
    weight_missing.ways.push_back(
        {"The mean of wdy * x_hat was taken of dy * x_hat: multiply by the weight before adding "
         "up.",
         {.means = [](Backward& p) { p.mean_wdy_hat = row_means(product(p.dy, p.x_hat)); }}});
  }
  return {
      signs_flipped(centred),
      {"missing-reduction-term",
       {{either("x_hat times the mean of wdy * x_hat is not subtracted: each x also moves the "
                "row's rstd, and with it every y.",
                "dx is rstd * wdy: x_hat times the mean of wdy * x_hat is not subtracted. Each x "
                "also moves the row's rstd, and with it every y."),
         {.means = [](Backward& p) { p.mean_wdy_hat = Field(p.x.rows, 1); }}}}},
      {"sum-not-mean",
       {{"The sum of wdy * x_hat was used as it is: divide it by cols.",
         {.means = [](Backward& p) { p.mean_wdy_hat = row_sums(product(p.wdy, p.x_hat)); }}}}},
      weight_missing,
      {"weight-in-dweight",
       {{"The terms were multiplied by the weight: dweight is the sum of dy * x_hat.",
         {.terms =
              [](const Backward& p, const std::string& output) {
                return output == "dbias" ? p.dy : product(product(p.dy, p.weight), p.x_hat);
              }}},
        {"dweight is NaN where the weight is 0, and right elsewhere: that is what comes of "
         "multiplying by the weight and dividing by it again. dweight does not depend on the "
         "weight: add up dy * x_hat.",
         {.terms =
              [](const Backward& p, const std::string& output) {
                const Field nothing =
                    map(p.weight, [](double weight) { return weight == 0.0 ? std::nan("") : 1.0; });
                return output == "dbias" ? p.dy : product(product(p.dy, p.x_hat), nothing);
              }}}}},
      {"weight-by-row",
       {{"wdy is dy * weight[row]: the weights belong to the columns.",
         {.when = [](const Case& call) { return call.integer("rows") <= call.integer("cols"); },
          .wdy =
              [](Backward& p) {
                const Field weights = verdict::field_of(
                    p.dy.rows, 1, [&](auto row, auto) { return p.weight(0, row); });
                p.wdy = product(p.dy, weights);
              }}}}},
      tails_from_front<BackwardHooks>(
          [](std::int64_t vector) { return weight_as(tail_from_front, vector); }),
      weights_of_first_turn<BackwardHooks>(
          [](std::int64_t threads) { return weight_as(again_from_front, threads); }),
      {"no-reciprocal",
       {{"The result was divided by rstd: multiply by it.",
         {.means = [=](Backward& p) { p.rstd = inverse(p.rstd); }}},
        {x + " was divided by rstd: x_hat is " + x_hat + ".",
         {.x_hat = [=](Backward& p) { p.x_hat = normalized(p.x, p.mean, inverse(p.rstd)); }}}}},
      {"wrong-saved-statistics",
       {{"The result was not multiplied by rstd at the end.",
         {.means = [](Backward& p) { p.rstd = Field(p.x.rows, 1, 1.0); }}},
        {"The result was multiplied by rstd twice: once is right.",
         {.means = [](Backward& p) { p.rstd = product(p.rstd, p.rstd); }}},
        {"What is subtracted from wdy lacks a factor rstd: x_hat is " + x_hat +
             ", and rstd multiplies the whole difference.",
         {.means =
              [=](Backward& p) {
                p.mean_wdy = product(p.mean_wdy, inverse(p.rstd));
                p.mean_wdy_hat = product(p.mean_wdy_hat, inverse(p.rstd));
              }}},
        {"x was used for x_hat: it is " + x_hat + ".",
         {.x_hat = [](Backward& p) { p.x_hat = p.x; }}}}},
  };
}

Mistake<BackwardHooks> wrong_count(bool centred) {
  Mistake<BackwardHooks> mistake{"wrong-count", {}};
  for (const WrongCount& count : wrong_counts()) {
    const std::string by = " divided by " + count.what + ", it seems: divide by cols.";
    const auto scaled = [count](const Backward& p, const Field& mean) {
      const auto cols = static_cast<double>(p.x.cols);
      const double number = count.of(cols, static_cast<double>(p.stride));
      return map(mean, [=](double value) { return value * cols / number; });
    };
    mistake.ways.push_back(
        {(centred ? "Both sums were" : "The sum was") + by, {.means = [scaled](Backward& p) {
           p.mean_wdy = scaled(p, p.mean_wdy);
           p.mean_wdy_hat = scaled(p, p.mean_wdy_hat);
         }}});
    if (centred) {
      mistake.ways.push_back({"The sum of wdy was" + by, {.means = [scaled](Backward& p) {
                                p.mean_wdy = scaled(p, p.mean_wdy);
                              }}});
      mistake.ways.push_back({"The sum of wdy * x_hat was" + by, {.means = [scaled](Backward& p) {
                                p.mean_wdy_hat = scaled(p, p.mean_wdy_hat);
                              }}});
    }
  }
  return mistake;
}

const char* const kFirst =
    " always the block's first row's: go on to the next row's in each turn of the loop.";
const char* const kNext = " the block's next row's already: keep this row's until it is done.";

/// Each row has those numbers of row whose[r]. False if there are not as many rows.
bool take(Backward& pass, const std::vector<Field Backward::*>& fields,
          const std::vector<std::int64_t>& whose) {
  for (Field Backward::*field : fields) {
    const std::optional<Field> others = taken(pass.*field, whose);
    if (!others) {
      return false;
    }
    pass.*field = *others;
  }
  return true;
}

/// Where a block asks for its next row's numbers while it works on this one.
Mistake<BackwardHooks> prefetch_mixed_up(bool centred) {
  Mistake<BackwardHooks> mistake{"prefetch-mixed-up", {}};
  const auto add = [&](const std::string& what, const std::vector<Field Backward::*>& fields) {
    const auto add_walks = [&](const std::string& whose, const std::vector<RowWalk>& walks,
                               auto rows_of) {
      for (const RowWalk& walk : walks) {
        mistake.ways.push_back(
            {.sentence = what + whose,
             .hooks = {},
             .of_rows = [=](const verdict::WrongRows& wrong) -> std::optional<BackwardHooks> {
               const std::optional<RowsBefore> before = walk(wrong);
               if (!before) {
                 return std::nullopt;
               }
               return BackwardHooks{
                   .read = [fields, whose = rows_of(*before)](const Case&, Backward& pass) {
                     return take(pass, fields, whose);
                   }};
             }});
      }
    };
    // Of sums down the columns no row is seen to be wrong, and the launches tell how rows are
    // shared.
    const auto add_launches = [&](const std::string& whose, auto rows_of) {
      for (std::size_t launch : {0, 1}) {
        for (bool side_by_side : {false, true}) {
          mistake.ways.push_back(
              {.sentence = what + whose,
               .hooks = {},
               .of_rows = [=](const verdict::WrongRows& wrong) -> std::optional<BackwardHooks> {
                 if (wrong.rows != 1 || launch >= wrong.launches.size()) {
                   return std::nullopt;
                 }
                 return BackwardHooks{
                     .read = [fields, side_by_side, rows_of,
                              blocks = wrong.launches[launch].blocks](const Case&, Backward& pass) {
                       const auto before = rows_of_blocks(blocks, pass.x.rows, side_by_side);
                       return before && take(pass, fields, rows_of(*before));
                     }};
               }});
        }
      }
    };
    add_walks(kFirst, walks_right_at_first(), first_rows);
    add_walks(kNext, walks_right_at_last(), next_rows);
    // Where a block has two rows, both are the same.
    const char* const before = " those of a row that the block had before: go on to this row's.";
    add_launches(before, previous_rows);
    add_launches(before, first_rows);
    add_launches(kNext, next_rows);
  };
  if (centred) {
    add("mean and rstd are", {&Backward::mean, &Backward::rstd});
    add("The mean is", {&Backward::mean});
  }
  add("rstd is", {&Backward::rstd});
  add("dy and x are", {&Backward::dy, &Backward::x});
  return mistake;
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
         sum, verdict::kSixteenBitNoiseInAnyOrder});
  }
  return placed(joined<RowSum>({{sixteen_bits},
                                wrong_shares(),
                                means_of_unequal_shares(),
                                wrong_totals(),
                                carried_sums(),
                                shared_sums()}),
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
  const BackwardTable all =
      joined<BackwardHooks>({wrong_formulas(centred),
                             {made_anew(centred)},
                             own,
                             column_sum_mistakes(),
                             {wrong_strides()},
                             wrong_row_sums(centred),
                             {wrong_count(centred), prefetch_mixed_up(centred)},
                             {wrong_indices()}});
  return oracles<BackwardHooks>(
      all, [given](const Case& call, const std::string& output, const BackwardHooks& hooks) {
        return result(given, call, output, hooks);
      });
}

}  // namespace onepass::common
