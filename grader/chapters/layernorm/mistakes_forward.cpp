// Exercise 2.1: what y, mean and rstd would be with one mistake.
#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

#include "chapters/common/lost_columns.h"
#include "chapters/common/misread.h"
#include "chapters/layernorm/calls.h"
#include "chapters/layernorm/mistakes.h"
#include "chapters/layernorm/wrong_forward.h"

namespace onepass::layernorm {

using common::LostColumns;
using common::map;
using common::only;
using common::rounded;
using common::transposed;
using common::with_stride;
using verdict::Oracle;

namespace {

double inverse_root(double value) {
  return 1.0 / std::sqrt(value);
}

void append_statistics(std::vector<Oracle>& all) {
  all.push_back(wrong_mean("sum-not-mean", "The mean is the sum of the row: divide it by cols.",
                           [](const ForwardInputs& in) {
                             return map(row_means(in.x), [&](double m) { return m * in.cols(); });
                           }));
  all.push_back(wrong_mean("mean-not-subtracted",
                           "The mean is 0 here: add up the row and divide by cols.",
                           [](const ForwardInputs& in) { return Field(in.x.rows, 1); }));
  all.push_back(wrong_forward(
      "mean-not-subtracted",
      "This is RMSNorm: LayerNorm subtracts the row's mean from each value, in "
      "the variance and in y.",
      [](const ForwardInputs& in) {
        const Field zero(in.x.rows, 1);
        ForwardOutputs wrong = outputs_with(in, zero, rstd_of(row_variances(in.x, zero), in.eps));
        wrong.mean = row_means(in.x);
        return wrong;
      }));
  all.push_back(wrong_rstd("sum-not-mean",
                           "rstd is what comes out of the sum of the squares: divide it by cols.",
                           [](const ForwardInputs& in, double, double v) {
                             return inverse_root(v * in.cols() + in.eps);
                           }));
  all.push_back(wrong_rstd("unbiased-variance",
                           "rstd is what comes out of dividing by cols - 1: LayerNorm's variance "
                           "is the sum of the squares divided by cols.",
                           [](const ForwardInputs& in, double, double v) {
                             return inverse_root(v * in.cols() / (in.cols() - 1.0) + in.eps);
                           }));
  all.push_back(wrong_rstd(
      "eps-outside-root",
      "rstd is 1 / (sqrt(variance) + eps): eps belongs inside the root, sqrt(variance + eps).",
      [](const ForwardInputs& in, double, double v) { return 1.0 / (std::sqrt(v) + in.eps); }));
  all.push_back(wrong_rstd("eps-ignored",
                           "rstd is what comes out without eps: add it to the variance.",
                           [](const ForwardInputs&, double, double v) { return inverse_root(v); }));
  for (float fixed : {1e-5f, 1e-6f, 1e-8f, 1e-12f}) {
    all.push_back(wrong_rstd("eps-ignored",
                             fmt::format("rstd is what comes out with eps = {}, whatever eps is "
                                         "given: use the argument.",
                                         fixed),
                             [fixed](const ForwardInputs&, double, double v) {
                               return inverse_root(v + static_cast<double>(fixed));
                             }));
  }
  all.push_back(wrong_rstd(
      "no-reciprocal", "rstd is sqrt(variance + eps): save its reciprocal. Use rsqrtf().",
      [](const ForwardInputs& in, double, double v) { return std::sqrt(v + in.eps); }));
  all.push_back(wrong_rstd("wrong-saved-statistics",
                           "rstd holds the variance: save 1 / sqrt(variance + eps).",
                           [](const ForwardInputs&, double, double v) { return v; }));
  all.push_back(
      wrong_rstd("no-root", "rstd is 1 / (variance + eps): take the root too, with rsqrtf().",
                 [](const ForwardInputs& in, double, double v) { return 1.0 / (v + in.eps); }));
  all.push_back(wrong_rstd(
      "integer-division", "The variance came out as 0: 1 / cols is a division of integers.",
      [](const ForwardInputs& in, double, double) { return inverse_root(in.eps); }));
  // Threads or lanes past the end of the row add (0 - mean)^2.
  for (std::int64_t group : {256, 1024, 512, 128, 64, 32, 0}) {
    all.push_back(wrong_rstd(
        "masked-lanes-in-variance",
        "What is past the end of the row entered the variance, as (0 - mean)^2: only columns that "
        "exist may add to it.",
        [group](const ForwardInputs& in, double mean, double v) {
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

void append_scaling(std::vector<Oracle>& all) {
  const auto x_hat = [](const ForwardInputs& in, const Statistics& rows) {
    return normalized(in.x, rows.mean, rows.rstd);
  };
  using Result = std::optional<Field>;
  all.push_back(wrong_y("weight-missing", "y is x_hat + bias: multiply by the column's weight.",
                        [=](const ForwardInputs& in, const Statistics& rows) -> Result {
                          return scaled_and_shifted(x_hat(in, rows), Field(1, in.x.cols, 1.0),
                                                    in.bias);
                        }));
  all.push_back(wrong_y("bias-missing", "y is x_hat * weight: add the column's bias.",
                        [=](const ForwardInputs& in, const Statistics& rows) -> Result {
                          return scaled_and_shifted(x_hat(in, rows), in.weight,
                                                    Field(1, in.x.cols));
                        }));
  all.push_back(wrong_y("weight-bias-swapped", "Weight and bias have changed places.",
                        [=](const ForwardInputs& in, const Statistics& rows) -> Result {
                          if (!in.has_weight || !in.has_bias) {
                            return std::nullopt;
                          }
                          return scaled_and_shifted(x_hat(in, rows), in.bias, in.weight);
                        }));
  all.push_back(wrong_y(
      "weight-bias-swapped", "The bias was added before the weight multiplied: weight first.",
      [=](const ForwardInputs& in, const Statistics& rows) -> Result {
        if (!in.has_weight || !in.has_bias) {
          return std::nullopt;
        }
        const Field ones(1, in.x.cols, 1.0);
        return product(scaled_and_shifted(x_hat(in, rows), ones, in.bias), in.weight);
      }));
  all.push_back(wrong_y(
      "weight-missing", "y is the normalised value without weight and bias.",
      [=](const ForwardInputs& in, const Statistics& rows) -> Result { return x_hat(in, rows); }));
  all.push_back(wrong_y("weight-by-row",
                        "y is what weight[row] gives: weight and bias belong to the column.",
                        [=](const ForwardInputs& in, const Statistics& rows) -> Result {
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
                        [](const ForwardInputs& in, const Statistics& rows) -> Result {
                          return scaled_and_shifted(product(in.x, rows.rstd), in.weight, in.bias);
                        }));
  all.push_back(
      wrong_y("no-reciprocal", "The values were divided by rstd: multiply by it.",
              [](const ForwardInputs& in, const Statistics& rows) -> Result {
                const Field inverse = map(rows.rstd, [](double value) { return 1.0 / value; });
                return scaled_and_shifted(normalized(in.x, rows.mean, inverse), in.weight, in.bias);
              }));
  all.push_back(wrong_y(
      "cast-order",
      "y is what comes out when x_hat is rounded to the 16-bit type before it meets weight and "
      "bias: compute in float and round once, at the end.",
      [=](const ForwardInputs& in, const Statistics& rows) -> Result {
        return rounded(in.dtype,
                       scaled_and_shifted(rounded(in.dtype, x_hat(in, rows)), in.weight, in.bias));
      }));
}

void append_lost(std::vector<Oracle>& all) {
  for (const LostColumns& lost : common::lost_columns()) {
    const auto counted = [counted = lost.counted](const Field& terms) {
      return only(terms, [&](std::int64_t, std::int64_t col) { return counted(col, terms.cols); });
    };
    all.push_back(wrong_mean(lost.mistake, lost.sentence, [counted](const ForwardInputs& in) {
      return row_means(counted(in.x));
    }));
    all.push_back(wrong_forward(lost.mistake, lost.sentence, [counted](const ForwardInputs& in) {
      const Field mean = row_means(in.x);
      const Field centred = normalized(in.x, mean, Field(in.x.rows, 1, 1.0));
      const Field variance = row_means(counted(product(centred, centred)));
      return outputs_with(in, mean, rstd_of(variance, in.eps));
    }));
  }
  for (std::int64_t threads : {256, 1024, 512, 128, 64, 32}) {
    for (bool last : {true, false}) {
      all.push_back(wrong_mean(
          "wrong-when-narrow",
          "Threads whose column is past the end of the row add something too: their share must be "
          "0.",
          [=](const ForwardInputs& in) -> std::optional<Field> {
            const std::int64_t surplus = (threads - in.x.cols % threads) % threads;
            Field mean = row_means(in.x);
            for (std::int64_t row = 0; row < mean.rows; ++row) {
              const double value = in.x(row, last ? in.x.cols - 1 : 0);
              mean(row, 0) += static_cast<double>(surplus) * value / in.cols();
            }
            return mean;
          }));
    }
  }
}

void append_forward_misread(std::vector<Oracle>& all) {
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
  append_forward_misread(all);
  append_statistics(all);
  append_scaling(all);
  append_lost(all);
  append_rounding_mistakes(all);
  append_thread_mistakes(all);
  return all;
}

}  // namespace onepass::layernorm
