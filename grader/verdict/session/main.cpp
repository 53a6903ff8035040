// main() of every chapter's deciding process, grade-<chapter>.
//
//   grade-rmsnorm --list
//   grade-rmsnorm --exercise rmsnorm/forward --worker PATH [--naive PATH] [--reference PATH]
//                 --device cpu|gpu --seed N [--events FILE]
//                 [--checks FILE | --measure | --shape 4096x1000xfp16...]
//   grade-rmsnorm --exercise rmsnorm/forward --worker PATH --seed N [--events FILE] --map
//                 [--rows N] [--cols N] [--dtype fp32|fp16|bf16]
//   grade-rmsnorm --exercise rmsnorm/forward --device cpu|gpu --seed N --request FILE
//                 [--rows N] [--cols N] [--dtype fp32|fp16|bf16]
//
// PATHs are workers: of the student's file, of the naive version, of the solution. Events
// (events.h) are appended to FILE, or printed. With --checks only those run whose names are the
// lines of FILE, one after the other; FILE may be a pipe, whose next line waits for the event of
// the last one. With --measure no check runs, and the exercise's own shapes are measured; with
// --shape, these. With --map nothing is graded: the event is that of access_map.h. Nor with
// --request: FILE gets one more request, so that a worker can be run by itself, under a profiler
// for instance, with FILE as its descriptor 3. Exit: 0 after a complete run, whatever the score; 2
// for a usage error or a fault of the grader.
#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "verdict/map/access_map.h"
#include "verdict/measure/measure_exercise.h"
#include "verdict/session/chapter.h"
#include "verdict/session/events.h"
#include "verdict/session/run_checks.h"
#include "verdict/session/shapes.h"
#include "verdict/worker/allowance.h"
#include "verdict/worker/messages.h"
#include "wire/json.h"

namespace onepass::verdict {
namespace {

using nlohmann::json;

/// declare() says what each is.
struct Options {
  bool list = false, measure = false, map = false;
  std::string exercise, worker, naive, reference, device = "cpu";
  std::string events, checks, request, dtype;
  std::vector<std::string> shapes;
  std::optional<std::int64_t> rows, cols;
  std::uint64_t seed = 0;
  double time_limit = Session::Settings().time_limit;
};

constexpr std::size_t kMostRequests = 10'000;  // of a launch that a map shows
constexpr double kRecordedLimit = 600.0;  // seconds: a profiler is slow, and so are large calls

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
  app.add_option("--checks", options.checks, "run only those that this file names, a line each");
  app.add_option("--time-limit", options.time_limit, "seconds for one launch");
  app.add_flag("--measure", options.measure, "measure the exercise's shapes, instead of grading");
  app.add_option("--shape", options.shapes, "measure this shape, instead of grading")
      ->allow_extra_args(false);
  app.add_flag("--map", options.map, "draw an access map of one call, instead of grading");
  app.add_option("--request", options.request, "file to append the worker's request to");
  app.add_option("--rows", options.rows, "of that call");
  app.add_option("--cols", options.cols, "of that call");
  app.add_option("--dtype", options.dtype, "of that call")
      ->check(CLI::IsMember({"fp32", "fp16", "bf16"}));
}

/// Each call takes and frees fields of some hundred KB: memory that comes back from the system each
/// time is zeroed, page by page, each time.
void keep_memory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 128 << 20);
}

void print_list(const Chapter& chapter) {
  json exercises = json::array();
  for (const Exercise& exercise : chapter.exercises) {
    exercises.push_back(wire::ExerciseInfo{exercise.id, exercise.title, exercise.docs,
                                           list_checks(exercise.id), exercise.optional});
  }
  fmt::print("{}\n", json{{"chapter", chapter.name}, {"exercises", exercises}}.dump(2));
}

