#include "driver/grader.h"

#include <fmt/format.h>

#include <chrono>

#include "driver/bad_input.h"
#include "driver/process.h"

namespace onepass::driver {
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

// A grader that says nothing for so long hangs: it limits the time of each call itself.
constexpr auto kSilence = std::chrono::minutes(5);
constexpr double kRunSeconds = 4 * 3600;

// Makes events of the pieces in which they come.
class EventReader {
 public:
  /// Hands over each line that `piece` completes. True if there was one.
  bool read(const std::string& piece, const std::function<void(const Json&)>& on_event) {
    unfinished_ += piece;
    std::size_t begin = 0;
    for (std::size_t end; (end = unfinished_.find('\n', begin)) != std::string::npos;) {
      const std::string line = unfinished_.substr(begin, end - begin);
      begin = end + 1;
      on_event(Json::parse(line));
    }
    unfinished_.erase(0, begin);
    return begin > 0;
  }

 private:
  std::string unfinished_;
};

std::vector<std::string> command_of(const GraderRun& run) {
  std::vector<std::string> command = {run.chapter->grader.string(),
                                      "--exercise",
                                      run.exercise,
                                      "--worker",
                                      run.worker.string(),
                                      "--device",
                                      device_name(run.device),
                                      "--seed",
                                      fmt::format("{}", run.seed),
                                      "--events",
                                      kMessagePipe};
  if (run.naive) {
    command.insert(command.end(), {"--naive", run.naive->string()});
  }
  if (run.reference) {
    command.insert(command.end(), {"--reference", run.reference->string()});
  }
  if (!run.check.empty()) {
    command.insert(command.end(), {"--check", run.check});
  }
  if (run.time_limit) {
    command.insert(command.end(), {"--time-limit", fmt::format("{}", *run.time_limit)});
  }
  if (!run.until.empty()) {
    command.insert(command.end(), {"--until", run.until});
  }
  if (run.measure) {
    command.push_back("--measure");
  }
  for (const std::string& shape : run.shapes) {
    command.insert(command.end(), {"--shape", shape});
  }
  return command;
}

}  // namespace

Json list_exercises(const Chapter& chapter) {
  if (!fs::exists(chapter.grader)) {
    throw BadInput(
        fmt::format("The grader of {0} is not built: run make -C build grade_{0}.", chapter.name));
  }
  const ProcessResult result = run_process({chapter.grader.string(), "--list"}, {60});
  if (!result.succeeded()) {
    throw GraderFault(fmt::format("{} --list {}:\n{}", chapter.grader.string(), result.describe(),
                                  result.output));
  }
  try {
    return Json::parse(result.output).at("exercises");
  } catch (const Json::exception& error) {
    throw GraderFault(
        fmt::format("{} --list is malformed ({}).", chapter.grader.string(), error.what()));
  }
}

std::optional<std::string> run_grader(const GraderRun& run,
                                      const std::function<void(const Json&)>& on_event) {
  EventReader reader;
  bool complete = false;
  std::string unavailable;
  std::string malformed;
  auto last_event = Clock::now();
  const auto read_events = [&](const std::string& piece) {
    try {
      const bool any = malformed.empty() && reader.read(piece, [&](const Json& event) {
        const std::string kind = event.at("event").get<std::string>();
        complete = complete || kind == "end";
        if (kind == "unavailable") {
          unavailable = event.at("reason").get<std::string>();
        }
        on_event(event);
      });
      last_event = any ? Clock::now() : last_event;
      return Clock::now() - last_event < kSilence;
    } catch (const std::exception& error) {
      malformed = error.what();
      return false;
    }
  };

  const ProcessResult result = run_process(command_of(run), {kRunSeconds}, read_events);
  if (!unavailable.empty()) {
    throw BadInput(run.device == Device::gpu
                       ? unavailable + " Without it, grade on the simulator: --device cpu."
                       : unavailable);
  }
  if (!malformed.empty()) {
    return fmt::format("{} said something malformed: {}", run.chapter->grader.string(), malformed);
  }
  if (!complete || !result.succeeded()) {
    return fmt::format("{} {}.\n{}", run.chapter->grader.string(), result.describe(),
                       result.output);
  }
  return std::nullopt;
}

}  // namespace onepass::driver
