#include "verdict/measure/measure_exercise.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "verdict/contract/call.h"
#include "verdict/measure/bandwidth.h"
#include "verdict/measure/explain_line.h"
#include "verdict/session/judge.h"
#include "verdict/session/shapes.h"
#include "verdict/traffic.h"
#include "wire/json.h"

namespace onepass::verdict {
namespace {

using nlohmann::json;

constexpr double kTrafficLimit = 60.0;                          // seconds for a launch
constexpr std::int64_t kMostSimulated = std::int64_t{1} << 24;  // elements: more takes minutes

/// message: of "measurement_failed" or "skipped".
json event_of(const char* kind, const Exercise& exercise, const RowsByCols& shape,
              const std::string& message = "") {
  json event = {{"event", kind},
                {"exercise", exercise.id},
                {"rows", shape.rows},
                {"cols", shape.cols},
                {"dtype", shape.dtype}};
  if (!message.empty()) {
    event["message"] = message;
  }
  return event;
}

json bandwidth_event(const Exercise& exercise, const RowsByCols& shape, std::int64_t bytes,
                     const Bandwidth& result) {
  json event = event_of("bandwidth", exercise, shape);
  event["bytes"] = bytes;
  for (const char* who : {"naive", "student", "copy", "reference"}) {
    event[std::string(who) + "_gbs"] = event[std::string(who) + "_ms"] = nullptr;
  }
  for (const Timing& timing : result.timings) {
    const Statistics& ms = timing.milliseconds;
    event[timing.name + "_gbs"] = timing.gigabytes_per_second;
    event[timing.name + "_ms"] = {{"median", ms.median}, {"p20", ms.p20}, {"p80", ms.p80}};
  }
  event["note"] = result.note;
  return event;
}

/// What each line wastes, in the order of the lines.
std::vector<std::optional<std::string>> advice_on(const Traffic& traffic) {
  std::int64_t wavefronts = 0;
  for (const LineTraffic& line : traffic.lines) {
    wavefronts += line.space == MemorySpace::shared ? line.units : 0;
  }
  std::vector<std::optional<std::string>> texts;
  for (const LineTraffic& line : traffic.lines) {
    texts.push_back(advice(line, traffic.requested_bytes / kSectorBytes, wavefronts));
  }
  return texts;
}

/// The student's lines, each with what it wastes, unless the solution has the same waste: that is a
/// line which the exercise gives, or nothing that a student is asked to do better.
json lines_of(const Traffic& student, const Traffic& reference) {
  const auto given = advice_on(reference);
  const auto texts = advice_on(student);
  json lines = json::array();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const LineTraffic& line = student.lines[i];
    const bool is_own = texts[i] && std::find(given.begin(), given.end(), texts[i]) == given.end();
    json told = line;
    for (const char* unused : {"type", "buffer", "lane_bytes", "lane_distance"}) {
      told.erase(unused);
    }
    told["action"] = action(line);
    told["advice"] = is_own ? json(*texts[i]) : json();
    lines.push_back(told);
  }
  return lines;
}

/// What is wrong with a call that was run on the simulator, as a sentence. Empty if nothing is.
std::string fault_of(const Case& call, const Run& run, std::uint64_t seed,
                     const Measurement& measurement) {
  for (const auto judge : {judge_ending, judge_memory}) {
    if (const std::optional<Failure> failure = judge(call, run, kNobodyAsked)) {
      return failure->message;
    }
  }
  return verify_answer(run.answer, call, seed, measurement);
}

/// One exercise's implementations, each in a process of its own, the student's first.
class Bench {
 public:
  Bench(const Exercise& exercise, const Implementations& implementations, Measured what,
        std::uint64_t seed)
      : exercise_(exercise),
        what_(what),
        seed_(seed),
        is_reference_(implementations.student == implementations.reference) {
    add("student", implementations.student);
    add("naive", implementations.naive);
    if (!is_reference_) {
      add("reference", implementations.reference);
    }
    // A copy is timed in a process that holds no student's code.
    const auto& trusted =
        implementations.naive.empty() ? implementations.reference : implementations.naive;
    if (!trusted.empty()) {
      copy_.emplace(trusted, device());
    }
    if (what == Measured::bandwidth) {
      for (Candidate& candidate : candidates_) {
        candidate.worker.begin();
      }
      if (copy_) {
        copy_->begin();
      }
    }
  }

