// main() of every chapter's deciding process, grade-<chapter>.
//
//   grade-rmsnorm --list
//   grade-rmsnorm --exercise rmsnorm/forward --worker PATH [--naive PATH] [--reference PATH]
//                 --device cpu|gpu --seed N [--events FILE] [--check NAME | --until MISTAKE]
//   grade-rmsnorm --exercise rmsnorm/forward --worker PATH [--naive PATH] [--reference PATH]
//                 --device cpu|gpu --seed N [--events FILE] --measure
//   grade-rmsnorm --exercise rmsnorm/forward --worker PATH [--naive PATH] [--reference PATH]
//                 --device cpu|gpu --seed N [--events FILE] --shape 4096x1000xfp16...
//   grade-rmsnorm --exercise rmsnorm/forward --worker PATH --seed N --map FILE
//                 [--rows N] [--cols N] [--dtype fp32|fp16|bf16]
//   grade-rmsnorm --exercise rmsnorm/forward --device cpu|gpu --seed N --request FILE
//                 [--rows N] [--cols N] [--dtype fp32|fp16|bf16]
//
// PATHs are workers: of the student's file, of the naive version, of the solution. Events
// (events.h) are appended to FILE, or printed. With --check only that check runs; with --until no
// check runs after one that fails by that mistake. With --measure no check runs, and the exercise's
// own shapes are measured; with --shape, these. With --map nothing is graded: FILE becomes the JSON
// of access_map.h; nor with --request: FILE gets one more request for a worker (record_request.h).
// Exit: 0 after a complete run, whatever the score; 2 for a usage error or a fault of the grader.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "verdict/map/access_map.h"
#include "verdict/map/record_request.h"
#include "verdict/measure/measure_exercise.h"
#include "verdict/session/chapter.h"
#include "verdict/session/events.h"
#include "verdict/session/run_checks.h"
#include "verdict/session/shapes.h"
#include "verdict/worker/confinement.h"
#include "wire/json.h"

