// Exercise 1.2: what y and rstd would be with one mistake.
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "chapters/rmsnorm/calls.h"
#include "chapters/rmsnorm/inputs.h"
#include "chapters/rmsnorm/lost_columns.h"
#include "chapters/rmsnorm/mistakes.h"
#include "chapters/rmsnorm/reference.h"
#include "chapters/rmsnorm/sixteen_bit_sums.h"
#include "chapters/rmsnorm/thread_sums.h"

namespace onepass::rmsnorm {

using verdict::Oracle;

namespace {

// Sums in 16 bits depend on the order of additions, so they are recognised from further away.
constexpr double kSixteenBitSlack = 16.0;

struct Inputs {
  Dtype dtype;
  Field x;       // [rows, cols]
  Field weight;  // [1, cols]
  double eps;
};

Inputs inputs_of(const Case& call) {
  return {call.dtype(), call.values("x").field(), call.values("weight").field(), eps_of(call)};
}

bool is_sixteen_bit(Dtype dtype) {
  return verdict::size_of(dtype) == 2;
}

/// f(value) for each element.
Field map(Field field, const std::function<double(double)>& f) {
  for (double& value : field.values) {
    value = f(value);
  }
  return field;
}

Field squares_of(const Field& x) {
  return map(x, [](double value) { return value * value; });
}

Field round_all(Dtype dtype, const Field& field) {
  return map(field, [dtype](double value) { return verdict::round_to(dtype, value); });
}

double cols_of(const Inputs& in) {
  return static_cast<double>(in.x.cols);
}

using Wrong = std::optional<Forward>;

/// An oracle from a function of the inputs that gives both outputs.
Oracle mistake(std::string id, std::string sentence, std::function<Wrong(const Inputs&)> wrong,
               double slack = 4.0) {
  auto result = [wrong = std::move(wrong)](const Case& call,
                                           const std::string& output) -> std::optional<Field> {
    const Wrong outputs = wrong(inputs_of(call));
    if (!outputs) {
      return std::nullopt;
    }
    return output == "y" ? outputs->y : outputs->rstd;
  };
  return {std::move(id), std::move(sentence), result, slack};
}

/// A mistake in rstd, which y then has too. `rstd`: from the sum of squares of a row to its rstd.
Oracle rstd_mistake(std::string id, std::string sentence,
                    std::function<double(const Inputs&, double squares)> rstd) {
  return mistake(std::move(id), std::move(sentence), [rstd = std::move(rstd)](const Inputs& in) {
    Field wrong =
        map(row_sums(squares_of(in.x)), [&](double squares) { return rstd(in, squares); });
    return Wrong({scaled(in.x, wrong, in.weight), wrong});
  });
}

/// A mistake in the squares' sum, which rstd and y then have too. `sums`: from the inputs to [rows,
/// 1].
Oracle sum_mistake(std::string id, std::string sentence,
                   std::function<std::optional<Field>(const Inputs&)> sums, double slack = 4.0) {
  auto wrong = [sums = std::move(sums)](const Inputs& in) -> Wrong {
    const std::optional<Field> squares = sums(in);
    if (!squares) {
      return std::nullopt;
    }
    const Field rstd =
        map(*squares, [&](double sum) { return 1.0 / std::sqrt(sum / cols_of(in) + in.eps); });
    return Forward{scaled(in.x, rstd, in.weight), rstd};
  };
  return mistake(std::move(id), std::move(sentence), wrong, slack);
}

/// A mistake in y alone; rstd is right.
Oracle y_mistake(std::string id, std::string sentence,
                 std::function<Field(const Inputs&, const Field& rstd)> y) {
  return mistake(std::move(id), std::move(sentence), [y = std::move(y)](const Inputs& in) {
    const Field rstd = rms_rstd(in.x, in.eps);
    return Wrong({y(in, rstd), rstd});
  });
}

void append_formula_mistakes(std::vector<Oracle>& all) {
  all.push_back(rstd_mistake(
      "sum-not-mean",
      "The result is what comes out of the sum of the squares: divide it by cols, for the mean.",
      [](const Inputs& in, double squares) { return 1.0 / std::sqrt(squares + in.eps); }));
  all.push_back(rstd_mistake(
      "eps-outside-root",
      "The result is 1 / (sqrt(mean) + eps): eps belongs inside the root, sqrt(mean + eps).",
      [](const Inputs& in, double squares) {
        return 1.0 / (std::sqrt(squares / cols_of(in)) + in.eps);
      }));
  all.push_back(rstd_mistake(
      "eps-ignored", "The result is what comes out without eps: add it to the mean of the squares.",
      [](const Inputs& in, double squares) { return 1.0 / std::sqrt(squares / cols_of(in)); }));
  for (float fixed : {1e-6f, 1e-5f, 1e-8f, 1e-12f}) {
    all.push_back(rstd_mistake(
        "eps-ignored",
        fmt::format("The result is what comes out with eps = {}, whatever eps is given: use the "
                    "argument.",
                    fixed),
        [fixed](const Inputs& in, double squares) {
          return 1.0 / std::sqrt(squares / cols_of(in) + static_cast<double>(fixed));
        }));
  }
  all.push_back(rstd_mistake(
      "integer-division",
      "The mean of the squares came out as 0: 1 / cols is a division of integers. Divide a float.",
      [](const Inputs& in, double) { return 1.0 / std::sqrt(in.eps); }));
  all.push_back(rstd_mistake(
      "no-reciprocal", "The result is sqrt(mean + eps): rstd is its reciprocal. Use rsqrtf().",
      [](const Inputs& in, double squares) { return std::sqrt(squares / cols_of(in) + in.eps); }));
  all.push_back(rstd_mistake(
      "wrong-saved-statistics", "rstd holds the mean of the squares: save 1 / sqrt(mean + eps).",
      [](const Inputs& in, double squares) { return squares / cols_of(in); }));
  all.push_back(rstd_mistake(
      "wrong-saved-statistics", "rstd holds mean + eps: save 1 / sqrt(mean + eps).",
      [](const Inputs& in, double squares) { return squares / cols_of(in) + in.eps; }));
  all.push_back(rstd_mistake(
      "unbiased-variance",
      "The result is what comes out of dividing by cols - 1: the mean of the squares is their sum "
      "divided by cols.",
      [](const Inputs& in, double squares) {
        return 1.0 / std::sqrt(squares / (cols_of(in) - 1.0) + in.eps);
      }));
  for (double threads : {256.0, 1024.0, 512.0, 128.0, 64.0, 32.0}) {
    all.push_back(rstd_mistake(
        "sum-not-mean",
        fmt::format("The result is what comes out of dividing by {}: the mean of the squares is "
                    "their sum divided by cols, not by the number of threads.",
                    threads),
        [threads](const Inputs& in, double squares) {
          return 1.0 / std::sqrt(squares / threads + in.eps);
        }));
  }
}

/// LayerNorm's variance, and with `centred` its numerator too.
Oracle mean_subtracted(bool centred) {
  return mistake(
      "mean-subtracted",
      "The result is what comes out when the row's mean is subtracted, as LayerNorm does: RMSNorm "
      "subtracts nothing.",
      [centred](const Inputs& in) {
        Field x = in.x;
        const Field sums = row_sums(x);
        for (std::int64_t row = 0; row < x.rows; ++row) {
          for (std::int64_t col = 0; col < x.cols; ++col) {
            x(row, col) -= sums(row, 0) / cols_of(in);
          }
        }
        const Field rstd = rms_rstd(x, in.eps);
        return Wrong({scaled(centred ? x : in.x, rstd, in.weight), rstd});
      });
}

Oracle squares_without(const LostColumns& lost) {
  return sum_mistake(lost.mistake, lost.sentence, [counted = lost.counted](const Inputs& in) {
    Field squares = squares_of(in.x);
    for (std::int64_t row = 0; row < squares.rows; ++row) {
      for (std::int64_t col = 0; col < squares.cols; ++col) {
        squares(row, col) = counted(col, squares.cols) ? squares(row, col) : 0.0;
      }
    }
    return std::optional<Field>(row_sums(squares));
  });
}

/// Each column is scaled by what its own thread takes for the total.
Oracle scaled_by_thread(const ThreadSums& sums) {
  return mistake(sums.mistake, sums.sentence, [sums](const Inputs& in) {
    const auto rstd_of = [&](double sum) { return 1.0 / std::sqrt(sum / cols_of(in) + in.eps); };
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
    return Wrong(wrong);
  });
}

void append_sixteen_bit_mistakes(std::vector<Oracle>& all) {
  all.push_back(sum_mistake(
      "half-square-overflow",
      "The squares were rounded to the 16-bit type, and in fp16 whatever is above 255 squares to "
      "infinity: convert to float first, then square.",
      [](const Inputs& in) -> std::optional<Field> {
        if (!is_sixteen_bit(in.dtype)) {
          return std::nullopt;
        }
        return row_sums(round_all(in.dtype, squares_of(in.x)));
      }));
  for (bool rounded_squares : {true, false}) {
    for (SixteenBitSum how : sixteen_bit_sums()) {
      all.push_back(sum_mistake(
          "half-accumulation",
          "The sum of the squares is what adding up in the 16-bit type gives: it stops growing "
          "once "
          "the terms are smaller than its last digit. Add in float.",
          [=](const Inputs& in) -> std::optional<Field> {
            if (!is_sixteen_bit(in.dtype)) {
              return std::nullopt;
            }
            const Field squares = squares_of(in.x);
            return sum_in(in.dtype, rounded_squares ? round_all(in.dtype, squares) : squares, how);
          },
          kSixteenBitSlack));
    }
  }
}

void append_y_mistakes(std::vector<Oracle>& all) {
  all.push_back(y_mistake("weight-missing",
                          "y is x * rstd: multiply each element by its column's weight.",
                          [](const Inputs& in, const Field& rstd) {
                            return scaled(in.x, rstd, Field(1, in.x.cols, 1.0));
                          }));
  all.push_back(
      mistake("weight-by-row",
              "y is what weight[row] gives: the weight belongs to the column, weight[col].",
              [](const Inputs& in) -> Wrong {
                if (in.x.rows > in.x.cols) {
                  return std::nullopt;  // rows would be read past the end of the weight
                }
                const Field rstd = rms_rstd(in.x, in.eps);
                Field y = scaled(in.x, rstd, Field(1, in.x.cols, 1.0));
                for (std::int64_t row = 0; row < y.rows; ++row) {
                  for (std::int64_t col = 0; col < y.cols; ++col) {
                    y(row, col) *= in.weight(0, row);
                  }
                }
                return Forward{y, rstd};
              }));
  all.push_back(y_mistake(
      "no-reciprocal", "y was multiplied by sqrt(mean + eps): multiply by rstd, its reciprocal.",
      [](const Inputs& in, const Field& rstd) {
        return scaled(in.x, map(rstd, [](double value) { return 1.0 / value; }), in.weight);
      }));
  all.push_back(y_mistake(
      "cast-order",
      "y is what comes out when x * rstd is rounded to the 16-bit type before it meets the weight: "
      "multiply all three as floats and round once, at the end.",
      [](const Inputs& in, const Field& rstd) {
        const Field ones(1, in.x.cols, 1.0);
        const Field normalized = round_all(in.dtype, scaled(in.x, rstd, ones));
        return round_all(in.dtype, scaled(normalized, Field(in.x.rows, 1, 1.0), in.weight));
      }));
  all.push_back(y_mistake(
      "cast-order",
      "y is what comes out when rstd is rounded to the 16-bit type before it is used: multiply all "
      "three as floats and round once, at the end.",
      [](const Inputs& in, const Field& rstd) {
        return scaled(in.x, round_all(in.dtype, rstd), in.weight);
      }));
}

void append_reading_mistakes(std::vector<Oracle>& all) {
  const auto with_x = [&](const char* id, const char* sentence, auto wrong_x) {
    auto result = [wrong_x](const Case& call, const std::string& output) -> std::optional<Field> {
      const std::optional<Field> x = wrong_x(call);
      if (!x) {
        return std::nullopt;
      }
      const Forward wrong = rmsnorm_forward(*x, call.values("weight").field(), eps_of(call));
      return output == "y" ? wrong.y : wrong.rstd;
    };
    all.push_back({id, sentence, result});
  };
  with_x("stride-ignored",
         "The rows of x were read as if they lay cols elements apart: they start x_stride elements "
         "apart.",
         [](const Case& call) { return x_with_stride(call, call.integer("cols")); });
  with_x("stride-ignored",
         "The rows of x were read y_stride elements apart: they start x_stride elements apart.",
         [](const Case& call) { return x_with_stride(call, call.integer("y_stride")); });
  with_x("transposed-index", "Row and column of x are swapped in an index.", x_transposed);
}

}  // namespace

std::vector<Oracle> forward_mistakes() {
  std::vector<Oracle> all;
  append_reading_mistakes(all);
  append_formula_mistakes(all);
  all.push_back(mean_subtracted(true));
  all.push_back(mean_subtracted(false));
  append_y_mistakes(all);
  for (const LostColumns& lost : lost_columns()) {
    all.push_back(squares_without(lost));
  }
  for (const ThreadSums& sums : thread_sums()) {
    all.push_back(scaled_by_thread(sums));
  }
  append_sixteen_bit_mistakes(all);
  return all;
}

}  // namespace onepass::rmsnorm
