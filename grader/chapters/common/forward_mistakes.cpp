#include "chapters/common/forward_mistakes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "chapters/common/misread.h"
#include "chapters/common/row_walks.h"
#include "chapters/common/welford.h"

namespace onepass::common {

using verdict::Case;

namespace {

using Hooks = ForwardHooks;

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

/// What is not fetched is 0, where the row waits in shared memory.
Hooks zeros_but_for(const Counted& counted) {
  return x_read([counted](const Case&, const Field& x) {
    return std::optional(verdict::field_of(x.rows, x.cols, [&](auto row, auto col) {
      return counted(col, x.cols) ? x(row, col) : 0.0;
    }));
  });
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

/// Some columns take other weights and biases than their own, as misread(parameter, number) has
/// them: tail_from_front() or again_from_front().
template <typename Misread>
auto parameters_as(Misread misread, std::int64_t number) {
  return [misread, number](const Case&, Forward pass) -> std::optional<Forward> {
    bool differs = false;
    for (Field* parameter : {&pass.weight, &pass.bias}) {
      const std::optional<Field> moved = misread(*parameter, number);
      differs = differs || moved;
      *parameter = moved.value_or(*parameter);
    }
    return differs ? std::optional(pass) : std::nullopt;
  };
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

/// What is beside the row adds (0 - mean)^2: threads or lanes past its end, up to a multiple of so
/// many, or for 0 to the next power of two; or so many elements of a pack in which it begins.
std::vector<Way<Hooks>> masked_lanes(const ForwardWords& words) {
  std::vector<Way<Hooks>> ways;
  const auto add = [&](const char* where, auto beside) {
    ways.push_back({fmt::format("What is {} the {} entered the variance, as (0 - mean)^2: only "
                                "elements that exist may add to it.",
                                where, words.of.row),
                    {.variance = [beside](const Row& r) {
                      return (r.squares +
                              beside(static_cast<std::int64_t>(r.cols)) * r.mean * r.mean) /
                             r.cols;
                    }}});
  };
  for (std::int64_t group : {256, 1024, 512, 128, 64, 32, 0}) {
    add("past the end of", [group](std::int64_t cols) {
      std::int64_t padded = 1;
      while (padded < cols) {
        padded *= 2;
      }
      return surplus(group > 0 ? group : padded, cols);
    });
  }
  for (int before = 1; before < 8; ++before) {
    add("beside", [before](std::int64_t) { return static_cast<double>(before); });
  }
  return ways;
}

}  // namespace

std::string say(const char* sentence, const ForwardWords& words) {
  std::string capital = words.variance;
  capital[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(capital[0])));
  return fmt::format(fmt::runtime(sentence), fmt::arg("variance", words.variance),
                     fmt::arg("Variance", capital), fmt::arg("v", words.v),
                     fmt::arg("cols", words.cols), fmt::arg("row", words.of.row),
                     fmt::arg("i", words.index));
}

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
                     "in each turn of the loop, and give rows that a block has at once slots of "
                     "their own.",
         .hooks = {},
         .of_rows = [walk](const verdict::WrongRows& wrong) -> std::optional<Hooks> {
           const std::optional<RowsBefore> before = walk(wrong);
           return before ? std::optional(
                               x_read([first = first_rows(*before)](const Case&, const Field& x) {
                                 return taken(x, first);
                               }))
                         : std::nullopt;
         }});
  }
  const Table<Hooks> others = {
      wrong_stride,
      not_moved,
      {"transposed-index",
       {{"Row and column of x are swapped in an index.",
         x_read([](const Case&, const Field& x) { return transposed(x); })}}},
      {"weight-by-row",
       {{"y is what weight[row] gives: look it up by the column, weight[col].",
         {.read = with_weight_by_row}}}},
      tails_from_front<Hooks>(
          [](std::int64_t vector) { return parameters_as(tail_from_front, vector); }),
      weights_of_first_turn<Hooks>(
          [](std::int64_t threads) { return parameters_as(again_from_front, threads); })};
  return joined<Hooks>({others, placed(parts_of_vectors(), zeros_but_for)});
}

Table<Hooks> statistics_mistakes(const ForwardWords& words) {
  Table<Hooks> all = {
      {"unbiased-variance",
       {{say("The result is what comes out of dividing by {cols} - 1: {variance} is the sum of the "
             "squares divided by {cols}.",
             words),
         {.rstd =
              [](const Row& r) { return 1.0 / std::sqrt(r.squares / (r.cols - 1.0) + r.eps); }}}}},
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
    all = joined<Hooks>({all, one_pass_variance(), wrong_merges()});
  }
  for (Of of : sums_of(words)) {
    const auto in_sums = [of](const RowSum& sum) { return summed_by(sum, of); };
    all = joined<Hooks>({all, placed(wrong_shares(words.of), in_sums),
                         placed(means_of_unequal_shares(words.of), in_sums),
                         placed(carried_sums(words.of), in_sums),
                         placed(shared_sums(words.of), in_sums)});
  }
  const Of all_sums = words.centred ? Of::both : Of::squares;
  all = joined<Hooks>({all, placed(wrong_totals(), [all_sums](const RowSum& sum) {
                         return summed_by(sum, all_sums);
                       })});
  return joined<Hooks>({all, sixteen_bit_squares(words)});
}

}  // namespace onepass::common
