// Exercise 2.1: what y, mean and rstd would be with one mistake.
#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

#include "chapters/common/lost_columns.h"
#include "chapters/common/misread.h"
#include "chapters/common/sixteen_bit_sums.h"
#include "chapters/layernorm/calls.h"
#include "chapters/layernorm/mistakes.h"

namespace onepass::layernorm {

using common::LostColumns;
using common::map;
using common::only;
using common::rounded;
using common::SixteenBitSum;
using common::sum_in;
using common::transposed;
using common::with_stride;
using verdict::Oracle;

namespace {

// Sums whose result depends on the order of additions are recognised from further away.
constexpr double kSixteenBitSlack = 16.0;
constexpr double kCancellationSlack = 1e6;

struct Inputs {
  Dtype dtype;
  Field x, weight, bias;
  bool has_weight, has_bias;
  double eps;

  double cols() const { return static_cast<double>(x.cols); }
};

struct Outputs {
  Field mean, rstd, y;
};

using Wrong = std::function<std::optional<Outputs>(const Inputs&)>;

Oracle mistake(std::string id, std::string sentence, Wrong wrong, double slack = 4.0) {
  auto result = [wrong = std::move(wrong)](const Case& call,
                                           const std::string& output) -> std::optional<Field> {
    const std::optional<Outputs> outputs =
        wrong({call.dtype(), call.values("x").field(), values_or(call, "weight", 1.0),
               values_or(call, "bias", 0.0), !call.buffer("weight").null, !call.buffer("bias").null,
               eps_of(call)});
    if (!outputs) {
      return std::nullopt;
    }
    return output == "y" ? outputs->y : output == "mean" ? outputs->mean : outputs->rstd;
  };
  return {std::move(id), std::move(sentence), result, slack};
}

/// y from these statistics.
Outputs outputs_with(const Inputs& in, const Field& mean, const Field& rstd) {
  return {mean, rstd, scaled_and_shifted(normalized(in.x, mean, rstd), in.weight, in.bias)};
}

/// A mistake in the mean; the variance is that of the wrong mean.
Oracle wrong_mean(std::string id, std::string sentence,
                  std::function<std::optional<Field>(const Inputs&)> mean, double slack = 4.0) {
  return mistake(
      std::move(id), std::move(sentence),
      [mean = std::move(mean)](const Inputs& in) -> std::optional<Outputs> {
        const std::optional<Field> wrong = mean(in);
        if (!wrong) {
          return std::nullopt;
        }
        return outputs_with(in, *wrong, rstd_of(row_variances(in.x, *wrong), in.eps));
      },
      slack);
}

/// A mistake between the variance of a row and its rstd.
Oracle wrong_rstd(std::string id, std::string sentence,
                  std::function<double(const Inputs&, double mean, double variance)> rstd) {
  return mistake(std::move(id), std::move(sentence), [rstd = std::move(rstd)](const Inputs& in) {
    const Field mean = row_means(in.x);
    Field wrong = row_variances(in.x, mean);
    for (std::int64_t row = 0; row < wrong.rows; ++row) {
      wrong(row, 0) = rstd(in, mean(row, 0), wrong(row, 0));
    }
    return outputs_with(in, mean, wrong);
  });
}

/// A mistake in y alone.
Oracle wrong_y(std::string id, std::string sentence,
               std::function<std::optional<Field>(const Inputs&, const Statistics&)> y) {
  return mistake(std::move(id), std::move(sentence),
                 [y = std::move(y)](const Inputs& in) -> std::optional<Outputs> {
                   const Statistics rows = statistics(in.x, in.eps);
                   const std::optional<Field> wrong = y(in, rows);
                   if (!wrong) {
                     return std::nullopt;
                   }
                   return Outputs{rows.mean, rows.rstd, *wrong};
                 });
}

double inverse_root(double value) {
  return 1.0 / std::sqrt(value);
}

void append_statistics(std::vector<Oracle>& all) {
  all.push_back(wrong_mean("sum-not-mean", "The mean is the sum of the row: divide it by cols.",
                           [](const Inputs& in) {
                             return map(row_means(in.x), [&](double m) { return m * in.cols(); });
                           }));
  all.push_back(wrong_mean("mean-not-subtracted",
                           "The mean is 0 here: add up the row and divide by cols.",
                           [](const Inputs& in) { return Field(in.x.rows, 1); }));
  all.push_back(mistake("mean-not-subtracted",
                        "This is RMSNorm: LayerNorm subtracts the row's mean from each value, in "
                        "the variance and in y.",
                        [](const Inputs& in) {
                          const Field zero(in.x.rows, 1);
                          Outputs wrong =
                              outputs_with(in, zero, rstd_of(row_variances(in.x, zero), in.eps));
                          wrong.mean = row_means(in.x);
                          return wrong;
                        }));
  all.push_back(wrong_rstd(
      "sum-not-mean", "rstd is what comes out of the sum of the squares: divide it by cols.",
      [](const Inputs& in, double, double v) { return inverse_root(v * in.cols() + in.eps); }));
  all.push_back(wrong_rstd("unbiased-variance",
                           "rstd is what comes out of dividing by cols - 1: LayerNorm's variance "
                           "is the sum of the squares divided by cols.",
                           [](const Inputs& in, double, double v) {
                             return inverse_root(v * in.cols() / (in.cols() - 1.0) + in.eps);
                           }));
  all.push_back(wrong_rstd(
      "eps-outside-root",
      "rstd is 1 / (sqrt(variance) + eps): eps belongs inside the root, sqrt(variance + eps).",
      [](const Inputs& in, double, double v) { return 1.0 / (std::sqrt(v) + in.eps); }));
  all.push_back(wrong_rstd("eps-ignored",
                           "rstd is what comes out without eps: add it to the variance.",
                           [](const Inputs&, double, double v) { return inverse_root(v); }));
  for (float fixed : {1e-5f, 1e-6f, 1e-8f, 1e-12f}) {
    all.push_back(wrong_rstd("eps-ignored",
                             fmt::format("rstd is what comes out with eps = {}, whatever eps is "
                                         "given: use the argument.",
                                         fixed),
                             [fixed](const Inputs&, double, double v) {
                               return inverse_root(v + static_cast<double>(fixed));
                             }));
  }
  all.push_back(wrong_rstd(
      "no-reciprocal", "rstd is sqrt(variance + eps): save its reciprocal. Use rsqrtf().",
      [](const Inputs& in, double, double v) { return std::sqrt(v + in.eps); }));
  all.push_back(wrong_rstd("wrong-saved-statistics",
                           "rstd holds the variance: save 1 / sqrt(variance + eps).",
                           [](const Inputs&, double, double v) { return v; }));
  all.push_back(wrong_rstd("integer-division",
                           "The variance came out as 0: 1 / cols is a division of integers.",
                           [](const Inputs& in, double, double) { return inverse_root(in.eps); }));
  // Threads or lanes past the end of the row add (0 - mean)^2.
  for (std::int64_t group : {256, 1024, 512, 128, 64, 32, 0}) {
    all.push_back(wrong_rstd(
        "masked-lanes-in-variance",
        "What is past the end of the row entered the variance, as (0 - mean)^2: only columns that "
        "exist may add to it.",
        [group](const Inputs& in, double mean, double v) {
          std::int64_t padded = 1;  // group 0: the next power of two
          while (padded < in.x.cols) {
            padded *= 2;
          }
          if (group > 0) {
            padded = (in.x.cols + group - 1) / group * group;
          }
          const double surplus = static_cast<double>(padded - in.x.cols);
          return inverse_root(v + surplus * mean * mean / in.cols() + in.eps);
        }));
  }
}

/// E[x^2] - E[x]^2 in fp32. Its error is all rounding, and no two orders of addition agree on it;
/// but where the mean is many times the deviation nothing else is as far off.
void append_cancellation(std::vector<Oracle>& all) {
  const char* const sentence =
      "The variance lost its digits, as E[x^2] - E[x]^2 does where the mean is large: subtract two "
      "nearly equal numbers, and only their rounding errors remain. Sum (x - mean)^2 in a second "
      "walk over the row, or use Welford's method.";
  for (std::int64_t threads : {256, 1024, 32, 1}) {
    all.push_back(mistake(
        "one-pass-variance", sentence,
        [threads](const Inputs& in) -> std::optional<Outputs> {
          const SixteenBitSum how{threads, true};
          const Statistics right = statistics(in.x, in.eps);
          for (std::int64_t row = 0; row < in.x.rows; ++row) {
            if (std::abs(right.mean(row, 0)) * right.rstd(row, 0) < 30.0) {
              return std::nullopt;
            }
          }
          const Field squares =
              rounded(Dtype::fp32, map(in.x, [](double value) { return value * value; }));
          const Field sums = sum_in(Dtype::fp32, in.x, how);
          const Field square_sums = sum_in(Dtype::fp32, squares, how);
          Field rstd(in.x.rows, 1);
          for (std::int64_t row = 0; row < in.x.rows; ++row) {
            const float mean = static_cast<float>(sums(row, 0) / in.cols());
            const float mean_of_squares = static_cast<float>(square_sums(row, 0) / in.cols());
            rstd(row, 0) = inverse_root(mean_of_squares - mean * mean + static_cast<float>(in.eps));
          }
          return outputs_with(in, right.mean, rstd);
        },
        kCancellationSlack));
  }
}

void append_scaling(std::vector<Oracle>& all) {
  const auto x_hat = [](const Inputs& in, const Statistics& rows) {
    return normalized(in.x, rows.mean, rows.rstd);
  };
  using Result = std::optional<Field>;
  all.push_back(wrong_y("weight-missing", "y is x_hat + bias: multiply by the column's weight.",
                        [=](const Inputs& in, const Statistics& rows) -> Result {
                          return scaled_and_shifted(x_hat(in, rows), Field(1, in.x.cols, 1.0),
                                                    in.bias);
                        }));
  all.push_back(wrong_y("bias-missing", "y is x_hat * weight: add the column's bias.",
                        [=](const Inputs& in, const Statistics& rows) -> Result {
                          return scaled_and_shifted(x_hat(in, rows), in.weight,
                                                    Field(1, in.x.cols));
                        }));
  all.push_back(wrong_y("weight-bias-swapped", "Weight and bias have changed places.",
                        [=](const Inputs& in, const Statistics& rows) -> Result {
                          if (!in.has_weight || !in.has_bias) {
                            return std::nullopt;
                          }
                          return scaled_and_shifted(x_hat(in, rows), in.bias, in.weight);
                        }));
  all.push_back(
      wrong_y("weight-missing", "y is the normalised value without weight and bias.",
              [=](const Inputs& in, const Statistics& rows) -> Result { return x_hat(in, rows); }));
  all.push_back(wrong_y("weight-by-row",
                        "y is what weight[row] gives: weight and bias belong to the column.",
                        [=](const Inputs& in, const Statistics& rows) -> Result {
                          if (in.x.rows > in.x.cols) {
                            return std::nullopt;
                          }
                          Field y = x_hat(in, rows);
                          for (std::int64_t row = 0; row < y.rows; ++row) {
                            for (std::int64_t col = 0; col < y.cols; ++col) {
                              y(row, col) = y(row, col) * in.weight(0, row) + in.bias(0, row);
                            }
                          }
                          return y;
                        }));
  all.push_back(wrong_y("mean-not-subtracted",
                        "y is x * rstd, scaled and shifted: subtract the mean first.",
                        [](const Inputs& in, const Statistics& rows) -> Result {
                          return scaled_and_shifted(product(in.x, rows.rstd), in.weight, in.bias);
                        }));
  all.push_back(
      wrong_y("no-reciprocal", "The values were divided by rstd: multiply by it.",
              [](const Inputs& in, const Statistics& rows) -> Result {
                const Field inverse = map(rows.rstd, [](double value) { return 1.0 / value; });
                return scaled_and_shifted(normalized(in.x, rows.mean, inverse), in.weight, in.bias);
              }));
  all.push_back(wrong_y(
      "cast-order",
      "y is what comes out when x_hat is rounded to the 16-bit type before it meets weight and "
      "bias: compute in float and round once, at the end.",
      [=](const Inputs& in, const Statistics& rows) -> Result {
        return rounded(in.dtype,
                       scaled_and_shifted(rounded(in.dtype, x_hat(in, rows)), in.weight, in.bias));
      }));
}

void append_lost(std::vector<Oracle>& all) {
  for (const LostColumns& lost : common::lost_columns()) {
    const auto counted = [counted = lost.counted](const Field& terms) {
      return only(terms, [&](std::int64_t, std::int64_t col) { return counted(col, terms.cols); });
    };
    all.push_back(wrong_mean(lost.mistake, lost.sentence,
                             [counted](const Inputs& in) { return row_means(counted(in.x)); }));
    all.push_back(mistake(lost.mistake, lost.sentence, [counted](const Inputs& in) {
      const Field mean = row_means(in.x);
      const Field centred = normalized(in.x, mean, Field(in.x.rows, 1, 1.0));
      const Field variance = row_means(counted(product(centred, centred)));
      return outputs_with(in, mean, rstd_of(variance, in.eps));
    }));
  }
  for (SixteenBitSum how : common::sixteen_bit_sums()) {
    all.push_back(wrong_mean(
        "half-accumulation",
        "The mean is what adding up in the 16-bit type gives: convert each element to float and "
        "add in float.",
        [how](const Inputs& in) -> std::optional<Field> {
          if (in.dtype == Dtype::fp32) {
            return std::nullopt;
          }
          return map(sum_in(in.dtype, in.x, how), [&](double sum) { return sum / in.cols(); });
        },
        kSixteenBitSlack));
  }
}

void append_reading(std::vector<Oracle>& all) {
  const auto with_x = [&](const char* id, const char* sentence, auto wrong_x) {
    auto result = [wrong_x](const Case& call, const std::string& output) -> std::optional<Field> {
      const std::optional<Field> x = wrong_x(call);
      if (!x) {
        return std::nullopt;
      }
      const Statistics rows = statistics(*x, eps_of(call));
      if (output != "y") {
        return output == "mean" ? rows.mean : rows.rstd;
      }
      return scaled_and_shifted(normalized(*x, rows.mean, rows.rstd),
                                values_or(call, "weight", 1.0), values_or(call, "bias", 0.0));
    };
    all.push_back({id, sentence, result});
  };
  with_x("stride-ignored",
         "The rows of x were read cols elements apart: they start x_stride apart.",
         [](const Case& call) { return with_stride(call, "x", call.integer("cols")); });
  with_x("stride-ignored",
         "The rows of x were read y_stride elements apart: they start x_stride apart.",
         [](const Case& call) { return with_stride(call, "x", call.integer("y_stride")); });
  with_x("transposed-index", "Row and column of x are swapped in an index.",
         [](const Case& call) { return transposed(call.values("x").field()); });
}

}  // namespace

std::vector<Oracle> forward_mistakes() {
  std::vector<Oracle> all;
  append_reading(all);
  append_statistics(all);
  append_scaling(all);
  append_lost(all);
  append_cancellation(all);
  return all;
}

}  // namespace onepass::layernorm
