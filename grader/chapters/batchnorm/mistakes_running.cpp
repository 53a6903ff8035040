// Chapter 4: where the running statistics go with one mistake.
#include <fmt/format.h>

#include <cmath>

#include "chapters/batchnorm/mistakes.h"
#include "chapters/common/forward_mistakes.h"
#include "chapters/common/shapes.h"

namespace onepass::batchnorm {

using Table = common::Table<Hooks>;

namespace {

/// The same step for both.
Hooks both_moved(const Hooks::Move& move) {
  return {.running_mean = move, .running_var = move};
}

/// n / (n - 1) of another n than the count.
std::vector<common::Way<Hooks>> wrong_correction() {
  struct Wrong {
    const char* sentence;
    double (*factor)(const Inputs& in);
  };
  static constexpr auto corrected = [](std::int64_t n) {
    return static_cast<double>(n) / static_cast<double>(n - 1);
  };
  static constexpr auto divided_by_less = [](const Inputs& in, std::int64_t n) {
    return static_cast<double>(in.count()) / static_cast<double>(n > 1 ? n - 1 : n);
  };
  const Wrong all[] = {
      {"The running variance was corrected by batch / (batch - 1): a channel has batch * space "
       "elements.",
       [](const Inputs& in) { return corrected(in.batch > 1 ? in.batch : in.count()); }},
      {"The running variance was corrected by space / (space - 1): a channel has batch * space "
       "elements.",
       [](const Inputs& in) { return corrected(in.space() > 1 ? in.space() : in.count()); }},
      {"The running variance was corrected by channels / (channels - 1): it is the count of the "
       "elements of one channel, batch * space.",
       [](const Inputs& in) { return corrected(in.channels() > 1 ? in.channels() : in.count()); }},
      {"The running variance was corrected with the number of all elements: it is the count of "
       "those of one channel, batch * space.",
       [](const Inputs& in) { return corrected(in.channels() * in.count()); }},
      {"The running variance was corrected by (count - 1) / count: it is the other way round.",
       [](const Inputs& in) { return 1.0 / corrected(in.count()); }},
      {"The running variance was corrected twice as much as it takes: by count / (count - 1), "
       "once.",
       [](const Inputs& in) { return corrected(in.count()) * corrected(in.count()); }},
      {"The squares were divided by batch - 1 for the running variance: divide them by batch * "
       "space - 1.",
       [](const Inputs& in) { return divided_by_less(in, in.batch); }},
      {"The squares were divided by space - 1 for the running variance: divide them by batch * "
       "space - 1.",
       [](const Inputs& in) { return divided_by_less(in, in.space()); }},
      {"The variance, which is divided by count already, was divided by count - 1 once more: the "
       "running variance takes the sum of the squares divided by count - 1.",
       [](const Inputs& in) { return 1.0 / static_cast<double>(in.count() - 1); }},
      {"The running variance was corrected by (count + 1) / count: it is count / (count - 1).",
       [](const Inputs& in) { return corrected(in.count() + 1); }},
      {"The sum of the squares went into the running variance as it is: divide it by count - 1.",
       [](const Inputs& in) { return static_cast<double>(in.count()); }}};
  std::vector<common::Way<Hooks>> ways;
  const auto add = [&](const std::string& sentence, const auto& factor) {
    ways.push_back({sentence, {.running_var = [factor](const Running& r) {
                      return r.moved_to(r.biased * factor(r.in));
                    }}});
  };
  for (const auto& [sentence, factor] : all) {
    add(sentence, factor);
  }
  for (std::int64_t threads : {1024, 512, 256, 128, 64, 32}) {
    add(fmt::format("The running variance was corrected by {} / {}, it seems by the number of "
                    "threads: it is count / (count - 1), with count = batch * space.",
                    threads, threads - 1),
        [threads](const Inputs&) { return corrected(threads); });
  }
  ways.push_back(
      {"The running variance took the variance less 1, as var * count / count - 1 gives: put "
       "count - 1 in parentheses.",
       {.running_var = [](const Running& r) { return r.moved_to(r.biased - 1.0); }}});
  return ways;
}

const char* const kByDifference =
    "The running statistics moved by momentum * (new - old): beside a large old one the new one "
    "loses its digits, and they do not come back. (1 - momentum) * old + momentum * new keeps "
    "them.";

double rounded(double value) {
  return verdict::round_to(verdict::Dtype::fp32, value);
}

/// By momentum * (new - old), each step rounded; or product and sum together, as nvcc has them.
double moved_by_difference(const Running& r) {
  return rounded(r.old + rounded(r.momentum * rounded(r.batch - r.old)));
}
double moved_by_fused_difference(const Running& r) {
  return rounded(r.old + r.momentum * rounded(r.batch - r.old));
}

/// The variance of the step that got it back from rstd, and what rounding leaves of it.
double moved_to_what_rstd_gives(const Running& r) {
  const auto eps = static_cast<float>(r.eps);
  const float rstd = 1.0f / std::sqrt(static_cast<float>(r.biased) + eps);
  const auto count = static_cast<double>(r.in.count());
  return r.moved_to((1.0f / (rstd * rstd) - eps) * count / (count - 1.0));
}

/// Where eps is small beside the variance, which rstd then has the digits of.
std::optional<verdict::Case> with_large_numbers(const verdict::Case& call) {
  constexpr double kTimes = 1024.0;
  std::vector<verdict::Buffer> buffers = call.buffers();
  for (verdict::Buffer& buffer : buffers) {
    if (buffer.name == "x") {
      buffer.values = common::changed(call.values("x"),
                                      [](auto, auto, double value) { return kTimes * value; });
      buffer.hash.reset();
    }
  }
  return call.with(std::move(buffers));
}

}  // namespace

Table running_mistakes() {
  return {
      {"running-digits-lost",
       {{kByDifference, both_moved(moved_by_difference)},
        {kByDifference, both_moved(moved_by_fused_difference)},
        {"The running variance lost its digits, as 1 / rstd^2 - eps does where it is small beside "
         "eps; with larger numbers the same call is right. Take the variance that rstd is made of.",
         {.running_var = moved_to_what_rstd_gives},
         {common::kCancellationSlack, with_large_numbers}}}},
      {"momentum-reversed",
       {{"momentum is the share of the new statistics, and 1 - momentum that of the old ones: it "
         "is the other way round here.",
         both_moved(
             [](const Running& r) { return r.momentum * r.old + (1.0 - r.momentum) * r.batch; })}}},
      {"biased-running-variance",
       {{"The running variance took the variance that is divided by count: it takes the one "
         "divided by count - 1.",
         {.running_var = [](const Running& r) { return r.moved_to(r.biased); }}}}},
      {"wrong-correction", wrong_correction()},
      {"eps-in-running-variance",
       {{"The running variance took var + eps: eps is not part of it.",
         {.running_var = [](const Running& r) { return r.moved_to(r.unbiased + r.eps); }}},
        {"The running variance has eps in it, as 1 / rstd^2 has: eps is not part of it.",
         {.running_var =
              [](const Running& r) {
                return r.moved_to((r.biased + r.eps) * r.unbiased / r.biased);
              }}},
        {"The running variance took var + eps, divided by count: it takes the variance alone, and "
         "divided by count - 1.",
         {.running_var = [](const Running& r) { return r.moved_to(r.biased + r.eps); }}}}},
      {"momentum-ignored",
       {{"The running statistics were replaced by the batch's: they move towards them by momentum.",
         both_moved([](const Running& r) { return r.batch; })},
        {"The old running statistics were kept whole: multiply them by 1 - momentum.",
         both_moved([](const Running& r) { return r.old + r.momentum * r.batch; })},
        {"The result is what comes out with a momentum of 0.1, whatever is given: use the "
         "argument.",
         both_moved([](const Running& r) { return 0.9 * r.old + 0.1 * r.batch; })}}},
      {"running-updated-twice",
       {{"The running statistics moved by momentum twice: one thread of the grid may move those of "
         "a channel, once a call.",
         both_moved([](const Running& r) {
           const double kept = (1.0 - r.momentum) * (1.0 - r.momentum);
           return kept * r.old + (1.0 - kept) * r.batch;
         })}}},
      {"output-partly-written",
       {{"The running statistic is what it was before the call.",
         both_moved([](const Running& r) { return r.old; })}}},
      {"statistics-swapped",
       {{"The running mean and the running variance have changed places.",
         {.running_mean = [](const Running& r) { return r.moved_to(r.unbiased); },
          .running_var = [](const Running& r) { return r.moved_to(r.mean); }}}}},
      {"wrong-saved-statistics",
       {{"The running variance took rstd: it is the variance that is kept.",
         {.running_var = [](const Running& r) { return r.moved_to(r.rstd); }}},
        {"The running variance took the standard deviation: it is the variance that is kept.",
         {.running_var = [](const Running& r) { return r.moved_to(std::sqrt(r.unbiased)); }}}}},
      {"running-statistics-used",
       {{"y was normalised with the running statistics: while training, it is the batch's own.",
         {.made_with = running_statistics}}}}};
}

}  // namespace onepass::batchnorm
