// Exercise 4.1: what the outputs would be where the sums over a channel go wrong: added up in 16
// bits, over too much, over the wrong elements, or known to some threads only.
#include <cmath>
#include <optional>

#include "chapters/batchnorm/mistakes.h"
#include "chapters/batchnorm/wrong_outputs.h"
#include "chapters/common/misread.h"
#include "chapters/common/sixteen_bit_sums.h"
#include "chapters/common/thread_sums.h"

namespace onepass::batchnorm {

using common::map;
using common::rounded;
using common::SixteenBitSum;
using common::sum_in;
using common::ThreadSums;
using verdict::Oracle;

namespace {

Field divided(Field sums, const Inputs& in) {
  return map(std::move(sums), [&](double sum) { return sum / static_cast<double>(in.count()); });
}

/// (x - mean)^2, [channels, count].
Field squared_distances(const Inputs& in, const Field& mean) {
  Field squares = in.x;
  for (std::int64_t c = 0; c < squares.rows; ++c) {
    for (std::int64_t j = 0; j < squares.cols; ++j) {
      squares(c, j) = (in.x(c, j) - mean(c, 0)) * (in.x(c, j) - mean(c, 0));
    }
  }
  return squares;
}

/// A mistake in 16 bits, which fp32 tensors cannot show.
Oracle in_sixteen_bits(const char* mistake, const char* sentence,
                       std::function<Statistics(const Inputs&, Dtype)> statistics, double slack) {
  return wrong_forward(
      mistake, sentence,
      [statistics](const Inputs& in, Dtype dtype) -> std::optional<Forward> {
        return dtype == Dtype::fp32 ? std::nullopt
                                    : std::optional(forward_with(in, statistics(in, dtype)));
      },
      slack);
}

void append_sixteen_bit_mistakes(std::vector<Oracle>& all) {
  all.push_back(in_sixteen_bits(
      "half-square-overflow",
      "The squares were rounded to the 16-bit type, and in fp16 whatever is above 255 squares to "
      "infinity: convert to float first, then square.",
      [](const Inputs& in, Dtype dtype) {
        const Field mean = means(in.x);
        return Statistics{mean, means(rounded(dtype, squared_distances(in, mean)))};
      },
      4.0));
  for (SixteenBitSum how : common::sixteen_bit_sums()) {
    all.push_back(in_sixteen_bits(
        "half-accumulation",
        "The mean is what adding up in the 16-bit type gives: convert each element to float and "
        "add in float.",
        [how](const Inputs& in, Dtype dtype) {
          const Field mean = divided(sum_in(dtype, in.x, how), in);
          return Statistics{mean, biased_variances(in.x, mean)};
        },
        verdict::kSixteenBitSlack));
    all.push_back(in_sixteen_bits(
        "half-accumulation",
        "The variance is what adding up the squares in the 16-bit type gives: add in float.",
        [how](const Inputs& in, Dtype dtype) {
          const Field mean = means(in.x);
          return Statistics{mean, divided(sum_in(dtype, squared_distances(in, mean), how), in)};
        },
        verdict::kSixteenBitSlack));
  }
}

/// A mistake in the variance, about the right mean.
Oracle wrong_variance(const char* mistake, const char* sentence,
                      std::function<double(const Inputs&, double mean, double variance)> f) {
  return wrong_statistics(mistake, sentence, [f](const Inputs& in) -> std::optional<Statistics> {
    Statistics wrong{means(in.x), {}};
    wrong.variance = biased_variances(in.x, wrong.mean);
    for (std::int64_t c = 0; c < in.channels(); ++c) {
      wrong.variance(c, 0) = f(in, wrong.mean(c, 0), wrong.variance(c, 0));
    }
    return wrong;
  });
}

/// Threads of a block that have no element of a channel, in its last round.
double surplus(const Inputs& in, std::int64_t threads) {
  return static_cast<double>((threads - in.count() % threads) % threads);
}

void append_surplus_mistakes(std::vector<Oracle>& all) {
  all.push_back(wrong_variance(
      "sum-not-mean", "The sum of the squares was not divided: divide by batch * space.",
      [](const Inputs& in, double, double v) { return v * static_cast<double>(in.count()); }));
  all.push_back(wrong_variance(
      "integer-division",
      "The variance came out as 0: 1 / count is a division of integers. Divide a float.",
      [](const Inputs&, double, double) { return 0.0; }));
  all.push_back(wrong_statistics(
      "integer-division",
      "The mean came out as 0: 1 / count is a division of integers. Divide a float.",
      [](const Inputs& in) -> std::optional<Statistics> {
        const Field zero(in.channels(), 1);
        return Statistics{zero, biased_variances(in.x, zero)};
      }));
  for (std::int64_t threads : {1024, 256, 512, 128, 64, 32}) {
    all.push_back(wrong_variance(
        "masked-lanes-in-variance",
        "What is past the end of the channel entered the variance, as (0 - mean)^2: only elements "
        "that exist may add to it.",
        [threads](const Inputs& in, double mean, double v) {
          return v + surplus(in, threads) * mean * mean / static_cast<double>(in.count());
        }));
    for (bool last : {true, false}) {
      all.push_back(wrong_statistics(
          "wrong-when-narrow",
          "Threads that have no element of the channel add something too: their share must be 0.",
          [=](const Inputs& in) -> std::optional<Statistics> {
            Field mean = means(in.x);
            for (std::int64_t c = 0; c < mean.rows; ++c) {
              const double value = in.x(c, last ? in.count() - 1 : 0);
              mean(c, 0) += surplus(in, threads) * value / static_cast<double>(in.count());
            }
            return Statistics{mean, biased_variances(in.x, mean)};
          }));
    }
  }
}

/// Statistics of elements of which number j of channel c is taken from that place of the tensor.
Oracle misplaced(const char* sentence,
                 std::function<std::int64_t(const Inputs&, std::int64_t c, std::int64_t j)> place) {
  return wrong_statistics(
      "transposed-index", sentence, [place](const Inputs& in) -> std::optional<Statistics> {
        const Field tensor = as_tensor(in.x, in.batch);
        Field taken = in.x;
        for (std::int64_t c = 0; c < taken.rows; ++c) {
          for (std::int64_t j = 0; j < taken.cols; ++j) {
            taken(c, j) = tensor.values[static_cast<std::size_t>(place(in, c, j))];
          }
        }
        const Field mean = means(taken);
        return Statistics{mean, biased_variances(taken, mean)};
      });
}

/// What each thread takes for the mean over the channel; terms(j, thread) are those it adds up.
template <typename Terms>
std::vector<double> means_held(const ThreadSums& sums, std::int64_t pack, std::int64_t count,
                               Terms terms) {
  std::vector<double> shares(static_cast<std::size_t>(sums.threads), 0.0);
  for (std::int64_t j = 0; j < count; ++j) {
    const auto thread = static_cast<std::size_t>(j / pack % sums.threads);
    shares[thread] += terms(j, thread);
  }
  std::vector<double> held = sums.reduce(shares);
  for (double& mean : held) {
    mean /= static_cast<double>(count);
  }
  return held;
}

/// All of a channel's threads go on with what they hold; thread 0 saves.
Forward held_by_threads(const Inputs& in, const ThreadSums& sums, std::int64_t pack) {
  Statistics saved{Field(in.channels(), 1), Field(in.channels(), 1)};
  Field y = in.x;
  for (std::int64_t c = 0; c < in.channels(); ++c) {
    const auto mean =
        means_held(sums, pack, in.count(), [&](std::int64_t j, std::size_t) { return in.x(c, j); });
    const auto variance =
        means_held(sums, pack, in.count(), [&](std::int64_t j, std::size_t thread) {
          return (in.x(c, j) - mean[thread]) * (in.x(c, j) - mean[thread]);
        });
    saved.mean(c, 0) = mean[0];
    saved.variance(c, 0) = variance[0];
    for (std::int64_t j = 0; j < in.count(); ++j) {
      const auto thread = static_cast<std::size_t>(j / pack % sums.threads);
      y(c, j) =
          (in.x(c, j) - mean[thread]) / std::sqrt(variance[thread] + in.eps) * in.weight(c, 0) +
          in.bias(c, 0);
    }
  }
  Forward out = forward_with(in, saved);
  out.y = y;
  return out;
}

void append_thread_mistakes(std::vector<Oracle>& all) {
  for (const ThreadSums& sums : common::thread_sums()) {
    for (bool packs : {false, true}) {
      all.push_back(wrong_forward(
          sums.mistake, sums.sentence,
          [=](const Inputs& in, Dtype dtype) -> std::optional<Forward> {
            const auto pack = packs ? static_cast<std::int64_t>(16 / verdict::size_of(dtype)) : 1;
            if (in.count() / in.batch % pack != 0) {
              return std::nullopt;
            }
            return held_by_threads(in, sums, pack);
          }));
    }
  }
}

}  // namespace

void append_sum_mistakes(std::vector<Oracle>& all) {
  append_sixteen_bit_mistakes(all);
  append_surplus_mistakes(all);
  all.push_back(misplaced(
      "The elements were looked for as if x were [channels, batch, space]: it is [batch, channels, "
      "space].",
      [](const Inputs& in, std::int64_t c, std::int64_t j) { return c * in.count() + j; }));
  all.push_back(misplaced(
      "The elements were looked for as if the channel were the last dimension: x is [batch, "
      "channels, space].",
      [](const Inputs& in, std::int64_t c, std::int64_t j) { return j * in.channels() + c; }));
  append_thread_mistakes(all);
}

}  // namespace onepass::batchnorm
