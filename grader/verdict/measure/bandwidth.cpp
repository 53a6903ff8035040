#include "verdict/measure/bandwidth.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "verdict/measure/verify_sample.h"
#include "verdict/values/random.h"

namespace onepass::verdict {
namespace {

constexpr int kSets = 2;                // buffers that take turns
constexpr int kWarmup = 3;              // calls
constexpr int kTurn = 5;                // calls
constexpr std::size_t kLeast = 10;      // samples of each
constexpr double kTurnLimit = 60.0;     // seconds
constexpr std::int64_t kCopyUnit = 16;  // bytes that a thread copies
constexpr double kTimeLimit = 10.0;     // seconds of sampling, all contestants together
constexpr double kKnownWell = 0.005;    // the relative error of each median
constexpr double kAboveCopy = 1.02;  // what is so much faster than a copy was not measured rightly

struct Sampled {
  std::vector<double> milliseconds;
  std::uint64_t generation = 0;
};

struct NotMeasured : std::runtime_error {
  NotMeasured(const Contestant& to_blame, const std::string& error)
      : std::runtime_error(to_blame.name + ": " +
                           (error.empty() ? "the timed calls failed" : error)) {}
};

/// One turn of one contestant.
void take_turn(const Contestant& contestant, int count, int warmup, Sampled& sampled) {
  const wire::Sampled calls = contestant.worker->sample(count, warmup, kTurnLimit);
  if (calls.ending.outcome != Outcome::ok || std::ssize(calls.ms) != count) {
    throw NotMeasured(contestant, calls.ending.error);
  }
  sampled.milliseconds.insert(sampled.milliseconds.end(), calls.ms.begin(), calls.ms.end());
  sampled.generation = calls.generation;
}

double largest_error(const std::vector<Sampled>& samples) {
  double largest = 0.0;
  for (const Sampled& sampled : samples) {
    largest = std::max(largest, statistics_of(sampled.milliseconds).relative_error);
  }
  return largest;
}

/// Turns until all medians are known well, or time is up.
std::vector<Sampled> sample_all(const std::vector<Contestant>& contestants) {
  std::vector<Sampled> samples(contestants.size());
  const process::Clock::time_point deadline = process::after(kTimeLimit);
  int warmup = kWarmup;
  do {
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      take_turn(contestants[i], kTurn, warmup, samples[i]);
    }
    warmup = 0;
  } while (samples[0].milliseconds.size() < kLeast ||
           (largest_error(samples) > kKnownWell && process::Clock::now() < deadline));
  return samples;
}

std::string note_on(const Bandwidth& result, bool fits_in_l2, double error) {
  const auto copy = std::find_if(result.timings.begin(), result.timings.end(),
                                 [](const Timing& timing) { return timing.name == "copy"; });
  if (fits_in_l2) {
    return "the data fits in the L2 cache: this is not the bandwidth of the memory";
  }
  if (copy != result.timings.end() &&
      result.timings[0].gigabytes_per_second > kAboveCopy * copy->gigabytes_per_second) {
    return "faster than a copy of as many bytes: not a valid measurement";
  }
  if (error > kKnownWell) {
    return fmt::format("noisy: the medians are known to {:.1f} % only", 100.0 * error);
  }
  return "";
}

Bandwidth measure_all(const std::vector<Contestant>& contestants, const Measurement& measurement,
                      std::int64_t least_bytes, std::int64_t l2_bytes, std::uint64_t seed) {
  for (const Contestant& contestant : contestants) {
    const Reply reply = contestant.worker->prepare(contestant.call, kSets, kTurnLimit);
    if (reply.outcome != Outcome::ok) {
      throw NotMeasured(contestant, reply.error);
    }
  }
  std::vector<Sampled> samples = sample_all(contestants);
  // The call that is looked at is the last of a turn of random length: nobody can know which.
  const int count = static_cast<int>(Random(seed).stream("last turn").integer(0, 1, 7));
  take_turn(contestants[0], count, 0, samples[0]);
  const std::string wrong = verify_sample(*contestants[0].worker, contestants[0].call,
                                          samples[0].generation, seed, measurement);
  if (!wrong.empty()) {
    throw NotMeasured(contestants[0], wrong);
  }
  Bandwidth result;
  for (std::size_t i = 0; i < contestants.size(); ++i) {
    const Statistics statistics = statistics_of(samples[i].milliseconds);
    const double seconds = statistics.median / 1000.0;
    result.timings.push_back(
        {contestants[i].name, statistics, static_cast<double>(least_bytes) / seconds / 1e9});
  }
  result.note = note_on(result, least_bytes <= l2_bytes, largest_error(samples));
  return result;
}

}  // namespace

Case copy_call(std::int64_t bytes) {
  const std::int64_t half = bytes / 2 / kCopyUnit * kCopyUnit;
  const std::int64_t words = half / static_cast<std::int64_t>(size_of(Dtype::fp32));
  Case call("copy");
  call.integer("bytes", half);
  call.add({.name = "src", .rows = 1, .cols = words, .hash = HashFill{}});
  call.add({.name = "dst", .role = Role::output, .rows = 1, .cols = words});
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
                            const Measurement& measurement, std::int64_t least_bytes,
                            std::int64_t l2_bytes, std::uint64_t seed) {
  Bandwidth result;
  try {
    result = measure_all(contestants, measurement, least_bytes, l2_bytes, seed);
  } catch (const NotMeasured& fault) {
    result.error = fault.what();
  }
  for (const Contestant& contestant : contestants) {
    contestant.worker->release(kTurnLimit);
  }
  return result;
}

}  // namespace onepass::verdict