namespace onepass::verdict {
namespace {

using nlohmann::json;

struct Options {
  bool list = false;
  std::string exercise;
  std::string worker;
  std::string naive;
  std::string reference;
  std::string device = "cpu";
  std::uint64_t seed = 0;
  std::string events;
  std::string check;
  double time_limit = Session::Settings().time_limit;
  std::string until;
  bool measure = false;
  std::string map;
  std::string request;
  std::optional<std::int64_t> rows, cols;
  std::string dtype;
  std::vector<std::string> shapes;
};

constexpr std::size_t kMostRequests = 10'000;  // of a launch that a map shows

void declare(CLI::App& app, Options& options) {
  app.add_flag("--list", options.list, "print the exercises as JSON");
  app.add_option("--exercise", options.exercise, "id of the exercise to grade");
  app.add_option("--worker", options.worker, "worker that holds the student's code");
  app.add_option("--naive", options.naive, "worker of the naive version");
  app.add_option("--reference", options.reference, "worker of the solution");
  app.add_option("--device", options.device, "what the workers were built for: cpu or gpu")
      ->check(CLI::IsMember({"cpu", "gpu"}));
  app.add_option("--seed", options.seed, "of all random numbers");
  app.add_option("--events", options.events, "file to append events to; stdout without it");
  app.add_option("--check", options.check, "run this check only");
  app.add_option("--time-limit", options.time_limit, "seconds for one launch");
  app.add_option("--until", options.until, "end with the check that fails by this mistake");
  app.add_flag("--measure", options.measure, "measure the exercise's shapes, instead of grading");
  app.add_option("--shape", options.shapes, "measure this shape, instead of grading")
      ->allow_extra_args(false);
  app.add_option("--map", options.map, "file for an access map of one call, instead of a grade");
  app.add_option("--request", options.request, "file to append the worker's request to");
  app.add_option("--rows", options.rows, "of that call");
  app.add_option("--cols", options.cols, "of that call");
  app.add_option("--dtype", options.dtype, "of that call")
      ->check(CLI::IsMember({"fp32", "fp16", "bf16"}));
}

std::vector<std::string> command(const std::string& path) {
  return path.empty() ? std::vector<std::string>{} : std::vector<std::string>{path};
}

wire::ExerciseInfo info_of(const Exercise& exercise) {
  return {exercise.id, exercise.title, exercise.docs, list_checks(exercise.id)};
}

void print_list(const Chapter& chapter) {
  json exercises = json::array();
  for (const Exercise& exercise : chapter.exercises) {
    exercises.push_back(info_of(exercise));
  }
  fmt::print("{}\n", json{{"chapter", chapter.name}, {"exercises", exercises}}.dump(2));
}

json end_event(const std::string& exercise) {
  return {{"event", "end"}, {"exercise", exercise}};
}

Implementations implementations(const Options& options) {
  return {command(options.worker), command(options.naive), command(options.reference)};
}

Measured measured(const Options& options) {
  return options.device == "gpu" ? Measured::bandwidth : Measured::traffic;
}

/// Has the student's worker tell its device. False if it cannot use it; nothing is left to do then.
bool introduce(WorkerClient& worker, Events& events) {
  const Reply hello = worker.hello();
  if (hello.outcome == Outcome::grader_fault) {
    events.write({{"event", "unavailable"}, {"reason", hello.error}});
    return false;
  }
  if (!worker.device().kind.empty()) {
    json device = worker.device();
    for (const char* figure : {"l2_bytes", "multiprocessors", "peak_gbs"}) {
      if (device[figure] == 0) {  // unknown
        device.erase(figure);
      }
    }
    device["event"] = "device";
    events.write(device);
  }
  return true;
}

/// No checks: the user's shapes are measured.
void measure_shapes(const Exercise& exercise, const Options& options) {
  std::vector<RowsByCols> shapes;
  for (const std::string& shape : options.shapes) {
    shapes.push_back(shape_named(shape));
  }
  Events events(options.events);
  WorkerClient worker(command(options.worker));
  if (!introduce(worker, events)) {
    return;
  }
  worker.stop();
  measure(exercise, implementations(options), measured(options), options.seed, shapes, events);
  events.write(end_event(exercise.id));
}

/// After the checks have passed: the exercise's own shapes.
void measure_exercise(const Exercise& exercise, const Options& options) {
  Events events(options.events);
  measure(exercise, implementations(options), measured(options), options.seed, events);
  events.write(end_event(exercise.id));
}

void grade_exercise(const Exercise& exercise, const Options& options) {
  Events events(options.events);
  json start = info_of(exercise);
  start["event"] = "exercise";
  start["confinement"] = missing_confinement();
  events.write(start);

  std::vector<CheckInfo> wanted = list_checks(exercise.id);
  if (!options.check.empty()) {
    std::erase_if(wanted, [&](const CheckInfo& check) { return check.name != options.check; });
    if (wanted.empty()) {
      throw std::invalid_argument(
          fmt::format("{} has no check \"{}\".", exercise.id, options.check));
    }
  }
  const std::string trusted = options.reference.empty() ? options.naive : options.reference;
  Session session({exercise.id, command(options.worker), command(trusted), options.device,
                   options.seed, options.time_limit});
  if (!introduce(session.worker(), events)) {
    return;
  }
  for (const CheckInfo& check : wanted) {
    const CheckResult result = run_check(session, exercise.id, check);
    events.write(check_event(exercise.id, result));
    if (!options.until.empty() && result.failure && result.failure->mistake == options.until) {
      break;
    }
  }
  events.write(end_event(exercise.id));
}

/// The shape of the one call that is to be mapped or recorded.
RowsByCols shape_of_call(const Exercise& exercise, const Options& options) {
  RowsByCols shape = shown(exercise, exercise.measurement.map);
  shape.rows = options.rows.value_or(shape.rows);
  shape.cols = options.cols.value_or(shape.cols);
  shape.dtype = options.dtype.empty() ? shape.dtype : dtype_named(options.dtype);
  return shape;
}

}  // namespace

int grade(const Chapter& chapter, int argc, char** argv) {
  CLI::App app("The deciding process of the chapter " + chapter.name + ".");
  Options options;
  declare(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    if (options.list) {
      print_list(chapter);
      return 0;
    }
    const auto exercise =
        std::find_if(chapter.exercises.begin(), chapter.exercises.end(),
                     [&](const Exercise& candidate) { return candidate.id == options.exercise; });
    if (exercise == chapter.exercises.end()) {
      throw std::invalid_argument(fmt::format("There is no exercise \"{}\" in {}: see --list.",
                                              options.exercise, chapter.name));
    }
    const RowsByCols shape = shape_of_call(*exercise, options);
    if (!options.request.empty()) {
      record_request(*exercise, shape_of(*exercise, shape), options.seed, options.device == "cpu",
                     options.request);
      return 0;
    }
    if (options.worker.empty()) {
      throw std::invalid_argument("Say which worker to grade: --worker PATH.");
    }
    if (options.measure) {
      measure_exercise(*exercise, options);
    } else if (!options.shapes.empty()) {
      measure_shapes(*exercise, options);
    } else if (options.map.empty()) {
      grade_exercise(*exercise, options);
    } else {
      Events(options.map)
          .write(
              access_map(*exercise, command(options.worker), shape, options.seed, kMostRequests));
    }
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "grade-{}: {}\n", chapter.name, error.what());
    return 2;
  }
}

}  // namespace onepass::verdict