/// Has the student's worker tell its device. False if none can use it; nothing is left to do then.
/// trusted: another worker, which is asked if the student's says so; may be empty.
bool introduce(WorkerClient& worker, const std::string& trusted, const Options& options,
               Events& events) {
  const std::string missing = options.device == "gpu" ? prepare_gpu() : "";
  const Reply hello = worker.hello();
  if (hello.outcome == Outcome::grader_fault) {
    throw std::runtime_error(hello.error);
  }
  if (hello.outcome == Outcome::refused && options.device == "gpu") {
    if (trusted.empty() || WorkerClient(trusted, "gpu").hello().outcome == Outcome::refused) {
      events.write({{"event", "unavailable"}, {"reason", hello.error + "." + missing}});
      return false;
    }
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

/// No checks: the user's shapes, or without any the exercise's own. False if the device cannot be
/// used, here and below.
bool measure_exercise(const Exercise& exercise, const Options& options, Events& events) {
  std::vector<RowsByCols> shapes;
  std::transform(options.shapes.begin(), options.shapes.end(), std::back_inserter(shapes),
                 shape_named);
  if (!shapes.empty()) {
    WorkerClient worker(options.worker, options.device);
    if (!introduce(worker, options.naive, options, events)) {
      return false;
    }
  }
  measure(exercise, {options.worker, options.naive, options.reference},
          options.device == "gpu" ? Measured::bandwidth : Measured::traffic, options.seed, shapes,
          events);
  return true;
}

bool grade_exercise(const Exercise& exercise, const Options& options, Events& events) {
  const std::string trusted = options.reference.empty() ? options.naive : options.reference;
  Session::Settings settings;
  settings.exercise = exercise.id;
  settings.worker = options.worker;
  settings.reference = trusted;
  settings.device = options.device;
  settings.seed = options.seed;
  settings.measurement = &exercise.measurement;
  settings.time_limit = options.time_limit;
  settings.on_call = [&] { events.write({{"event", "call"}}); };
  Session session(settings);
  if (!introduce(session.worker(), trusted, options, events)) {
    return false;
  }
  const std::vector<wire::CheckInfo> all = list_checks(exercise.id);
  const auto grade = [&](const wire::CheckInfo& check) {
    events.write(check_event(exercise.id, check, run_check(session, exercise.id, check)));
  };
  if (options.checks.empty()) {
    std::for_each(all.begin(), all.end(), grade);
    return true;
  }
  std::ifstream names(options.checks);
  if (!names) {
    throw std::runtime_error(options.checks + " cannot be read.");
  }
  for (std::string name; std::getline(names, name);) {
    const auto named =
        std::find_if(all.begin(), all.end(), [&](const auto& check) { return check.name == name; });
    if (named == all.end()) {
      throw std::invalid_argument(fmt::format("{} has no check \"{}\".", exercise.id, name));
    }
    grade(*named);
  }
  return true;
}

/// The shape of the one call that is to be mapped or recorded.
RowsByCols shape_of_call(const Exercise& exercise, const Options& options) {
  RowsByCols shape = shown(exercise, exercise.measurement.map);
  shape.rows = options.rows.value_or(shape.rows);
  shape.cols = options.cols.value_or(shape.cols);
  shape.dtype = options.dtype.empty() ? shape.dtype : dtype_named(options.dtype);
  return shape;
}

/// Appends the request for that call. No buffer of it comes back. Only a worker of the simulator
/// can tell traffic by line of source.
void record_request(const Exercise& exercise, const RowsByCols& shape, const Options& options) {
  Request request = request_of(
      exercise.measurement.make_case(shape_of(exercise, shape), options.seed), Poison::nan);
  request.call.time_limit_s = kRecordedLimit;
  request.call.lines = options.device == "cpu";
  request.call.profiled = true;
  for (wire::BufferSpec& buffer : request.call.buffers) {
    buffer.send_back = false;
  }
  const int descriptor =
      open(options.request.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor == -1) {
    throw std::runtime_error(options.request + " cannot be written.");
  }
  const worker::Transfer transfer =
      worker::write_message(descriptor, message_of("run", std::move(request)));
  if (close(descriptor) != 0 || transfer != worker::Transfer::done) {
    throw std::runtime_error(options.request + " could not be written to its end.");
  }
}

}  // namespace

int grade(const Chapter& chapter, int argc, char** argv) {
  process::shield_this_process();
  keep_memory();
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
      record_request(*exercise, shape, options);
      return 0;
    }
    if (options.worker.empty()) {
      throw std::invalid_argument("Say which worker to grade: --worker PATH.");
    }
    Events events(options.events);
    if (options.map) {
      events.write(access_map(*exercise, options.worker, shape, options.seed, kMostRequests));
      events.write({{"event", "end"}});
      return 0;
    }
    const bool measuring = options.measure || !options.shapes.empty();
    if ((measuring ? measure_exercise : grade_exercise)(*exercise, options, events)) {
      events.write({{"event", "end"}});
    }
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "grade-{}: {}\n", chapter.name, error.what());
    return 2;
  }
}

}  // namespace onepass::verdict
