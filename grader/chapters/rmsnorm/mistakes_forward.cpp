// Exercise 1.2: what y and rstd would be with one mistake.
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "chapters/common/lost_columns.h"
#include "chapters/common/misread.h"
#include "chapters/common/sixteen_bit_sums.h"
#include "chapters/common/thread_sums.h"
#include "chapters/rmsnorm/mistakes.h"
#include "chapters/rmsnorm/wrong_forward.h"

namespace onepass::rmsnorm {

using common::lost_columns;
using common::LostColumns;
using common::map;
using common::rounded;
using common::sixteen_bit_sums;
using common::SixteenBitSum;
using common::sum_in;
using common::thread_sums;
using common::ThreadSums;
using common::transposed;
using common::with_stride;
using verdict::Oracle;

namespace {

bool is_sixteen_bit(Dtype dtype) {
  return verdict::size_of(dtype) == 2;
}

double inverse_root(double value) {
  return 1.0 / std::sqrt(value);
}

std::vector<Oracle> wrong_eps() {
  std::vector<Oracle> all;
  all.push_back(wrong_rstd(
      "eps-outside-root",
      "The result is 1 / (sqrt(mean) + eps): eps belongs inside the root, sqrt(mean + eps).",
      [](const Inputs& in, double squares) {
        return 1.0 / (std::sqrt(squares / in.cols()) + in.eps);
      }));
  all.push_back(wrong_rstd(
      "eps-ignored", "The result is what comes out without eps: add it to the mean of the squares.",
      [](const Inputs& in, double squares) { return inverse_root(squares / in.cols()); }));
  for (float fixed : {1e-6f, 1e-5f, 1e-8f, 1e-12f}) {
    all.push_back(wrong_rstd(
        "eps-ignored",
        fmt::format("The result is what comes out with eps = {}, whatever eps is given: use the "
                    "argument.",
                    fixed),
        [fixed](const Inputs& in, double squares) {
          return inverse_root(squares / in.cols() + static_cast<double>(fixed));
        }));
  }
  return all;
}

std::vector<Oracle> wrong_means() {
  std::vector<Oracle> all;
  all.push_back(wrong_rstd(
      "sum-not-mean",
      "The result is what comes out of the sum of the squares: divide it by cols, for the mean.",
      [](const Inputs& in, double squares) { return inverse_root(squares + in.eps); }));
  all.push_back(wrong_rstd(
      "integer-division",
      "The mean of the squares came out as 0: 1 / cols is a division of integers. Divide a float.",
      [](const Inputs& in, double) { return inverse_root(in.eps); }));
  all.push_back(wrong_rstd(
      "unbiased-variance",
      "The result is what comes out of dividing by cols - 1: the mean of the squares is their sum "
      "divided by cols.",
      [](const Inputs& in, double squares) {
        return inverse_root(squares / (in.cols() - 1.0) + in.eps);
      }));
  for (double threads : {256.0, 1024.0, 512.0, 128.0, 64.0, 32.0}) {
    all.push_back(wrong_rstd(
        "sum-not-mean",
        fmt::format("The result is what comes out of dividing by {}: the mean of the squares is "
                    "their sum divided by cols, not by the number of threads.",
                    threads),
        [threads](const Inputs& in, double squares) {
          return inverse_root(squares / threads + in.eps);
        }));
  }
  return all;
}

std::vector<Oracle> wrong_roots() {
  return {
      wrong_rstd(
          "no-reciprocal", "The result is sqrt(mean + eps): rstd is its reciprocal. Use rsqrtf().",
          [](const Inputs& in, double squares) { return std::sqrt(squares / in.cols() + in.eps); }),
      wrong_rstd("wrong-saved-statistics",
                 "rstd holds the mean of the squares: save 1 / sqrt(mean + eps).",
                 [](const Inputs& in, double squares) { return squares / in.cols(); }),
      wrong_rstd("wrong-saved-statistics", "rstd holds mean + eps: save 1 / sqrt(mean + eps).",
                 [](const Inputs& in, double squares) { return squares / in.cols() + in.eps; }),
  };
}

/// LayerNorm's variance, and with `centred` its numerator too.
Oracle mean_subtracted(bool centred) {
  return wrong_forward(
      "mean-subtracted",
      "The result is what comes out when the row's mean is subtracted, as LayerNorm does: RMSNorm "
      "subtracts nothing.",
      [centred](const Inputs& in) {
        const Field sums = row_sums(in.x);
        Field x = in.x;
        for (std::int64_t row = 0; row < x.rows; ++row) {
          for (std::int64_t col = 0; col < x.cols; ++col) {
            x(row, col) -= sums(row, 0) / in.cols();
          }
        }
        const Field rstd = rms_rstd(x, in.eps);
        return Forward{scaled(centred ? x : in.x, rstd, in.weight), rstd};
      });
}

Oracle squares_without(const LostColumns& lost) {
  return wrong_sum(lost.mistake, lost.sentence, [counted = lost.counted](const Inputs& in) {
    Field squares = squares_of(in.x);
    for (std::int64_t row = 0; row < squares.rows; ++row) {
      for (std::int64_t col = 0; col < squares.cols; ++col) {
        squares(row, col) = counted(col, squares.cols) ? squares(row, col) : 0.0;
      }
    }
    return row_sums(squares);
  });
}

/// Threads beyond the row's end add the square of its last (or first) element instead of nothing.
Oracle squares_with_surplus(std::int64_t threads, bool last) {
  return wrong_sum("wrong-when-narrow",
                   "Threads whose column is past the end of the row add something too: their share "
                   "must be 0.",
                   [=](const Inputs& in) {
                     const Field squares = squares_of(in.x);
                     const std::int64_t surplus = (threads - in.x.cols % threads) % threads;
                     Field sums = row_sums(squares);
                     for (std::int64_t row = 0; row < squares.rows; ++row) {
                       sums(row, 0) +=
                           static_cast<double>(surplus) * squares(row, last ? squares.cols - 1 : 0);
                     }
                     return sums;
                   });
}

/// Each column is scaled by what its own thread takes for the total.
Oracle scaled_by_thread(const ThreadSums& sums) {
  return wrong_forward(sums.mistake, sums.sentence, [sums](const Inputs& in) {
    const auto rstd_of = [&](double sum) { return inverse_root(sum / in.cols() + in.eps); };
    Forward wrong{Field(in.x.rows, in.x.cols), Field(in.x.rows, 1)};
    for (std::int64_t row = 0; row < in.x.rows; ++row) {
      std::vector<double> shares(static_cast<std::size_t>(sums.threads), 0.0);
      for (std::int64_t col = 0; col < in.x.cols; ++col) {
        shares[static_cast<std::size_t>(col % sums.threads)] += in.x(row, col) * in.x(row, col);
      }
      const std::vector<double> held = sums.reduce(shares);
      wrong.rstd(row, 0) = rstd_of(held[0]);
      for (std::int64_t col = 0; col < in.x.cols; ++col) {
        const double rstd = rstd_of(held[static_cast<std::size_t>(col % sums.threads)]);
        wrong.y(row, col) = in.x(row, col) * rstd * in.weight(0, col);
      }
    }
    return wrong;
  });
}

Oracle squares_in_sixteen_bits() {
  return wrong_sum(
      "half-square-overflow",
      "The squares were rounded to the 16-bit type, and in fp16 whatever is above 255 squares to "
      "infinity: convert to float first, then square.",
      [](const Inputs& in) -> std::optional<Field> {
        if (!is_sixteen_bit(in.dtype)) {
          return std::nullopt;
        }
        return row_sums(rounded(in.dtype, squares_of(in.x)));
      });
}

Oracle sum_in_sixteen_bits(SixteenBitSum how, bool rounded_squares) {
  return wrong_sum(
      "half-accumulation",
      "The sum of the squares is what adding up in the 16-bit type gives: it stops growing once "
      "the terms are smaller than its last digit. Add in float.",
      [=](const Inputs& in) -> std::optional<Field> {
        if (!is_sixteen_bit(in.dtype)) {
          return std::nullopt;
        }
        const Field squares = squares_of(in.x);
        return sum_in(in.dtype, rounded_squares ? rounded(in.dtype, squares) : squares, how);
      },
      verdict::kSixteenBitSlack);
}

/// y from weights of all ones.
Field normalized(const Inputs& in, const Field& rstd) {
  return scaled(in.x, rstd, Field(1, in.x.cols, 1.0));
}

Oracle weight_by_row() {
  return wrong_forward(
      "weight-by-row",
      "y is what weight[row] gives: the weight belongs to the column, weight[col].",
      [](const Inputs& in) -> std::optional<Forward> {
        if (in.x.rows > in.x.cols) {
          return std::nullopt;  // weight[row] would be past the end
        }
        const Field rstd = rms_rstd(in.x, in.eps);
        Field y = normalized(in, rstd);
        for (std::int64_t row = 0; row < y.rows; ++row) {
          for (std::int64_t col = 0; col < y.cols; ++col) {
            y(row, col) *= in.weight(0, row);
          }
        }
        return Forward{y, rstd};
      });
}

std::vector<Oracle> wrong_scaling() {
  return {
      wrong_y("weight-missing", "y is x * rstd: multiply each element by its column's weight.",
              normalized),
      weight_by_row(),
      wrong_y("no-reciprocal",
              "y was multiplied by sqrt(mean + eps): multiply by rstd, its reciprocal.",
              [](const Inputs& in, const Field& rstd) {
                return scaled(in.x, map(rstd, [](double value) { return 1.0 / value; }), in.weight);
              }),
      wrong_y("cast-order",
              "y is what comes out when x * rstd is rounded to the 16-bit type before it meets the "
              "weight: multiply all three as floats and round once, at the end.",
              [](const Inputs& in, const Field& rstd) {
                const Field early = rounded(in.dtype, normalized(in, rstd));
                return rounded(in.dtype, scaled(early, Field(in.x.rows, 1, 1.0), in.weight));
              }),
      wrong_y("cast-order",
              "y is what comes out when rstd is rounded to the 16-bit type before it is used: "
              "multiply all three as floats and round once, at the end.",
              [](const Inputs& in, const Field& rstd) {
                return scaled(in.x, rounded(in.dtype, rstd), in.weight);
              }),
  };
}

std::vector<Oracle> forward_misread() {
  return {
      wrong_x("stride-ignored",
              "The rows of x were read as if they lay cols elements apart: they start x_stride "
              "elements apart.",
              [](const Case& call) { return with_stride(call, "x", call.integer("cols")); }),
      wrong_x(
          "stride-ignored",
          "The rows of x were read y_stride elements apart: they start x_stride elements apart.",
          [](const Case& call) { return with_stride(call, "x", call.integer("y_stride")); }),
      wrong_x("transposed-index", "Row and column of x are swapped in an index.",
              [](const Case& call) { return transposed(call.values("x").field()); }),
  };
}

}  // namespace

std::vector<Oracle> forward_mistakes() {
  std::vector<Oracle> all;
  for (const auto& group :
       {forward_misread(), wrong_means(), wrong_eps(), wrong_roots(), wrong_scaling()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  all.push_back(mean_subtracted(true));
  all.push_back(mean_subtracted(false));
  for (const LostColumns& lost : lost_columns()) {
    all.push_back(squares_without(lost));
  }
  for (std::int64_t threads : {256, 1024, 512, 128, 64, 32}) {
    all.push_back(squares_with_surplus(threads, true));
    all.push_back(squares_with_surplus(threads, false));
  }
  for (const ThreadSums& sums : thread_sums()) {
    all.push_back(scaled_by_thread(sums));
  }
  all.push_back(squares_in_sixteen_bits());
  for (bool rounded_squares : {true, false}) {
    for (SixteenBitSum how : sixteen_bit_sums()) {
      all.push_back(sum_in_sixteen_bits(how, rounded_squares));
    }
  }
  return all;
}

}  // namespace onepass::rmsnorm