  /// The event that tells what became of the shape.
  json measure(const Shape& shape) {
    json event = what_ == Measured::traffic ? traffic(shape) : bandwidth(shape);
    for (const char* figure : {"", "_gbs", "_ms"}) {
      const std::string student = std::string("student") + figure;
      if (is_reference_ && event.contains(student)) {
        event[std::string("reference") + figure] = event[student];
      }
    }
    return event;
  }

 private:
  struct Candidate {
    std::string name;
    WorkerClient worker;
  };

  void add(const char* name, const std::string& worker) {
    if (!worker.empty()) {
      candidates_.push_back({name, WorkerClient(worker, device())});
    }
  }

  const char* device() const { return what_ == Measured::traffic ? "cpu" : "gpu"; }

  std::int64_t least_bytes(const Shape& shape) const {
    return contract::least_bytes(*exercise_.measurement.function, shape.dtype, shape.sizes);
  }

  json traffic(const Shape& shape) {
    const RowsByCols table = shown(exercise_, shape);
    if (table.rows > kMostSimulated / table.cols) {
      return event_of(
          "skipped", exercise_, table,
          fmt::format("The simulator runs every thread, and {} is too much for it: take "
                      "fewer rows.",
                      name(table)));
    }
    const Case call = exercise_.measurement.make_case(shape, seed_);
    json event = event_of("traffic", exercise_, table);
    event["least_bytes"] = least_bytes(shape);
    event["naive"] = event["reference"] = nullptr;
    std::map<std::string, Traffic> counted;
    for (Candidate& candidate : candidates_) {
      const Run run = candidate.worker.run(call, {}, kTrafficLimit, true);
      const std::string fault = candidate.name == "student"
                                    ? fault_of(call, run, seed_, exercise_.measurement)
                                    : run.error;
      if (!fault.empty() || run.outcome != Outcome::ok) {
        return event_of("measurement_failed", exercise_, table, candidate.name + ": " + fault);
      }
      const Traffic& traffic = counted[candidate.name] = traffic_of(run);
      event[candidate.name] = {{"requested_bytes", traffic.requested_bytes},
                               {"distinct_bytes", traffic.distinct_bytes}};
    }
    event["lines"] = lines_of(counted["student"], counted[is_reference_ ? "student" : "reference"]);
    return event;
  }

  json bandwidth(const Shape& shape) {
    const RowsByCols table = shown(exercise_, shape);
    const std::int64_t bytes = least_bytes(shape);
    const Case call = exercise_.measurement.make_case(shape, seed_);
    std::vector<Contestant> contestants;
    for (Candidate& candidate : candidates_) {
      contestants.push_back({candidate.name, &candidate.worker, call});
    }
    wire::DeviceFacts device;
    if (copy_) {
      contestants.push_back({"copy", &*copy_, copy_call(bytes)});
      copy_->hello();  // of the trusted ones: what the device says of itself
      device = copy_->device();
    }
    const double needed = memory_needed(contestants);
    const double memory = kUsableMemory * static_cast<double>(device.memory_bytes);
    if (memory > 0.0 && needed > memory) {
      return event_of(
          "skipped", exercise_, table,
          fmt::format("{} takes {:.1f} GB to measure, and this GPU has room for {:.1f}.",
                      name(table), needed * 1e-9, memory * 1e-9));
    }
    const Bandwidth result = measure_bandwidth(contestants, exercise_.measurement, bytes,
                                               static_cast<std::int64_t>(device.l2_bytes), seed_);
    return result.error.empty() ? bandwidth_event(exercise_, table, bytes, result)
                                : event_of("measurement_failed", exercise_, table, result.error);
  }

  const Exercise& exercise_;
  Measured what_;
  std::uint64_t seed_;
  bool is_reference_;  // the student's is the solution itself, and is not measured twice
  std::vector<Candidate> candidates_;
  std::optional<WorkerClient> copy_;
};

}  // namespace

void measure(const Exercise& exercise, const Implementations& implementations, Measured what,
             std::uint64_t seed, const std::vector<RowsByCols>& shapes, Events& events) {
  Bench bench(exercise, implementations, what, seed);
  for (const RowsByCols& shape : shapes) {
    const auto reason = objection(exercise, shape);
    events.write(reason ? event_of("skipped", exercise, shape, *reason)
                        : bench.measure(shape_of(exercise, shape)));
  }
  if (!shapes.empty()) {
    return;
  }
  const Measurement& own = exercise.measurement;
  for (const Shape& shape : what == Measured::traffic ? own.traffic : own.bandwidth) {
    const json event = bench.measure(shape);
    events.write(event);
    if (event.at("event") == "measurement_failed") {
      return;
    }
  }
}

}  // namespace onepass::verdict
