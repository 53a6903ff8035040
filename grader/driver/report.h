// The report: what a run found out, as the JSON that is written to build/report (schema 1,
// described in docs/grading.md). The terminal's report is rendered from the same object.
//
// Everything starts as "ungraded" and gets its status as events of the chapters' graders come in;
// so a report that is written before the end is true too. "complete" is false until then.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "driver/config.h"
#include "driver/todo/conclusion.h"
#include "process/confinement.h"
#include "wire/exercise.h"

namespace onepass::driver {

using Json = nlohmann::ordered_json;

constexpr const char* kSimulatorName = "CPU simulator";

/// A report without exercises. `device_name`: what the device calls itself.
Json make_report(Device device, const std::string& device_name, std::uint64_t seed);

/// What holds a submission's code back here, and the gaps without the layers that are missing.
Json confinement_report(const process::Layers& layers);

/// The exercise before it is graded. `file`: the student's file as messages name it.
Json make_exercise(const wire::ExerciseInfo& info, const std::string& file);

/// Notes what a grader says of an exercise: the events "check", "traffic", "bandwidth" and
/// "measurement_failed" and "skipped" of verdict/session/events.h; others are passed over. Throws
/// GraderFault if a check is not one of the exercise's.
void apply_event(Json& exercise, const Json& event);

/// Adds what the simulator says of a check that failed on the GPU: its message as "simulator", and
/// its location and diagnosis, if it has them, in place of the GPU's.
void add_explanation(Json& exercise, const Json& event);

/// Is that a failed check that the simulator can show at a line, or that is wrong however near the
/// numbers are?
bool is_wrong_anywhere(const Json& event);

/// A check that passed on the GPU fails, because the simulator sees an access that is wrong.
/// `replay`: the command that shows it again.
void add_objection(Json& exercise, const Json& event, const std::string& replay);

/// The same result for all checks: a compile error, a missing file.
void set_all_checks(Json& exercise, const std::string& status, const std::string& message,
                    const std::string& location);

/// The checks that a grader was told not to come to: "not run", and no part of the status.
void set_rest_not_run(Json& exercise);

/// After so many checks that ran out of time no other is graded.
constexpr int kMostTimeouts = 2;
/// Those that come after them have run out of time too, even if another process had begun one.
void set_rest_timed_out(Json& exercise);

/// What the text of the file says of a TODO: failed checks of one without code are "not started",
/// and no check of one with code is.
void note_begun(Json& exercise, int todo, bool begun);

/// What experiments say of the TODOs: as "todos" and "which_todo". The failed checks of those that
/// are right are "granted": their points count, as long as a check of one that is not right fails
/// too.
void add_conclusion(Json& exercise, const TodoStates& todos, const Conclusion& conclusion);

/// And where it fails with the solution's code for all of them as well. `lines`: where code begins
/// that is no TODO's, as "outside_todos".
void add_fault_elsewhere(Json& exercise, TodoStates todos, const std::set<int>& lines);

/// Computes the exercises' status and score, and the report's score, from the checks.
void settle(Json& report);

/// An optional exercise counts from when it is begun.
bool is_counted(const Json& exercise);

/// Of those that count.
bool all_passed(const Json& report);
bool has_ungraded(const Json& report);

}  // namespace onepass::driver
