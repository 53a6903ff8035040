// Exercise 2.3: what dweight and dbias would be with one mistake.
#include <fmt/format.h>

#include <limits>
#include <optional>
#include <utility>

#include "chapters/common/sixteen_bit_sums.h"
#include "chapters/layernorm/calls.h"
#include "chapters/layernorm/inputs.h"
#include "chapters/layernorm/mistakes.h"

namespace onepass::layernorm {

using verdict::Oracle;

namespace {

constexpr double kSixteenBitSlack = 16.0;

/// The terms of the sums that `output` holds, [rows, cols]; nothing for other outputs.
std::optional<Field> terms_of(const Case& call, const std::string& output) {
  if (call.integer("rows") == 0 || (output != "dweight" && output != "dbias")) {
    return std::nullopt;
  }
  const Field dy = call.values("dy").field();
  return output == "dbias" ? dy : product(dy, x_hat_of(call));
}

/// A mistake in how the terms are added up.
Oracle wrong_sum(std::string id, std::string sentence,
                 std::function<std::optional<Field>(const Case&, const Field& terms)> sum,
                 double slack = 4.0) {
  auto result = [sum = std::move(sum)](const Case& call,
                                       const std::string& output) -> std::optional<Field> {
    const std::optional<Field> terms = terms_of(call, output);
    return terms ? sum(call, *terms) : std::nullopt;
  };
  return {std::move(id), std::move(sentence), result, slack};
}

/// Only some rows are added up.
Oracle only_rows(std::string id, std::string sentence,
                 std::function<bool(std::int64_t row, std::int64_t rows)> counted) {
  return wrong_sum(std::move(id), std::move(sentence),
                   [counted = std::move(counted)](const Case&, const Field& terms) {
                     return column_sums(only(terms, [&](std::int64_t row, std::int64_t) {
                       return counted(row, terms.rows);
                     }));
                   });
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

void append_lost_rows(std::vector<Oracle>& all) {
  for (std::int64_t group : {2, 4, 8, 16, 32, 64, 128, 256, 512}) {
    all.push_back(only_rows(
        "stripe-dropped",
        fmt::format("The last rows of the tensor are missing: rows / {0} was rounded down, and "
                    "what is left over belongs to nobody. Let group g take rows g, g + {0}, ... "
                    "below rows, or round up.",
                    group),
        [group](std::int64_t row, std::int64_t rows) { return row < rows / group * group; }));
  }
  for (std::int64_t groups : {1, 2, 4, 8, 16, 32, 64, 128, 256, 512}) {
    all.push_back(only_rows("stripe-dropped",
                            fmt::format("Only the first {} rows were added up.", groups),
                            [groups](std::int64_t row, std::int64_t) { return row < groups; }));
    all.push_back(only_rows(
        "lost-updates",
        "Only the rows of one block arrived, the last to write: blocks overwrote each other's "
        "sums. Give each its own partial sums, or add with atomicAdd.",
        [groups](std::int64_t row, std::int64_t rows) {
          const std::int64_t there = groups < rows ? groups : rows;
          return groups > 1 && row % there == there - 1;
        }));
    all.push_back(only_rows(
        "lost-updates",
        "Only each block's last row arrived: each row overwrote the sums of those before it. Add "
        "to them.",
        [groups](std::int64_t row, std::int64_t rows) { return row >= rows - groups; }));
    all.push_back(only_rows(
        "stripe-dropped",
        "Only the rows of the first group arrived: the second stage has to add up all groups.",
        [groups](std::int64_t row, std::int64_t) { return groups > 1 && row % groups == 0; }));
  }
  all.push_back(only_rows(
      "lost-updates",
      "Only the last row arrived: each row overwrote the sums of those before it. Add them up.",
      [](std::int64_t row, std::int64_t rows) { return row == rows - 1; }));
}

void append_orders(std::vector<Oracle>& all) {
  all.push_back(wrong_sum("summed-over-columns",
                          "These are the sums of the rows: add up along the other axis, all rows "
                          "of one column.",
                          [](const Case&, const Field& terms) -> std::optional<Field> {
                            const std::optional<Field> turned = transposed(terms);
                            return turned ? std::optional<Field>(column_sums(*turned))
                                          : std::nullopt;
                          }));
  all.push_back(
      wrong_sum("sum-not-mean", "These are means over the rows: dweight and dbias are sums.",
                [](const Case&, const Field& terms) {
                  return map(column_sums(terms),
                             [&](double sum) { return sum / static_cast<double>(terms.rows); });
                }));
  all.push_back({"weight-bias-swapped", "dweight and dbias have changed places.",
                 [](const Case& call, const std::string& output) -> std::optional<Field> {
                   const auto other = terms_of(call, output == "dbias" ? "dweight" : "dbias");
                   return other && terms_of(call, output) ? std::optional(column_sums(*other))
                                                          : std::nullopt;
                 }});
}

void append_garbage(std::vector<Oracle>& all) {
  const char* const sentence =
      "The sum was added to what the memory held before: set outputs and partial sums to zero "
      "first, or write instead of adding.";
  for (bool in_output : {true, false}) {
    for (int times : {1, 2, 3, 4, 7, 8, 16, 32, 64}) {
      all.push_back(wrong_sum(
          "accumulated-into-garbage", sentence, [=](const Case& call, const Field& terms) {
            const std::vector<std::byte> bytes(4, static_cast<std::byte>(verdict::Poison::finite));
            const double poison =
                verdict::decode(in_output ? call.dtype() : Dtype::fp32, bytes.data());
            return map(column_sums(terms), [&](double sum) { return sum + times * poison; });
          }));
    }
  }
  all.push_back(
      wrong_sum("accumulated-into-garbage", sentence, [](const Case&, const Field& terms) {
        return Field(1, terms.cols, std::numeric_limits<double>::quiet_NaN());
      }));
}

void append_sixteen_bit(std::vector<Oracle>& all) {
  for (std::int64_t groups : {64, 512, 256, 128, 32, 16, 8, 4, 2}) {
    all.push_back(wrong_sum(
        "half-partials",
        "The partial sums were rounded to the 16-bit type, which loses what is small beside them: "
        "keep them in float until the very end.",
        [groups](const Case& call, const Field& terms) -> std::optional<Field> {
          if (call.dtype() == Dtype::fp32) {
            return std::nullopt;
          }
          const std::int64_t there = groups < terms.rows ? groups : terms.rows;
          Field sums(1, terms.cols);
          for (std::int64_t group = 0; group < there; ++group) {
            const Field part = column_sums(
                only(terms, [&](std::int64_t row, std::int64_t) { return row % there == group; }));
            for (std::int64_t col = 0; col < terms.cols; ++col) {
              sums(0, col) += verdict::round_to(call.dtype(), part(0, col));
            }
          }
          return sums;
        },
        kSixteenBitSlack));
    all.push_back(wrong_sum(
        "half-accumulation",
        "The sum is what adding up in the 16-bit type gives: convert to float and add in float.",
        [groups](const Case& call, const Field& terms) -> std::optional<Field> {
          if (call.dtype() == Dtype::fp32) {
            return std::nullopt;
          }
          const std::int64_t there = groups < terms.rows ? groups : terms.rows;
          Field sums(1, terms.cols);
          for (std::int64_t group = 0; group < there; ++group) {
            for (std::int64_t col = 0; col < terms.cols; ++col) {
              double part = 0.0;
              for (std::int64_t row = group; row < terms.rows; row += there) {
                part = verdict::round_to(call.dtype(), part + terms(row, col));
              }
              sums(0, col) += part;
            }
          }
          return sums;
        },
        kSixteenBitSlack));
  }
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
  append_orders(all);
  append_lost_rows(all);
  append_garbage(all);
  append_sixteen_bit(all);
  return all;
}

std::vector<Oracle> fused_mistakes() {
  std::vector<Oracle> all = dx_mistakes();
  const std::vector<Oracle> sums = sums_mistakes();
  all.insert(all.end(), sums.begin(), sums.end());
  return all;
}

}  // namespace onepass::layernorm
