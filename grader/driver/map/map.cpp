#include "driver/map/map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "driver/bad_input.h"
#include "driver/build.h"
#include "driver/files.h"
#include "driver/grade.h"
#include "driver/grader.h"
#include "driver/map/page.h"
#include "driver/printable.h"
#include "driver/progress.h"
#include "driver/submission.h"
#include "process/interrupt.h"

namespace onepass::driver {
namespace fs = std::filesystem;

namespace {

// The file to draw.
Task find_file(const Config& config, const MapOptions& options) {
  Task task = select_task(config, options.names);
  if (options.naive) {
    const Exercise& exercise = *task.exercise;
    if (exercise.naive.empty()) {
      throw BadInput(fmt::format("There is no naive version of {}.", exercise.id));
    }
    static_cast<Implementation&>(task) = own_file(config, exercise, exercise.naive);
  }
  return task;
}

// What the chapter's grader says of one call of the worker.
Json trace(const Task& task, const fs::path& worker, const MapOptions& options) {
  GraderRun run;
  run.chapter = task.chapter;
  run.exercise = task.exercise->id;
  run.worker = worker;
  run.seed = 1;
  run.map = true;
  run.rows = options.rows;
  run.cols = options.cols;
  run.dtype = options.dtype;
  Json map;
  const auto fault = run_grader(run, [&](const Json& event) {
    if (event.at("event") == "map") {
      map = event;
    }
  });
  if (fault) {
    throw GraderFault(*fault);
  }
  map.erase("event");
  if (map.at("status") == "ungraded") {
    throw GraderFault(map.at("error").get<std::string>());
  }
  return map;
}

bool has_requests(const Json& launch) {
  return !launch.at("requests").empty();
}

// The index of the launch to show first.
std::size_t first_launch(const Json& launches, int asked) {
  const auto count = static_cast<int>(launches.size());
  if (asked < 0 || asked > count) {
    throw BadInput(
        count == 1 ? "There is one launch: leave --launch away."
                   : fmt::format("There are {} launches: give --launch 1 to {}.", count, count));
  }
  if (asked > 0) {
    return static_cast<std::size_t>(asked - 1);
  }
  return static_cast<std::size_t>(std::find_if(launches.begin(), launches.end(), has_requests) -
                                  launches.begin());
}

// Why the call did not come to its end, with the place if there is one.
std::string ending(const Json& map) {
  const Json& location = map.at("location");
  return fmt::format("The call did not come to its end ({}): {}{}",
                     map.at("status").get<std::string>(), map.at("error").get<std::string>(),
                     location.is_null() ? "" : "\nAt " + location.get<std::string>());
}

std::string nothing_to_show(const Json& map, const std::string& shown) {
  if (map.at("status") != "passed") {
    return ending(map);
  }
  return fmt::format("{}: there is nothing to draw. Fill in TODO 1 first, then draw it again.",
                     map.at("launches").empty()
                         ? fmt::format("{} launches no kernel", shown)
                         : fmt::format("The kernel in {} touches no memory", shown));
}

// A file's address for a browser.
std::string url(const fs::path& file) {
  std::string result = "file://";
  for (const char c : fs::absolute(file).lexically_normal().string()) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || std::strchr("/-_.~", c);
    result += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return result;
}

fs::path output_of(const Config& config, const MapOptions& options, const std::string& exercise) {
  const std::string name = file_name_of(exercise) + (options.naive ? "-naive" : "") + ".html";
  return options.output.empty() ? config.build / "map" / name : options.output;
}

void print_end(const Config& config, const Json& map, const fs::path& output) {
  fmt::print("The map is in {}. Open it in a browser:\n  {}\n",
             printable_line(shown_path(output, config.source)), url(output));
  if (map.at("status") != "passed") {
    fmt::print("{}\nThe map shows what came before.\n", ending(map));
    return;
  }
  for (const Json& finding : map.at("findings")) {
    fmt::print("Marked in it: {}\n", finding.at("message").get<std::string>());
  }
}

/// A naive version keeps its intermediates from one call to the next, as a framework does.
void drop_kept_memory(Json& findings) {
  const auto is_kept = [](const Json& finding) { return finding.at("kind") == "memory-kept"; };
  findings.erase(std::remove_if(findings.begin(), findings.end(), is_kept), findings.end());
}

}  // namespace

int map(const Config& config, const MapOptions& options) {
  const Task task = find_file(config, options);
  Progress progress;
  progress.show(fmt::format("compiling {}", task.shown));
  const BuildResult built = Builder(config, Device::cpu).build(task);
  if (built.error) {
    fmt::print(stderr, "{}\n", built.error->told(task.shown));
    return kNotAllPassed;
  }
  progress.show(fmt::format("running {}", task.exercise->id));
  Json traced = trace(task, built.worker, options);
  const Json& launches = traced.at("launches");
  if (std::none_of(launches.begin(), launches.end(), has_requests)) {
    fmt::print(stderr, "{}\n", nothing_to_show(traced, task.shown));
    return kNotAllPassed;
  }
  traced["first_launch"] = first_launch(launches, options.launch);
  traced["naive"] = options.naive;
  if (options.naive) {
    drop_kept_memory(traced["findings"]);
  }
  traced["source"] = {{"name", task.shown}, {"text", task.source}};
  const fs::path output = output_of(config, options, task.exercise->id);
  write_for_user(output, map_page(traced), "-o");
  print_end(config, traced, output);
  return traced.at("status") == "passed" ? kComplete : kNotAllPassed;
}

}  // namespace onepass::driver
