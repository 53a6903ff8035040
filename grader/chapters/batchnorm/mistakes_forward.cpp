// Exercise 4.1: what the outputs would be with one mistake.
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "chapters/batchnorm/mistakes.h"
#include "chapters/batchnorm/mistakes_y.h"
#include "chapters/batchnorm/one_pass_variance.h"
#include "chapters/batchnorm/wrong_outputs.h"

namespace onepass::batchnorm {

using verdict::Oracle;

namespace {

std::int64_t space_of(const Inputs& in) {
  return in.count() / in.batch;
}

/// Statistics of the elements that are counted, divided by their number.
Oracle statistics_of(const char* mistake, std::string sentence,
                     std::function<bool(const Inputs&, std::int64_t j)> counted) {
  return wrong_statistics(
      mistake, std::move(sentence), [counted](const Inputs& in) -> std::optional<Statistics> {
        std::vector<std::int64_t> kept;
        for (std::int64_t j = 0; j < in.count(); ++j) {
          if (counted(in, j)) {
            kept.push_back(j);
          }
        }
        if (kept.empty() || kept.size() == static_cast<std::size_t>(in.count())) {
          return std::nullopt;
        }
        Field some(in.channels(), static_cast<std::int64_t>(kept.size()));
        for (std::int64_t c = 0; c < some.rows; ++c) {
          for (std::int64_t j = 0; j < some.cols; ++j) {
            some(c, j) = in.x(c, kept[static_cast<std::size_t>(j)]);
          }
        }
        const Field mean = means(some);
        return Statistics{mean, biased_variances(some, mean)};
      });
}

/// The mean of elements of which some are left out, although all are counted.
Oracle elements_lost(const char* mistake, std::string sentence,
                     std::function<bool(const Inputs&, std::int64_t j)> counted) {
  return wrong_statistics(mistake, std::move(sentence),
                          [counted](const Inputs& in) -> std::optional<Statistics> {
                            Field left = in.x;
                            for (std::int64_t c = 0; c < left.rows; ++c) {
                              for (std::int64_t j = 0; j < left.cols; ++j) {
                                left(c, j) = counted(in, j) ? left(c, j) : 0.0;
                              }
                            }
                            Statistics lost{means(left), Field(in.channels(), 1)};
                            for (std::int64_t c = 0; c < left.rows; ++c) {
                              double squares = 0.0;
                              for (std::int64_t j = 0; j < left.cols; ++j) {
                                const double distance = in.x(c, j) - lost.mean(c, 0);
                                squares += counted(in, j) ? distance * distance : 0.0;
                              }
                              lost.variance(c, 0) = squares / static_cast<double>(in.count());
                            }
                            return lost;
                          });
}

/// Sums divided by something else than the count.
Oracle divided_by(const char* sentence, std::function<double(const Inputs&)> divisor) {
  return wrong_statistics("sum-not-mean", sentence,
                          [divisor](const Inputs& in) -> std::optional<Statistics> {
                            const double factor = static_cast<double>(in.count()) / divisor(in);
                            Statistics wrong{means(in.x), {}};
                            for (double& mean : wrong.mean.values) {
                              mean *= factor;
                            }
                            wrong.variance = biased_variances(in.x, wrong.mean);
                            for (double& variance : wrong.variance.values) {
                              variance *= factor;
                            }
                            return wrong;
                          });
}

void append_statistics_mistakes(std::vector<Oracle>& all) {
  all.push_back(statistics_of(
      "one-sample-only",
      "These are the statistics of the first sample only: a channel has elements in all samples.",
      [](const Inputs& in, std::int64_t j) { return j < space_of(in); }));
  all.push_back(statistics_of(
      "one-sample-only",
      "These are the statistics of each sample's first position only: all positions count.",
      [](const Inputs& in, std::int64_t j) { return j % space_of(in) == 0; }));
  all.push_back(divided_by("The sum was not divided: divide by batch * space.",
                           [](const Inputs&) { return 1.0; }));
  all.push_back(divided_by("The sum was divided by batch: divide by batch * space.",
                           [](const Inputs& in) { return static_cast<double>(in.batch); }));
  all.push_back(divided_by("The sum was divided by space: divide by batch * space.",
                           [](const Inputs& in) { return static_cast<double>(space_of(in)); }));
  for (std::int64_t threads : {512, 256, 1024, 128, 64, 32}) {
    all.push_back(
        divided_by("The sum was divided by the number of threads: divide by batch * "
                   "space.",
                   [threads](const Inputs&) { return static_cast<double>(threads); }));
    all.push_back(elements_lost(
        "no-stride-loop",
        fmt::format("Only the first {} elements of a channel were added up: let each thread go on "
                    "in steps of the number of threads.",
                    threads),
        [threads](const Inputs&, std::int64_t j) { return j < threads; }));
    all.push_back(elements_lost(
        "one-warp-only",
        "Only the first warp's elements were added up: the warps' sums have to meet in shared "
        "memory.",
        [threads](const Inputs&, std::int64_t j) { return j % threads < 32; }));
  }
  for (std::int64_t group : {2, 4, 8, 32, 256, 512}) {
    all.push_back(elements_lost(
        "tail-dropped",
        fmt::format("The last elements of a channel were left out: whole groups of {} were "
                    "counted, and what is left over was not.",
                    group),
        [group](const Inputs& in, std::int64_t j) { return j < in.count() / group * group; }));
  }
}

void append_variance_mistakes(std::vector<Oracle>& all) {
  all.push_back(wrong_rstd(
      "unbiased-variance",
      "The batch was normalised with the variance divided by count - 1: that one is for the "
      "running variance, here it is divided by count.",
      [](const Inputs& in, double variance) {
        const auto count = static_cast<double>(in.count());
        return 1.0 / std::sqrt(variance * count / (count - 1.0) + in.eps);
      }));
  all.push_back(wrong_rstd(
      "eps-outside-root", "The result is 1 / (sqrt(var) + eps): eps belongs inside the root.",
      [](const Inputs& in, double variance) { return 1.0 / (std::sqrt(variance) + in.eps); }));
  all.push_back(
      wrong_rstd("eps-ignored", "The result is what comes out without eps: add it to the variance.",
                 [](const Inputs&, double variance) { return 1.0 / std::sqrt(variance); }));
  for (float fixed : {1e-5f, 1e-6f}) {
    all.push_back(wrong_rstd(
        "eps-ignored",
        fmt::format("The result is what comes out with eps = {}, whatever eps is given: use the "
                    "argument.",
                    fixed),
        [fixed](const Inputs&, double variance) {
          return 1.0 / std::sqrt(variance + static_cast<double>(fixed));
        }));
  }
  all.push_back(wrong_rstd(
      "no-reciprocal", "The result is sqrt(var + eps): rstd is its reciprocal. Use rsqrtf().",
      [](const Inputs& in, double variance) { return std::sqrt(variance + in.eps); }));
  all.push_back(wrong_rstd("wrong-saved-statistics",
                           "save_rstd holds the variance: save 1 / sqrt(var + eps).",
                           [](const Inputs&, double variance) { return variance; }));
  all.push_back(
      wrong_rstd("no-root", "save_rstd holds 1 / (var + eps): take the root too.",
                 [](const Inputs& in, double variance) { return 1.0 / (variance + in.eps); }));
  all.push_back(wrong_statistics(
      "mean-not-subtracted",
      "The variance is the mean of x^2: subtract the mean from each element before it is squared.",
      [](const Inputs& in) -> std::optional<Statistics> {
        return Statistics{means(in.x), biased_variances(in.x, Field(in.channels(), 1))};
      }));
}

double right_running(const Running& r) {
  return (1.0 - r.momentum) * r.old + r.momentum * r.batch;
}

void append_running_mistakes(std::vector<Oracle>& all) {
  const auto reversed = [](const Running& r) {
    return r.momentum * r.old + (1.0 - r.momentum) * r.batch;
  };
  all.push_back(wrong_running("momentum-reversed",
                              "momentum is the share of the new statistics, and 1 - momentum that "
                              "of the old ones: it is the other way round here.",
                              reversed, reversed));
  all.push_back(wrong_running("biased-running-variance",
                              "The running variance took the variance that is divided by count: "
                              "it takes the one divided by count - 1.",
                              right_running, [](const Running& r) {
                                const double biased = r.batch * (r.count - 1.0) / r.count;
                                return (1.0 - r.momentum) * r.old + r.momentum * biased;
                              }));
  all.push_back(wrong_running("eps-in-running-variance",
                              "The running variance took var + eps: eps is not part of it.",
                              right_running, [](const Running& r) {
                                return (1.0 - r.momentum) * r.old + r.momentum * (r.batch + r.eps);
                              }));
  const auto replaced = [](const Running& r) { return r.batch; };
  all.push_back(wrong_running("momentum-ignored",
                              "The running statistics were replaced by the batch's: they move "
                              "towards them by momentum.",
                              replaced, replaced));
  const auto added = [](const Running& r) { return r.old + r.momentum * r.batch; };
  all.push_back(wrong_running("momentum-ignored",
                              "The old running statistics were kept whole: multiply them by 1 - "
                              "momentum.",
                              added, added));
  const auto twice = [](const Running& r) {
    const double kept = (1.0 - r.momentum) * (1.0 - r.momentum);
    return kept * r.old + (1.0 - kept) * r.batch;
  };
  all.push_back(wrong_running("running-updated-twice",
                              "The running statistics moved by momentum twice: one thread of the "
                              "grid may move those of a channel, once a call.",
                              twice, twice));
  const auto fixed = [](const Running& r) { return 0.9 * r.old + 0.1 * r.batch; };
  all.push_back(wrong_running("momentum-ignored",
                              "The result is what comes out with a momentum of 0.1, whatever is "
                              "given: use the argument.",
                              fixed, fixed));
  const auto kept = [](const Running& r) { return r.old; };
  all.push_back(wrong_running("output-partly-written",
                              "The running statistic is what it was before the call.", kept, kept));
  all.push_back(wrong_forward(
      "statistics-swapped", "The running mean and the running variance have changed places.",
      [](const Inputs& in, Dtype) {
        const Forward right = batchnorm_forward(in);
        Field unbiased = biased_variances(in.x, right.save_mean);
        for (double& variance : unbiased.values) {
          variance *= static_cast<double>(in.count()) / static_cast<double>(in.count() - 1);
        }
        Forward out = right;
        out.running_mean = moved(in.running_mean, unbiased, in.momentum);
        out.running_var = moved(in.running_var, right.save_mean, in.momentum);
        return std::optional(out);
      }));
  all.push_back(wrong_forward("wrong-saved-statistics",
                              "The running variance took rstd: it is the variance that is kept.",
                              [](const Inputs& in, Dtype) {
                                Forward out = batchnorm_forward(in);
                                out.running_var = moved(in.running_var, out.save_rstd, in.momentum);
                                return std::optional(out);
                              }));
  all.push_back(wrong_running("wrong-saved-statistics",
                              "The running variance took the standard deviation: it is the "
                              "variance that is kept.",
                              right_running, [](const Running& r) {
                                return (1.0 - r.momentum) * r.old + r.momentum * std::sqrt(r.batch);
                              }));
}

Oracle running_statistics_used() {
  return wrong_forward(
      "running-statistics-used",
      "y was normalised with the running statistics: while training, it is the batch's own.",
      [](const Inputs& in, Dtype) {
        Forward out = batchnorm_forward(in);
        out.y =
            normalized(in.x, in.running_mean, rstd_of(in.running_var, in.eps), in.weight, in.bias);
        return std::optional(out);
      });
}

}  // namespace

std::vector<Oracle> forward_mistakes() {
  std::vector<Oracle> all;
  append_variance_mistakes(all);
  append_running_mistakes(all);
  all.push_back(running_statistics_used());
  append_y_mistakes(all);
  append_statistics_mistakes(all);
  append_sum_mistakes(all);
  append_one_pass_variance(all);
  return all;
}

}  // namespace onepass::batchnorm
