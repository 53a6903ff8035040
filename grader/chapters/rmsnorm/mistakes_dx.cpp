// Exercise 1.3: what dx would be with one mistake.
#include <functional>
#include <optional>
#include <utility>

#include "chapters/common/lost_columns.h"
#include "chapters/common/misread.h"
#include "chapters/common/sixteen_bit_sums.h"
#include "chapters/common/thread_sums.h"
#include "chapters/rmsnorm/calls_backward.h"
#include "chapters/rmsnorm/mistakes.h"
#include "chapters/rmsnorm/reference.h"

namespace onepass::rmsnorm {

using common::map;
using common::only;
using common::rounded;
using verdict::Oracle;

namespace {

/// What dx is made of. `mean` is that of wdy * x_hat.
struct Parts {
  Field dy, wdy, x_hat, rstd, mean;
};

/// dx from parts of which one is wrong; nothing where the mistake makes no difference.
using Spoiled = std::function<std::optional<Field>(const Case& call, Parts parts)>;
Oracle spoiled(std::string id, std::string sentence, Spoiled dx, double slack = verdict::kSlack) {
  auto result = [dx = std::move(dx)](const Case& call,
                                     const std::string& output) -> std::optional<Field> {
    if (output != "dx") {
      return std::nullopt;
    }
    Parts parts{
        call.values("dy").field(), wdy_of(call), x_hat_of(call), call.values("rstd").field(), {}};
    parts.mean = row_means(product(parts.wdy, parts.x_hat));
    return dx(call, std::move(parts));
  };
  return {std::move(id), std::move(sentence), result, slack};
}

Field gradient(const Parts& parts) {
  return row_gradient(parts.wdy, parts.x_hat, parts.rstd, parts.mean);
}

/// dx from a mean that is wrong.
Oracle wrong_mean(std::string id, std::string sentence, std::function<Field(const Parts&)> mean,
                  double slack = verdict::kSlack) {
  return spoiled(
      std::move(id), std::move(sentence),
      [mean = std::move(mean)](const Case&, Parts parts) {
        parts.mean = mean(parts);
        return gradient(parts);
      },
      slack);
}

/// dx from an x_hat that is wrong, also in the mean.
Oracle wrong_x_hat(std::string id, std::string sentence,
                   std::function<Field(const Case&, const Parts&)> x_hat) {
  return spoiled(std::move(id), std::move(sentence),
                 [x_hat = std::move(x_hat)](const Case& call, const Parts& parts) {
                   return backward_dx(parts.wdy, x_hat(call, parts), parts.rstd);
                 });
}

std::vector<Oracle> wrong_terms() {
  return {
      wrong_mean("missing-reduction-term",
                 "dx is rstd * wdy: x_hat times the mean of wdy * x_hat is not subtracted. Each x "
                 "also moves the row's rstd, and with it every y.",
                 [](const Parts& parts) { return Field(parts.mean.rows, 1); }),
      wrong_mean(
          "sign-flipped", "The mean is added: it is subtracted.",
          [](const Parts& parts) { return map(parts.mean, [](double mean) { return -mean; }); }),
      wrong_mean("sum-not-mean", "The sum of wdy * x_hat was used as it is: divide it by cols.",
                 [](const Parts& parts) { return row_sums(product(parts.wdy, parts.x_hat)); }),
      wrong_mean("weight-missing-in-dx",
                 "The mean is that of dy * x_hat: multiply by the weight before adding up.",
                 [](const Parts& parts) { return row_means(product(parts.dy, parts.x_hat)); }),
      spoiled("weight-missing-in-dx",
              "dx is what comes out of dy alone: it is dy times weight that reaches x_hat.",
              [](const Case&, const Parts& parts) {
                return backward_dx(parts.dy, parts.x_hat, parts.rstd);
              }),
      spoiled("weight-missing-in-dx",
              "The weight is in the mean only: also the dy in front of it is times the weight.",
              [](const Case&, const Parts& parts) {
                return row_gradient(parts.dy, parts.x_hat, parts.rstd, parts.mean);
              }),
      spoiled("x-hat-missing", "The mean is subtracted as it is: multiply it by x_hat first.",
              [](const Case&, const Parts& parts) {
                const Field ones(parts.x_hat.rows, parts.x_hat.cols, 1.0);
                return row_gradient(parts.wdy, ones, parts.rstd, parts.mean);
              }),
      wrong_mean("x-hat-missing", "The mean is that of wdy: it is of wdy * x_hat.",
                 [](const Parts& parts) { return row_means(parts.wdy); }),
      spoiled("mean-subtracted",
              "The mean of wdy is subtracted too, as in LayerNorm: RMSNorm has no mean.",
              [](const Case&, Parts parts) {
                const Field mean_wdy = row_means(parts.wdy);
                for (std::int64_t row = 0; row < parts.wdy.rows; ++row) {
                  for (std::int64_t col = 0; col < parts.wdy.cols; ++col) {
                    parts.wdy(row, col) -= mean_wdy(row, 0);
                  }
                }
                return gradient(parts);
              }),
  };
}

std::vector<Oracle> wrong_use_of_rstd() {
  const auto inverse = [](const Field& rstd) {
    return map(rstd, [](double value) { return 1.0 / value; });
  };
  return {
      spoiled("wrong-saved-statistics", "The result was not multiplied by rstd at the end.",
              [](const Case&, Parts parts) {
                parts.rstd = Field(parts.rstd.rows, 1, 1.0);
                return gradient(parts);
              }),
      spoiled("no-reciprocal", "The result was divided by rstd: multiply by it.",
              [inverse](const Case&, Parts parts) {
                parts.rstd = inverse(parts.rstd);
                return gradient(parts);
              }),
      wrong_x_hat("no-reciprocal", "x was divided by rstd: x_hat is x * rstd.",
                  [inverse](const Case& call, const Parts& parts) {
                    return product(call.values("x").field(), inverse(parts.rstd));
                  }),
      wrong_x_hat("wrong-saved-statistics", "x was used for x_hat: multiply it by the saved rstd.",
                  [](const Case& call, const Parts&) { return call.values("x").field(); }),
      wrong_mean("wrong-saved-statistics",
                 "The mean is that of wdy * x: it is of wdy * x_hat, and x_hat is x * rstd.",
                 [](const Parts& parts) {
                   const Field means = row_means(product(parts.wdy, parts.x_hat));
                   Field wrong = means;
                   for (std::int64_t row = 0; row < means.rows; ++row) {
                     wrong(row, 0) /= parts.rstd(row, 0);
                   }
                   return wrong;
                 }),
  };
}

/// In 16-bit types only.
std::vector<Oracle> wrong_rounding() {
  const auto sixteen = [](const char* id, const char* sentence, auto dx, double slack) {
    return spoiled(
        id, sentence,
        [dx](const Case& call, const Parts& parts) -> std::optional<Field> {
          return call.dtype() == Dtype::fp32 ? std::nullopt : std::optional(dx(call, parts));
        },
        slack);
  };
  std::vector<Oracle> all = {
      sixteen(
          "cast-order", "x_hat was rounded to the 16-bit type: in dx it stays fp32, in any order.",
          [](const Case& call, const Parts& parts) {
            return backward_dx(parts.wdy, rounded(call.dtype(), parts.x_hat), parts.rstd);
          },
          verdict::kSlack),
      sixteen(
          "cast-order", "wdy was rounded to the 16-bit type: multiply as floats.",
          [](const Case& call, const Parts& parts) {
            return backward_dx(rounded(call.dtype(), parts.wdy), parts.x_hat, parts.rstd);
          },
          verdict::kSlack),
  };
  for (const common::SixteenBitSum how : common::sixteen_bit_sums()) {
    all.push_back(sixteen(
        "half-accumulation",
        "The row's sum is what adding up in the 16-bit type gives: add in float.",
        [how](const Case& call, Parts parts) {
          const auto cols = static_cast<double>(parts.wdy.cols);
          const Field sums = sum_in(call.dtype(), product(parts.wdy, parts.x_hat), how);
          parts.mean = map(sums, [cols](double sum) { return sum / cols; });
          return gradient(parts);
        },
        verdict::kSixteenBitSlack));
  }
  return all;
}

std::vector<Oracle> dx_misread() {
  using Read = std::function<std::optional<Field>(const Case&, const char* buffer)>;
  const auto misread = [](const char* id, std::string sentence, const char* buffer, Read read) {
    return spoiled(id, std::move(sentence),
                   [=](const Case& call, const Parts& parts) -> std::optional<Field> {
                     const std::optional<Field> wrong = read(call, buffer);
                     if (!wrong) {
                       return std::nullopt;
                     }
                     if (std::string(buffer) == "x") {
                       return backward_dx(parts.wdy, product(*wrong, parts.rstd), parts.rstd);
                     }
                     const Field wdy = product(*wrong, call.values("weight").field());
                     return backward_dx(wdy, parts.x_hat, parts.rstd);
                   });
  };
  std::vector<Oracle> all;
  for (const char* buffer : {"x", "dy"}) {
    const std::string name = buffer;
    for (const char* other : {"cols", "x_stride", "dy_stride", "dx_stride"}) {
      all.push_back(misread("stride-ignored",
                            "The rows of " + name + " were read " + other +
                                " elements apart: they start " + name + "_stride apart.",
                            buffer, [other](const Case& call, const char* which) {
                              return common::with_stride(call, which, call.integer(other));
                            }));
    }
    all.push_back(misread("transposed-index",
                          "Row and column of " + name + " are swapped in an index.", buffer,
                          [](const Case& call, const char* which) {
                            return common::transposed(call.values(which).field());
                          }));
  }
  return all;
}

/// Sums in which terms are lost, or that do not reach every thread.
std::vector<Oracle> wrong_reductions() {
  std::vector<Oracle> all;
  for (const auto& lost : common::lost_columns()) {
    for (const auto& way : lost.ways) {
      all.push_back(wrong_mean(lost.id, way.sentence, [counted = way.hooks](const Parts& parts) {
        const Field terms = product(parts.wdy, parts.x_hat);
        return row_means(
            only(terms, [&](std::int64_t, std::int64_t col) { return counted(col, terms.cols); }));
      }));
    }
  }
  for (const auto& held_wrongly : common::thread_sums()) {
    for (const auto& way : held_wrongly.ways) {
      all.push_back(spoiled(
          held_wrongly.id, way.sentence, [sums = way.hooks](const Case&, const Parts& parts) {
            const Field terms = product(parts.wdy, parts.x_hat);
            Field dx(terms.rows, terms.cols);
            for (std::int64_t row = 0; row < terms.rows; ++row) {
              std::vector<double> shares(static_cast<std::size_t>(sums.threads), 0.0);
              for (std::int64_t col = 0; col < terms.cols; ++col) {
                shares[static_cast<std::size_t>(col % sums.threads)] += terms(row, col);
              }
              const std::vector<double> held = sums.reduce(shares);
              for (std::int64_t col = 0; col < terms.cols; ++col) {
                const double mean = held[static_cast<std::size_t>(col % sums.threads)] /
                                    static_cast<double>(terms.cols);
                dx(row, col) =
                    parts.rstd(row, 0) * (parts.wdy(row, col) - parts.x_hat(row, col) * mean);
              }
            }
            return dx;
          }));
    }
  }
  return all;
}

}  // namespace

std::vector<Oracle> dx_mistakes() {
  std::vector<Oracle> all;
  for (const auto& group :
       {wrong_terms(), wrong_use_of_rstd(), dx_misread(), wrong_reductions(), wrong_rounding()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

}  // namespace onepass::rmsnorm
