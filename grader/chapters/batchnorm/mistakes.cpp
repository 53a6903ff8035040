// Chapter 4: what the outputs would be with one mistake.
#include "chapters/batchnorm/mistakes.h"

#include <algorithm>
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

/// Where element j of channel c is looked for in the tensor.
using PlaceOf = std::int64_t (*)(const Inputs& in, std::int64_t c, std::int64_t j);

std::int64_t channels_first(const Inputs& in, std::int64_t c, std::int64_t j) {
  return c * in.count() + j;
}
std::int64_t channels_last(const Inputs& in, std::int64_t c, std::int64_t j) {
  return j * in.channels() + c;
}
std::int64_t without_channel(const Inputs&, std::int64_t, std::int64_t j) {
  return j;
}

std::function<Field(const Inputs&)> taken_from(PlaceOf place) {
  return [place](const Inputs& in) {
    const Field tensor = as_tensor(in.x, in.batch);
    return verdict::field_of(in.channels(), in.count(), [&](auto c, auto j) {
      return tensor.values[static_cast<std::size_t>(place(in, c, j))];
    });
  };
}

/// In the sums, or for y.
std::vector<common::Way<Hooks>> misplaced(const std::string& sentence, PlaceOf place) {
  return {
      {"The elements that are summed were looked for " + sentence, {.summed = taken_from(place)}},
      {"The elements that y is made of were looked for " + sentence,
       {.scaled = taken_from(place)}}};
}

common::Mistake<Hooks> misplaced_elements() {
  common::Mistake<Hooks> mistake{"transposed-index", {}};
  const std::pair<const char*, PlaceOf> places[] = {
      {"as if x were [channels, batch, space]: it is [batch, channels, space].", channels_first},
      {"as if the channel were the last dimension: x is [batch, channels, space].", channels_last}};
  for (const auto& [sentence, place] : places) {
    const auto ways = misplaced(sentence, place);
    mistake.ways.insert(mistake.ways.end(), ways.begin(), ways.end());
  }
  return mistake;
}

/// Beside such running means the batch's own has no digits left: whoever takes one from the other
/// is left with a mean of 0.
bool is_dwarfed(const Inputs& in) {
  constexpr double kDigits = 1 << 20;
  const auto largest = [](const Field& field) {
    double most = 0.0;
    for (const double value : field.values) {
      most = std::max(most, std::abs(value));
    }
    return most;
  };
  return largest(in.running_mean) > kDigits * largest(in.x);
}

std::optional<Case> with_usual_running_mean(const Case& call) {
  std::vector<verdict::Buffer> buffers = call.buffers();
  for (verdict::Buffer& buffer : buffers) {
    if (buffer.name == "running_mean") {
      buffer.hash.reset();
      buffer.values = Matrix::rounded(buffer.dtype, row_means(inputs_of(call).x));
    }
  }
  return call.with(std::move(buffers));
}

common::Mistake<Hooks> one_pass_about_running_mean() {
  common::Mistake<Hooks> mistake{"one-pass-variance", {}};
  for (const std::int64_t threads : common::kThreadsOfOnePass) {
    mistake.ways.push_back(
        {"The variance lost its digits, as E[(x - s)^2] - E[x - s]^2 does where s is far from the "
         "mean, here with the running mean for s: with one that is the batch's mean the same call "
         "is right. Find the mean first and then add up (x - mean)^2, or use Welford's method.",
         {.norm =
              [threads](const Inputs& in) {
                return common::in_one_pass_about(in.running_mean, threads);
              }},
         {common::kCancellationSlack, with_usual_running_mean, nullptr, true}});
  }
  return mistake;
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
         {.norm =
              [](const Inputs& in) {
                return is_dwarfed(in) ? ForwardHooks{}
                                      : ForwardHooks{.mean = [](const Row&) { return 0.0; }};
              }}}}},
      misplaced_elements(),
      {"position-ignored", misplaced("at x[j], whatever the channel: x is [batch, channels, "
                                     "space], and c belongs in the index.",
                                     without_channel)},
      one_pass_about_running_mean()};
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
                     slice_mistakes(), placed(common::scaling_mistakes(words()), in_norm),
                     running_mistakes(), channel_mistakes(),
                     placed(common::statistics_mistakes(words()), in_norm)}),
      output_of);
}

std::vector<verdict::Oracle> evaluate_mistakes() {
  return common::oracles<Hooks>(
      joined<Hooks>({evaluation_mistakes(), placed(common::scaling_mistakes(words()), in_norm),
                     channel_mistakes()}),
      output_of);
}

}  // namespace onepass::batchnorm
