#include "verdict/session/measure_exercise.h"

#include <optional>

#include "verdict/measure/bandwidth.h"
#include "verdict/measure/explain_line.h"
#include "verdict/measure/traffic.h"

namespace onepass::verdict {
namespace {

using nlohmann::json;

constexpr double kTrafficLimit = 60.0;  // seconds

json event_of(const char* kind, const Exercise& exercise, const Shape& shape) {
  return {{"event", kind},
          {"exercise", exercise.id},
          {"rows", shape.rows},
          {"cols", shape.cols},
          {"dtype", name(shape.dtype)}};
}

json failed(const Exercise& exercise, const std::string& message) {
  return {{"event", "measurement_failed"}, {"exercise", exercise.id}, {"message", message}};
}

json figure_of(const std::vector<Timing>& timings, const std::string& name) {
  for (const Timing& timing : timings) {
    if (timing.name == name) {
      return timing.gigabytes_per_second;
    }
  }
  return nullptr;
}

json bandwidth_event(const Exercise& exercise, const Shape& shape, std::int64_t bytes,
                     const Bandwidth& result) {
  const Statistics& student = result.timings[0].milliseconds;
  json event = event_of("bandwidth", exercise, shape);
  event["bytes"] = bytes;
  for (const char* who : {"naive", "student", "copy", "reference"}) {
    event[std::string(who) + "_gbs"] = figure_of(result.timings, who);
  }
  event["student_ms"] = {{"median", student.median}, {"p20", student.p20}, {"p80", student.p80}};
  event["note"] = result.note;
  return event;
}

/// The student's lines, each with what it wastes, if it does.
json lines_of(const Traffic& traffic) {
  std::int64_t wavefronts = 0;
  for (const LineTraffic& line : traffic.lines) {
    wavefronts += line.is_shared ? line.units : 0;
  }
  json lines = json::array();
  for (const LineTraffic& line : traffic.lines) {
    const auto text = advice(line, traffic.requested_bytes / kSectorBytes, wavefronts);
    lines.push_back({{"file", line.file},
                     {"line", line.line},
                     {"action", action(line)},
                     {"space", line.is_shared ? "shared" : "global"},
                     {"requests", line.requests},
                     {"lanes", line.lanes},
                     {"bytes", line.bytes},
                     {"units", line.units},
                     {"least_units", line.least_units},
                     {"distinct_sectors", line.distinct_sectors},
                     {"advice", text ? json(*text) : json()}});
  }
  return lines;
}

}  // namespace

void measure_traffic(const Exercise& exercise, const Implementations& implementations,
                     std::uint64_t seed, Events& events) {
  struct Candidate {
    const char* name;
    WorkerClient worker;
  };
  std::vector<Candidate> candidates;
  candidates.push_back({"student", WorkerClient(implementations.student)});
  if (!implementations.naive.empty()) {
    candidates.push_back({"naive", WorkerClient(implementations.naive)});
  }
  if (!implementations.reference.empty()) {
    candidates.push_back({"reference", WorkerClient(implementations.reference)});
  }
  for (const Shape& shape : exercise.measurement.traffic) {
    const Case call = exercise.measurement.make_case(shape, seed);
    json event = event_of("traffic", exercise, shape);
    event["least_bytes"] = exercise.measurement.least_bytes(shape);
    event["naive"] = event["reference"] = nullptr;
    for (Candidate& candidate : candidates) {
      const Traffic traffic = measure_traffic(candidate.worker, call, kTrafficLimit);
      if (!traffic.error.empty()) {
        events.write(failed(exercise, std::string(candidate.name) + ": " + traffic.error));
        return;
      }
      event[candidate.name] = {{"requested_bytes", traffic.requested_bytes},
                               {"distinct_bytes", traffic.distinct_bytes}};
      if (candidate.name == std::string("student")) {
        event["lines"] = lines_of(traffic);
      }
    }
    events.write(event);
  }
}

void measure_bandwidth(const Exercise& exercise, const Implementations& implementations,
                       std::uint64_t seed, Events& events) {
  // A copy is timed in a process that holds no student's code.
  const std::vector<std::string>& trusted =
      implementations.naive.empty() ? implementations.reference : implementations.naive;
  WorkerClient student(implementations.student);
  WorkerClient naive(implementations.naive);
  WorkerClient reference(implementations.reference);
  WorkerClient copy(trusted);
  for (const Shape& shape : exercise.measurement.bandwidth) {
    const std::int64_t bytes = exercise.measurement.least_bytes(shape);
    const Case call = exercise.measurement.make_case(shape, seed);
    std::vector<Contestant> contestants = {{"student", &student, call}};
    if (!implementations.naive.empty()) {
      contestants.push_back({"naive", &naive, call});
    }
    if (!implementations.reference.empty()) {
      contestants.push_back({"reference", &reference, call});
    }
    if (!trusted.empty()) {
      contestants.push_back({"copy", &copy, copy_call(bytes)});
    }
    BandwidthSettings settings;
    settings.least_bytes = bytes;
    settings.seed = seed;
    copy.hello();  // of the trusted ones: what the device says of itself
    const json device = copy.device().is_object() ? copy.device() : json::object();
    const Bandwidth result =
        measure_bandwidth(contestants, settings, device.value("l2_bytes", std::int64_t{0}),
                          exercise.measurement.expectations);
    if (!result.error.empty()) {
      events.write(failed(exercise, result.error));
      return;
    }
    events.write(bandwidth_event(exercise, shape, bytes, result));
  }
}

}  // namespace onepass::verdict
