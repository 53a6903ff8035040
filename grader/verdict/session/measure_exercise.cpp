#include "verdict/session/measure_exercise.h"

#include <optional>

#include "verdict/measure/bandwidth.h"
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

}  // namespace

void measure_traffic(const Exercise& exercise, const Implementations& implementations,
                     std::uint64_t seed, Events& events) {
  WorkerClient student(implementations.student);
  WorkerClient naive(implementations.naive);
  for (const Shape& shape : exercise.measurement.traffic) {
    const Case call = exercise.measurement.make_case(shape, seed);
    const Traffic students = measure_traffic(student, call, kTrafficLimit);
    if (!students.error.empty()) {
      events.write(failed(exercise, "student: " + students.error));
      return;
    }
    json event = event_of("traffic", exercise, shape);
    event["least_bytes"] = exercise.measurement.least_bytes(shape);
    event["student_bytes"] = students.bytes;
    event["naive_bytes"] = nullptr;
    if (!implementations.naive.empty()) {
      const Traffic naives = measure_traffic(naive, call, kTrafficLimit);
      if (!naives.error.empty()) {
        events.write(failed(exercise, "naive: " + naives.error));
        return;
      }
      event["naive_bytes"] = naives.bytes;
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
