// Exercise 2.2: what dx would be with one mistake.
#include <optional>
#include <utility>

#include "chapters/common/lost_columns.h"
#include "chapters/common/misread.h"
#include "chapters/common/sixteen_bit_sums.h"
#include "chapters/layernorm/calls.h"
#include "chapters/layernorm/mistakes.h"

namespace onepass::layernorm {

using common::map;
using common::only;
using common::transposed;
using common::with_stride;
using verdict::Oracle;

namespace {

/// What dx is made of.
struct Parts {
  Field dy, wdy, x_hat, rstd, mean_wdy, mean_wdy_hat;
};

Parts parts_of(const Field& dy, const Field& wdy, const Field& x_hat, const Field& rstd) {
  return {dy, wdy, x_hat, rstd, row_means(wdy), row_means(product(wdy, x_hat))};
}

/// dx from parts of which one is wrong.
Oracle mistake(std::string id, std::string sentence, std::function<void(Parts&)> spoil) {
  auto result = [spoil = std::move(spoil)](const Case& call,
                                           const std::string& output) -> std::optional<Field> {
    if (output != "dx") {
      return std::nullopt;
    }
    Parts parts = parts_of(call.values("dy").field(), wdy_of(call), x_hat_of(call),
                           call.values("rstd").field());
    spoil(parts);
    return row_gradient(parts.wdy, parts.x_hat, parts.rstd, parts.mean_wdy, parts.mean_wdy_hat);
  };
  return {std::move(id), std::move(sentence), result};
}

/// dx from an x or dy that is read wrongly.
Oracle misread(std::string id, std::string sentence,
               std::function<std::optional<Field>(const Case&, const char* buffer)> wrong,
               const char* buffer) {
  auto result = [=](const Case& call, const std::string& output) -> std::optional<Field> {
    const std::optional<Field> read = output == "dx" ? wrong(call, buffer) : std::nullopt;
    if (!read) {
      return std::nullopt;
    }
    const Field rstd = call.values("rstd").field();
    if (buffer[0] == 'x') {
      return backward_dx(wdy_of(call), normalized(*read, call.values("mean").field(), rstd), rstd);
    }
    return backward_dx(product(*read, values_or(call, "weight", 1.0)), x_hat_of(call), rstd);
  };
  return {std::move(id), std::move(sentence), result};
}

void clear(Field& field) {
  field = Field(field.rows, field.cols);
}

void append_terms(std::vector<Oracle>& all) {
  all.push_back(mistake("missing-reduction-term",
                        "The mean of wdy is not subtracted: each x also moves the row's mean, and "
                        "with it every y. As it is, a row of dx does not add up to 0.",
                        [](Parts& parts) { clear(parts.mean_wdy); }));
  all.push_back(mistake("missing-reduction-term",
                        "x_hat times the mean of wdy * x_hat is not subtracted: each x also moves "
                        "the row's rstd, and with it every y.",
                        [](Parts& parts) { clear(parts.mean_wdy_hat); }));
  all.push_back(mistake("missing-reduction-term",
                        "dx is rstd * wdy: neither mean is subtracted, or both came out as 0, as "
                        "(1 / cols) does with integers.",
                        [](Parts& parts) {
                          clear(parts.mean_wdy);
                          clear(parts.mean_wdy_hat);
                        }));
  all.push_back(
      mistake("weight-missing-in-dx",
              "dx is what comes out of dy alone: it is dy times "
              "weight that reaches x_hat.",
              [](Parts& parts) { parts = parts_of(parts.dy, parts.dy, parts.x_hat, parts.rstd); }));
  all.push_back(mistake("weight-missing-in-dx",
                        "The two means are those of dy: multiply by the weight before summing.",
                        [](Parts& parts) {
                          parts.mean_wdy = row_means(parts.dy);
                          parts.mean_wdy_hat = row_means(product(parts.dy, parts.x_hat));
                        }));
  const auto times_cols = [](Field& means, std::int64_t cols) {
    means = map(means, [cols](double value) { return value * static_cast<double>(cols); });
  };
  all.push_back(mistake("sum-not-mean", "Both sums were used as they are: divide them by cols.",
                        [=](Parts& parts) {
                          times_cols(parts.mean_wdy, parts.wdy.cols);
                          times_cols(parts.mean_wdy_hat, parts.wdy.cols);
                        }));
  all.push_back(mistake("sum-not-mean", "The sum of wdy was used as it is: divide it by cols.",
                        [=](Parts& parts) { times_cols(parts.mean_wdy, parts.wdy.cols); }));
  all.push_back(mistake("sum-not-mean", "The sum of wdy * x_hat was used as it is: divide by cols.",
                        [=](Parts& parts) { times_cols(parts.mean_wdy_hat, parts.wdy.cols); }));
  all.push_back(mistake("wrong-saved-statistics",
                        "The result was not multiplied by rstd at the end.",
                        [](Parts& parts) { parts.rstd = Field(parts.rstd.rows, 1, 1.0); }));
  all.push_back(mistake(
      "no-reciprocal", "The result was divided by rstd: multiply by it.",
      [](Parts& parts) { parts.rstd = map(parts.rstd, [](double rstd) { return 1.0 / rstd; }); }));
}

void append_weights(std::vector<Oracle>& all) {
  all.push_back(mistake("weight-missing-in-dx",
                        "The two means are those of weight * dy, but the first term is dy alone: "
                        "multiply it by the weight too.",
                        [](Parts& parts) { parts.wdy = parts.dy; }));
  all.push_back({"weight-by-row", "wdy is dy * weight[row]: the weights belong to the columns.",
                 [](const Case& call, const std::string& output) -> std::optional<Field> {
                   Field wdy = call.values("dy").field();
                   if (output != "dx" || call.buffer("weight").null || wdy.rows > wdy.cols) {
                     return std::nullopt;
                   }
                   const Field weight = call.values("weight").field();
                   for (std::int64_t row = 0; row < wdy.rows; ++row) {
                     for (std::int64_t col = 0; col < wdy.cols; ++col) {
                       wdy(row, col) *= weight(0, row);
                     }
                   }
                   return backward_dx(wdy, x_hat_of(call), call.values("rstd").field());
                 }});
}

/// A mistake of 16 bits, which fp32 tensors cannot show.
Oracle in_sixteen_bits(const char* id, const char* sentence,
                       std::function<void(Dtype, Parts&)> spoil, double slack) {
  auto result = [spoil = std::move(spoil)](const Case& call,
                                           const std::string& output) -> std::optional<Field> {
    if (output != "dx" || call.dtype() == Dtype::fp32) {
      return std::nullopt;
    }
    Parts parts = parts_of(call.values("dy").field(), wdy_of(call), x_hat_of(call),
                           call.values("rstd").field());
    spoil(call.dtype(), parts);
    return row_gradient(parts.wdy, parts.x_hat, parts.rstd, parts.mean_wdy, parts.mean_wdy_hat);
  };
  return {id, sentence, result, slack};
}

void append_sums(std::vector<Oracle>& all) {
  for (common::SixteenBitSum how : common::sixteen_bit_sums()) {
    all.push_back(in_sixteen_bits(
        "half-accumulation",
        "The two sums are what adding up in the 16-bit type gives: convert to float and add in "
        "float.",
        [how](Dtype dtype, Parts& parts) {
          const auto mean_in = [&](const Field& terms) {
            const auto cols = static_cast<double>(terms.cols);
            return map(common::sum_in(dtype, terms, how), [=](double sum) { return sum / cols; });
          };
          parts.mean_wdy = mean_in(parts.wdy);
          parts.mean_wdy_hat = mean_in(product(parts.wdy, parts.x_hat));
        },
        16.0));
  }
  const char* const early =
      "A step on the way to dx was rounded to the 16-bit type: compute in float and round once, at "
      "the end.";
  all.push_back(in_sixteen_bits(
      "cast-order", early,
      [](Dtype dtype, Parts& parts) { parts.x_hat = common::rounded(dtype, parts.x_hat); }, 4.0));
  all.push_back(in_sixteen_bits(
      "cast-order", early,
      [](Dtype dtype, Parts& parts) { parts.wdy = common::rounded(dtype, parts.wdy); }, 4.0));
  all.push_back(in_sixteen_bits(
      "cast-order", early,
      [](Dtype dtype, Parts& parts) {
        parts = parts_of(parts.dy, common::rounded(dtype, parts.wdy),
                         common::rounded(dtype, parts.x_hat), parts.rstd);
      },
      4.0));
  for (std::int64_t threads : {32, 64, 128, 256, 512, 1024}) {
    for (bool last : {false, true}) {
      all.push_back(mistake(
          "wrong-when-narrow",
          "Threads whose column is past the end of the row add something too: their share must be "
          "0.",
          [=](Parts& parts) {
            const std::int64_t cols = parts.wdy.cols;
            const auto surplus = static_cast<double>((threads - cols % threads) % threads);
            const std::int64_t col = last ? cols - 1 : 0;
            for (std::int64_t row = 0; row < parts.wdy.rows; ++row) {
              const double wdy = surplus * parts.wdy(row, col) / static_cast<double>(cols);
              parts.mean_wdy(row, 0) += wdy;
              parts.mean_wdy_hat(row, 0) += wdy * parts.x_hat(row, col);
            }
          }));
    }
  }
}

void append_dx_misread(std::vector<Oracle>& all) {
  for (const char* buffer : {"x", "dy"}) {
    const std::string name = buffer;
    for (const char* other : {"cols", "x_stride", "dy_stride", "dx_stride"}) {
      const std::string stride = other;
      all.push_back(misread(
          "stride-ignored",
          "The rows of " + name + " were read " + stride + " elements apart: they start " + name +
              "_stride apart.",
          [stride](const Case& call, const char* which) {
            return with_stride(call, which, call.integer(stride));
          },
          buffer));
    }
    all.push_back(misread(
        "transposed-index", "Row and column of " + name + " are swapped in an index.",
        [](const Case& call, const char* which) { return transposed(call.values(which).field()); },
        buffer));
  }
  // The mean is not subtracted in x_hat, or rstd is left out of it.
  const auto with_x_hat = [&](const char* id, const char* sentence, auto x_hat) {
    all.push_back({id, sentence,
                   [x_hat](const Case& call, const std::string& output) -> std::optional<Field> {
                     if (output != "dx") {
                       return std::nullopt;
                     }
                     return backward_dx(wdy_of(call), x_hat(call), call.values("rstd").field());
                   }});
  };
  with_x_hat("mean-not-subtracted", "x_hat is x * rstd here: subtract the saved mean first.",
             [](const Case& call) {
               return product(call.values("x").field(), call.values("rstd").field());
             });
  all.push_back({"mean-not-subtracted",
                 "The mean of wdy * x_hat was summed with x * rstd: subtract the saved mean first.",
                 [](const Case& call, const std::string& output) -> std::optional<Field> {
                   if (output != "dx") {
                     return std::nullopt;
                   }
                   const Field rstd = call.values("rstd").field();
                   const Field wdy = wdy_of(call);
                   const Field x_rstd = product(call.values("x").field(), rstd);
                   return row_gradient(wdy, x_hat_of(call), rstd, row_means(wdy),
                                       row_means(product(wdy, x_rstd)));
                 }});
  with_x_hat("wrong-saved-statistics", "x_hat is x - mean here: multiply by the saved rstd.",
             [](const Case& call) {
               const Field x = call.values("x").field();
               return normalized(x, call.values("mean").field(), Field(x.rows, 1, 1.0));
             });
  with_x_hat("wrong-saved-statistics", "x was used for x_hat: it is (x - mean) * rstd.",
             [](const Case& call) { return call.values("x").field(); });
}

}  // namespace

std::vector<Oracle> dx_mistakes() {
  std::vector<Oracle> all;
  append_terms(all);
  append_weights(all);
  append_dx_misread(all);
  append_sums(all);
  for (const auto& lost : common::lost_columns()) {
    for (const auto& way : lost.ways) {
      all.push_back(mistake(lost.id, way.sentence, [counted = way.hooks](Parts& parts) {
        const Field wdy = only(parts.wdy, [&](std::int64_t, std::int64_t col) {
          return counted(col, parts.wdy.cols);
        });
        parts.mean_wdy = row_means(wdy);
        parts.mean_wdy_hat = row_means(product(wdy, parts.x_hat));
      }));
    }
  }
  append_dx_thread_mistakes(all);
  return all;
}

}  // namespace onepass::layernorm
