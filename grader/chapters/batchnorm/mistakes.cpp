// Chapter 4: what the outputs would be with one mistake.
#include "chapters/batchnorm/mistakes.h"

#include <fmt/format.h>

#include <cmath>

#include "chapters/batchnorm/calls.h"
#include "chapters/common/forward_mistakes.h"

namespace onepass::batchnorm {

using common::ForwardHooks;
using common::joined;
using common::Of;
using common::placed;
using common::Row;
using Table = common::Table<Hooks>;

namespace {

const common::ForwardWords& words() {
  static const common::ForwardWords all = {.centred = true,
                                           .biased = true,
                                           .variance = "the variance",
                                           .v = "var",
                                           .cols = "batch * space",
                                           .index = "c",
                                           .of = {"channel", "element"},
                                           .usual_eps = {1e-5f, 1e-6f}};
  return all;
}

Hooks in_norm(const ForwardHooks& hooks) {
  return {.norm = [hooks](const Inputs&) { return hooks; }};
}

std::optional<Field> output_of(const Case& call, const std::string& output, const Hooks& hooks) {
  const Inputs in = inputs_of(call);
  const std::optional<Field> result =
      is_training(call) ? batchnorm_forward(in, output, hooks) : batchnorm_evaluate(in, hooks);
  return result && output == "y" ? as_tensor(*result, in.batch) : result;
}

// ---- Whose numbers an element is given: y, of 4.1 and of 4.2 ----

/// Runs of neighbours, each with the numbers of its first element's channel.
common::Mistake<Hooks> runs_across_channels() {
  common::Mistake<Hooks> mistake{"run-across-channels", {}};
  for (std::int64_t run : {8, 4, 2}) {
    for (bool statistics_too : {true, false}) {
      mistake.ways.push_back(
          {"Neighbouring elements were given the numbers of the first one's channel, where a "
           "run of them reaches into the next channel too: a run has one channel only if its "
           "length divides space.",
           {.channel =
                [run](const Inputs& in, auto c, auto j) {
                  const auto place =
                      (j / in.space() * in.channels() + c) * in.space() + j % in.space();
                  return place / run * run / in.space() % in.channels();
                },
            .batch_statistics_too = statistics_too}});
    }
  }
  return mistake;
}

Table channel_mistakes() {
  return {runs_across_channels(),
          {"position-ignored",
           {{"Every element was given what belongs to channel 0: find its channel.",
             {.channel = [](const Inputs&, auto, auto) { return 0; }}}}},
          {"weight-by-row",
           {{"Each element was given what belongs to the channel of its sample's number: x is "
             "[batch, channels, space].",
             {.channel = [](const Inputs& in, auto, auto j) { return j / in.space(); }}}}},
          {"transposed-index",
           {{"The channel was taken for what is left over by channels, as if it were the last "
             "dimension: divide by space first.",
             {.channel =
                  [](const Inputs& in, auto c, auto j) {
                    const auto plane = j / in.space() * in.channels() + c;
                    return (plane * in.space() + j % in.space()) % in.channels();
                  }}},
            {"The channel was taken for what is left over by space: that is the position within "
             "the channel.",
             {.channel = [](const Inputs& in, auto, auto j) { return j % in.space(); }}}}}};
}

// ---- What the statistics are of: 4.1 ----

/// The statistics of some of the elements, divided by their number.
Hooks statistics_of(bool (*counted)(std::int64_t j, std::int64_t space)) {
  return {.norm = [counted](const Inputs& in) {
    const auto is_one = [counted, space = in.space()](auto j, auto) { return counted(j, space); };
    double number = 0.0;
    for (std::int64_t j = 0; j < in.count(); ++j) {
      number += is_one(j, in.count()) ? 1.0 : 0.0;
    }
    ForwardHooks hooks = common::divided_by([number](const Row&) { return number; }, Of::both);
    hooks.sum = hooks.sum_of_squares = common::sum_of(is_one);
    return hooks;
  }};
}

/// The squares of each sample's distances from its own mean. x: [channels, count].
Hooks squares_within_samples() {
  return {.norm = [](const Inputs& in) {
    ForwardHooks hooks;
    hooks.square = [](const common::Element& e) { return e.x; };
    hooks.sum_of_squares = [space = in.space()](verdict::Dtype, const Field& x) {
      Field sums(x.rows, 1);
      for (std::int64_t c = 0; c < x.rows; ++c) {
        for (std::int64_t first = 0; first < x.cols; first += space) {
          const Field sample =
              verdict::field_of(1, space, [&](auto, auto s) { return x(c, first + s); });
          const double mean = common::row_means(sample)(0, 0);
          for (const double value : sample.values) {
            sums(c, 0) += (value - mean) * (value - mean);
          }
        }
      }
      return std::optional(sums);
    };
    return hooks;
  }};
}

/// Sums divided by something else than the count.
Hooks divided_by(std::int64_t (*divisor)(const Inputs& in)) {
  return {.norm = [divisor](const Inputs& in) {
    const auto by = static_cast<double>(divisor(in));
    return common::divided_by([by](const Row&) { return by; }, Of::both);
  }};
}

/// Element j of channel c is looked for at that place of the tensor.
Hooks misplaced(std::int64_t (*place)(const Inputs& in, std::int64_t c, std::int64_t j)) {
  return {.summed = [place](const Inputs& in) {
    const Field tensor = as_tensor(in.x, in.batch);
    return verdict::field_of(in.channels(), in.count(), [&](auto c, auto j) {
      return tensor.values[static_cast<std::size_t>(place(in, c, j))];
    });
  }};
}

Table statistics_mistakes() {
  return {
      {"one-sample-only",
       {{"These are the statistics of the first sample only: a channel has elements in all "
         "samples.",
         statistics_of([](auto j, auto space) { return j < space; })},
        {"These are the statistics of each sample's first position only: all positions count.",
         statistics_of([](auto j, auto space) { return j % space == 0; })}}},
      {"welford-counts",
       {{"The variance is the mean of the samples' own variances: how far their means lie apart "
         "belongs to it too.",
         squares_within_samples()}}},
      {"unbiased-variance",
       {{"The batch was normalised with the variance divided by count - 1: that one is for the "
         "running variance, here it is divided by count.",
         in_norm({.rstd =
                      [](const Row& r) {
                        return 1.0 / std::sqrt(r.squares / (r.cols - 1.0) + r.eps);
                      }})}}},
      {"sum-not-mean",
       {{"The sum was divided by batch: divide by batch * space.",
         divided_by([](const Inputs& in) { return in.batch; })},
        {"The sum was divided by space: divide by batch * space.",
         divided_by([](const Inputs& in) { return in.space(); })}}},
      {"integer-division",
       {{"The mean came out as 0: count divides an integer, or nothing was added up.",
         in_norm({.mean = [](const Row&) { return 0.0; }})}}},
      {"transposed-index",
       {{"The elements were looked for as if x were [channels, batch, space]: it is [batch, "
         "channels, space].",
         misplaced([](const Inputs& in, auto c, auto j) { return c * in.count() + j; })},
        {"The elements were looked for as if the channel were the last dimension: x is [batch, "
         "channels, space].",
         misplaced([](const Inputs& in, auto c, auto j) { return j * in.channels() + c; })}}}};
}

// ---- Where the running statistics go: 4.1 ----

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

Table running_mistakes() {
  return {
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

// ---- Which statistics y is made with: 4.2 ----

std::optional<Statistics> swapped(const Inputs& in, const Hooks& hooks) {
  Inputs wrong = in;
  std::swap(wrong.running_mean, wrong.running_var);
  return running_statistics(wrong, hooks);
}

Table evaluation_mistakes() {
  return {{"batch-statistics-used",
           {{"y was normalised with the batch's own mean and variance: evaluation uses the running "
             "ones.",
             {.made_with = batch_statistics}}}},
          {"statistics-swapped",
           {{"The running mean and the running variance have changed places.",
             {.made_with = swapped}}}},
          {"no-reciprocal",
           {{"x - mean was multiplied by the variance: divide by the root of it and eps.",
             in_norm({.rstd = [](const Row& r) { return r.variance; }})}}}};
}

}  // namespace

std::vector<verdict::Oracle> forward_mistakes() {
  return common::oracles<Hooks>(
      joined<Hooks>({placed(common::variance_about_0(), in_norm), statistics_mistakes(),
                     placed(common::scaling_mistakes(words()), in_norm), running_mistakes(),
                     channel_mistakes(), placed(common::statistics_mistakes(words()), in_norm)}),
      output_of);
}

std::vector<verdict::Oracle> evaluate_mistakes() {
  return common::oracles<Hooks>(
      joined<Hooks>({evaluation_mistakes(), placed(common::scaling_mistakes(words()), in_norm),
                     channel_mistakes()}),
      output_of);
}

}  // namespace onepass::batchnorm
