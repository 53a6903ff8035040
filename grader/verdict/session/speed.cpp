#include "verdict/session/speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "verdict/contract/call.h"
#include "verdict/measure/bandwidth.h"
#include "verdict/measure/verify_sample.h"
#include "verdict/session/chapter.h"
#include "verdict/session/explain_finding.h"
#include "verdict/session/session.h"
#include "verdict/traffic.h"
#include "verdict/worker/worker_client.h"

namespace onepass::verdict {
namespace {

constexpr double kLarge = 0.25;  // of the largest tensor
constexpr int kTimesL2 = 2;      // what is not larger may stay in the cache

// Time has no causes. The simulator has, of the same call.
constexpr const char* kNextStepInTime =
    "graded with --device cpu this check names what is asked for too often, and nvcc what is "
    "spilled. Where neither is, keep more bytes on their way: more loads of a thread before the "
    "first is waited for, or more threads of a multiprocessor at one time.";

/// The sectors of the call's large tensors, each once: what has to be asked for.
std::map<Access, double> least_sectors(const Case& call) {
  std::map<Access, double> least;
  double largest = 0.0;
  for (const contract::Tensor& tensor : call.contract()->tensors) {
    if (tensor.is_data()) {
      const Buffer& buffer = call.buffer(tensor.name);
      const double bytes = static_cast<double>(buffer.rows * buffer.cols) *
                           static_cast<double>(size_of(buffer.dtype));
      if (tensor.role != Role::output) {
        least[{tensor.name, AccessType::read}] = bytes / kSectorBytes;
      }
      if (tensor.role != Role::input) {
        least[{tensor.name, AccessType::write}] = bytes / kSectorBytes;
      }
      largest = std::max(largest, bytes / kSectorBytes);
    }
  }
  std::erase_if(least, [&](const auto& one) { return one.second < kLarge * largest; });
  return least;
}

std::string how_often(double times) {
  const std::string number = fmt::format("{:.2g}", times);
  return number == "1" ? "once" : number == "2" ? "twice" : number + " times";
}

Speed traffic_over_least(const Case& call, const Traffic& traffic, double times_least) {
  const std::map<Access, double> least = least_sectors(call);
  std::map<Access, double> asked;
  double all_asked = 0.0;
  for (const LineTraffic& line : traffic.lines) {
    const double sectors = counted_sectors(call, line, least);
    asked[{line.buffer, line.type}] += sectors;
    all_asked += sectors;
  }
  double all_least = 0.0, read_least = 0.0;
  std::string words;
  for (const auto& [access, sectors] : least) {
    const bool is_read = access.second == AccessType::read;
    all_least += sectors;
    read_least += is_read ? sectors : 0.0;
    words += fmt::format("{} of {} {}{} {}", words.empty() ? "the sectors" : ", those",
                         access.first, words.empty() ? "were " : "", is_read ? "read" : "written",
                         how_often(asked[access] / sectors));
  }
  // What is more than each once is to be read.
  const double loads = 1.0 + (times_least - 1.0) * all_least / read_least;
  return {.call = call,
          .over_least = all_asked / (times_least * all_least),
          .in_words = words,
          .next = next_step(call, traffic, least, loads)};
}

/// The first shape that no cache holds.
const Shape& shape_to_time(const Measurement& measurement, std::int64_t l2_bytes) {
  const auto is_large = [&](const Shape& shape) {
    return contract::least_bytes(*measurement.function, shape.dtype, shape.sizes) >
           kTimesL2 * l2_bytes;
  };
  const auto large =
      std::find_if(measurement.bandwidth.begin(), measurement.bandwidth.end(), is_large);
  return large == measurement.bandwidth.end() ? measurement.bandwidth.back() : *large;
}

}  // namespace

Speed Session::speed_in_traffic() {
  const Measurement& measurement = *settings_.measurement;
  const Shape& shape = measurement.traffic.back();
  const Case call = measurement.make_case(shape, settings_.seed);
  std::set<Launched> others = std::exchange(check_.launches, {});
  const Run run = complete(call, {}, kNobodyAsked, true);
  launched_for_speed_ = check_.launches;
  check_.launches.merge(others);
  const std::string wrong = verify_answer(run.answer, call, settings_.seed, measurement);
  if (!wrong.empty()) {
    fail(call, {.message = wrong});
  }
  return traffic_over_least(call, traffic_of(run), shape.times_least);
}

/// Nothing where this GPU has too little memory.
std::optional<Speed> Session::speed_in_time() {
  const Measurement& measurement = *settings_.measurement;
  if (settings_.reference.empty()) {
    throw std::runtime_error("there is no trusted worker to time a copy with");
  }
  WorkerClient student(settings_.worker, settings_.device);
  WorkerClient trusted(settings_.reference, settings_.device);
  student.begin();
  trusted.hello();
  const auto l2_bytes = static_cast<std::int64_t>(trusted.device().l2_bytes);
  const Shape& shape = shape_to_time(measurement, l2_bytes);
  const std::int64_t bytes = contract::least_bytes(*measurement.function, shape.dtype, shape.sizes);
  const Case call = measurement.make_case(shape, settings_.seed);
  if (!can_hold(call)) {
    return std::nullopt;
  }
  if (settings_.on_call) {
    settings_.on_call();
  }
  const Bandwidth measured =
      measure_bandwidth({{"your kernel", &student, call}, {"copy", &trusted, copy_call(bytes)}},
                        measurement, bytes, l2_bytes, settings_.seed);
  if (!measured.error.empty()) {
    fail(call, {.message = measured.error});
  }
  const double own = measured.timings[0].gigabytes_per_second * shape.times_least;
  const double copy = measured.timings[1].gigabytes_per_second;
  return Speed{.call = call,
               .percent_of_copy = 100.0 * own / copy,
               .in_words = fmt::format("{:.0f} GB/s, a copy of as many bytes {:.0f}", own, copy),
               .next = {kNextStepInTime, std::nullopt}};
}

const std::optional<Speed>& Session::speed() {
  if (!speed_) {
    speed_ = device() == "gpu" ? speed_in_time() : speed_in_traffic();
  }
  return speed_;
}

void Session::forbid_spills() {
  for (Launched launch : launched_for_speed_) {
    launch.may_spill = false;
    check_.launches.insert(launch);
  }
}

}  // namespace onepass::verdict
