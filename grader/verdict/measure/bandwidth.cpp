#include "verdict/measure/bandwidth.h"

#include <fmt/format.h>

#include <algorithm>

#include "verdict/values/random.h"

namespace onepass::verdict {
namespace {

constexpr int kSets = 2;                // buffers that take turns
constexpr int kWarmup = 3;              // calls
constexpr int kTurn = 5;                // calls
constexpr std::size_t kLeast = 10;      // samples of each
constexpr double kTurnLimit = 60.0;     // seconds
constexpr std::int64_t kCopyUnit = 16;  // bytes that a thread copies
constexpr double kAboveCopy = 1.02;  // what is so much faster than a copy was not measured rightly

struct Sampled {
  std::vector<double> milliseconds;
  std::uint64_t generation = 0;
};

std::string blame(const Contestant& contestant, const std::string& error) {
  return fmt::format("{}: {}", contestant.name, error.empty() ? "the timed calls failed" : error);
}

/// Buffers for all. Empty, or what went wrong.
std::string prepare_all(const std::vector<Contestant>& contestants) {
  for (const Contestant& contestant : contestants) {
    const Reply reply = contestant.worker->prepare(contestant.call, kSets, kTurnLimit);
    if (reply.outcome != Outcome::ok) {
      return blame(contestant, reply.error);
    }
  }
  return "";
}

/// One turn of one contestant. Empty, or what went wrong.
std::string take_turn(const Contestant& contestant, int count, int warmup, Sampled& sampled) {
  const TimedCalls calls = contestant.worker->sample(count, warmup, kTurnLimit);
  if (calls.outcome != Outcome::ok ||
      calls.milliseconds.size() != static_cast<std::size_t>(count)) {
    return blame(contestant, calls.error);
  }
  sampled.milliseconds.insert(sampled.milliseconds.end(), calls.milliseconds.begin(),
                              calls.milliseconds.end());
  sampled.generation = calls.generation;
  return "";
}

double largest_error(const std::vector<Sampled>& samples) {
  double largest = 0.0;
  for (const Sampled& sampled : samples) {
    largest = std::max(largest, statistics_of(sampled.milliseconds).relative_error);
  }
  return largest;
}

/// Turns until all medians are known well, or time is up. Empty, or what went wrong.
std::string sample_all(const std::vector<Contestant>& contestants,
                       const BandwidthSettings& settings, std::vector<Sampled>& samples) {
  const process::Clock::time_point deadline = process::after(settings.time_limit);
  for (int turn = 0;; ++turn) {
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      const std::string error =
          take_turn(contestants[i], kTurn, turn == 0 ? kWarmup : 0, samples[i]);
      if (!error.empty()) {
        return error;
      }
    }
    const bool enough = samples[0].milliseconds.size() >= kLeast;
    if (enough &&
        (largest_error(samples) <= settings.relative_error || process::Clock::now() >= deadline)) {
      return "";
    }
  }
}

std::string note_on(const Bandwidth& result, const BandwidthSettings& settings,
                    std::int64_t l2_bytes, double error) {
  const auto copy = std::find_if(result.timings.begin(), result.timings.end(),
                                 [](const Timing& timing) { return timing.name == "copy"; });
  if (settings.least_bytes <= l2_bytes) {
    return "the data fits in the L2 cache: this is not the bandwidth of the memory";
  }
  if (copy != result.timings.end() &&
      result.timings[0].gigabytes_per_second > kAboveCopy * copy->gigabytes_per_second) {
    return "faster than a copy of as many bytes: not a valid measurement";
  }
  if (error > settings.relative_error) {
    return fmt::format("noisy: the medians are known to {:.1f} % only", 100.0 * error);
  }
  return "";
}

}  // namespace

Case copy_call(std::int64_t bytes) {
  const std::int64_t half = bytes / 2 / kCopyUnit * kCopyUnit;
  const std::int64_t words = half / static_cast<std::int64_t>(size_of(Dtype::fp32));
  Case call("copy");
  call.integer("bytes", half);
  call.input("src", Dtype::fp32, 1, words, HashFill{}).output("dst", Dtype::fp32, 1, words);
  return call;
}

double memory_needed(const std::vector<Contestant>& contestants) {
  double bytes = 0.0;
  for (const Contestant& contestant : contestants) {
    bytes += kSets * static_cast<double>(contestant.call.span_bytes());
  }
  return bytes;
}

Bandwidth measure_bandwidth(const std::vector<Contestant>& contestants,
                            const BandwidthSettings& settings, std::int64_t l2_bytes,
                            const Verify& verify) {
  Bandwidth result;
  std::vector<Sampled> samples(contestants.size());
  result.error = prepare_all(contestants);
  if (result.error.empty()) {
    result.error = sample_all(contestants, settings, samples);
  }
  if (result.error.empty()) {
    // The call that is looked at is the last of a turn of random length: nobody can know which.
    const int count = static_cast<int>(Random(settings.seed).stream("last turn").integer(0, 1, 7));
    result.error = take_turn(contestants[0], count, 0, samples[0]);
  }
  if (result.error.empty()) {
    const std::string wrong = verify_sample(*contestants[0].worker, contestants[0].call,
                                            samples[0].generation, settings.seed, verify);
    result.error = wrong.empty() ? "" : blame(contestants[0], wrong);
  }
  for (std::size_t i = 0; i < contestants.size() && result.error.empty(); ++i) {
    const Statistics statistics = statistics_of(samples[i].milliseconds);
    const double seconds = statistics.median / 1000.0;
    result.timings.push_back({contestants[i].name, statistics,
                              static_cast<double>(settings.least_bytes) / seconds / 1e9});
  }
  if (result.error.empty()) {
    result.note = note_on(result, settings, l2_bytes, largest_error(samples));
  }
  for (const Contestant& contestant : contestants) {
    contestant.worker->release(kTurnLimit);
  }
  return result;
}

}  // namespace onepass::verdict
