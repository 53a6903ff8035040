// Events: what the deciding process tells the driver, one JSON object a line, written as it
// happens. The driver reads nothing else. Without "end" the grader has failed.
//
//   device     the worker's device: kind, name, ...
//   unavailable  reason: the worker cannot use the device at all, or there is no such map
//   call       the student's code is about to be called, for one of the checks
//   check      exercise, name, status, points, message, diagnosis, error_over_bound, location: as
//              in the report; todo; possible: [{diagnosis, sentence}], mistakes that other checks
//              may tell apart; warnings: [text]; output: what the student's code printed;
//              detail: {where, expected, got, pattern, call}, each "" if there is none; and, of
//              the simulator, launches: [{function, written, threads, dynamic_shared_bytes,
//              may_spill}]
//   traffic    exercise, rows, cols, dtype, least_bytes; "student", "naive" and "reference":
//              {requested_bytes, distinct_bytes} or null; "lines": the student's, [{file, line,
//              caller_file and called_from (of a given header the student's), action, space,
//              requests, lanes, bytes, units, least_units, distinct_sectors, advice}]
//   bandwidth  exercise, rows, cols, dtype, bytes; of "naive", "student", "copy" and "reference"
//              each <who>_gbs and <who>_ms: {median, p20, p80}, or null; note: "" or why not to
//              trust the figures
//   measurement_failed  exercise, rows, cols, dtype, message: who is at fault, and why
//   skipped    exercise, rows, cols, dtype, message: why that shape was not measured
//   map        that of map/access_map.h
//   end        nothing follows
#pragma once

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "verdict/session/session.h"
#include "wire/exercise.h"

namespace onepass::verdict {

NLOHMANN_JSON_SERIALIZE_ENUM(Status, {{Status::ungraded, "ungraded"},
                                      {Status::passed, "passed"},
                                      {Status::failed, "failed"},
                                      {Status::not_started, "not started"},
                                      {Status::compile_error, "compile error"},
                                      {Status::launch_error, "launch error"},
                                      {Status::device_error, "device error"},
                                      {Status::crashed, "crashed"},
                                      {Status::timed_out, "timed out"},
                                      {Status::ended_early, "ended early"}})

class Events {
 public:
  /// Appends to the file, or prints to stdout if `path` is empty. Throws std::runtime_error if it
  /// cannot be written.
  explicit Events(const std::string& path);
  void write(const nlohmann::json& event);

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

nlohmann::json check_event(const std::string& exercise, const wire::CheckInfo& info,
                           const Session::Check& check);

}  // namespace onepass::verdict
