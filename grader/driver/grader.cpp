#include "driver/grader.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "driver/bad_input.h"
#include "driver/faults.h"
#include "driver/printable.h"
#include "process/process.h"

namespace onepass::driver {
namespace fs = std::filesystem;
using process::Waited;

namespace {

// A program's pipes, by number and as it sees them.
constexpr std::size_t kEvents = 0, kChecks = 1;
constexpr const char* kEventPipe = "/dev/fd/3";
constexpr const char* kCheckPipe = "/dev/fd/4";
constexpr double kListSeconds = 60;

// Hands over each line of the pipe's next piece, and keeps what is of an unfinished one. False at
// the end of the pipe.
bool read_lines(int pipe, std::string& unfinished,
                const std::function<void(const std::string& line)>& on_line) {
  char piece[64 << 10];
  const ssize_t length = read(pipe, piece, sizeof piece);
  unfinished.append(piece, std::max<ssize_t>(length, 0));
  std::size_t begin = 0;
  for (std::size_t end; (end = unfinished.find('\n', begin)) != std::string::npos;) {
    on_line(unfinished.substr(begin, end - begin));
    begin = end + 1;
  }
  unfinished.erase(0, begin);
  return length != 0;
}

// Tells the grader which check is next, or that there is none. One that has gone does not hear it.
void hand_out(HandOut& checks, bool from_end, process::Process& grader) {
  const std::optional<std::string> name = checks.next(from_end);
  if (!name) {
    grader.close_pipe(kChecks);
    return;
  }
  const std::string line = *name + "\n";
  [[maybe_unused]] const ssize_t written =
      write(grader.pipe(kChecks), line.data(), line.size());  // the pipe is empty: there is room
}

// Runs the grader, hands over what it writes to its pipe for events, and gives it a check when it
// has none.
process::Result run_and_read(const std::vector<std::string>& command, HandOut* checks,
                             bool from_end, double patience,
                             const std::function<bool(const std::string& line)>& on_line) {
  using process::Pipe;
  process::Process grader({command, {Pipe::from_program, Pipe::to_program}});
  if (checks != nullptr) {
    hand_out(*checks, from_end, grader);
  }
  const auto read = [&](const std::string& line) {
    if (on_line(line) && checks != nullptr) {
      hand_out(*checks, from_end, grader);
    }
  };
  std::string unfinished;
  Waited waited;
  do {
    waited = grader.wait(grader.pipe(kEvents), POLLIN, process::after(patience));
  } while (waited == Waited::ready && read_lines(grader.pipe(kEvents), unfinished, read));
  if (waited == Waited::ready) {
    waited = grader.wait_for_exit(process::after(patience));
  }
  return grader.end(waited);
}

std::vector<std::string> command_of(const GraderRun& run) {
  std::vector<std::string> command = {run.chapter->grader.string()};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) {
      command.insert(command.end(), {option, value});
    }
  };
  const auto add_number = [&](const char* option, const auto& number) {
    add(option, number ? fmt::format("{}", *number) : "");
  };
  add("--exercise", run.exercise);
  add("--worker", run.worker);
  add("--device", device_name(run.device));
  add("--seed", fmt::format("{}", run.seed));
  add("--events", kEventPipe);
  add("--naive", run.naive);
  add("--reference", run.reference);
  add("--checks", run.checks != nullptr ? kCheckPipe : "");
  add_number("--time-limit", run.time_limit);
  for (const std::string& shape : run.shapes) {
    add("--shape", shape);
  }
  if (run.measure) {
    command.push_back("--measure");
  }
  if (run.map) {
    command.push_back("--map");
  }
  add_number("--rows", run.rows);
  add_number("--cols", run.cols);
  add("--dtype", run.dtype);
  return command;
}

std::string how_it_ended(const Chapter& chapter, const process::Result& result) {
  const std::string advice = advice_on(result.describe() + result.output);
  return fmt::format("{} {}: {}.\n{}", chapter.grader.string(), result.describe(),
                     advice.empty() ? "grade again" : advice, printable(result.output));
}

}  // namespace

std::vector<wire::ExerciseInfo> list_exercises(const Chapter& chapter) {
  if (!fs::exists(chapter.grader)) {
    throw BadInput(
        fmt::format("The grader of {0} is not built: run make -C build grade_{0}.", chapter.name));
  }
  const process::Result result = process::run({{chapter.grader.string(), "--list"}}, kListSeconds);
  if (!result.succeeded()) {
    throw GraderFault(how_it_ended(chapter, result));
  }
  try {
    return nlohmann::json::parse(result.output)
        .at("exercises")
        .get<std::vector<wire::ExerciseInfo>>();
  } catch (const nlohmann::json::exception& error) {
    throw GraderFault(
        fmt::format("{} --list is malformed ({}).", chapter.grader.string(), error.what()));
  }
}

std::optional<std::string> run_grader(const GraderRun& run,
                                      const std::function<void(const Json&)>& on_event) {
  bool complete = false;
  std::string unavailable;
  process::Result result;
  try {
    const auto read = [&](const std::string& line) {
      Json event = Json::parse(line);
      make_printable(event);
      const std::string kind = event.at("event").get<std::string>();
      complete = complete || kind == "end";
      if (kind == "unavailable") {
        unavailable = event.at("reason").get<std::string>();
      }
      if (kind != "call") {
        on_event(event);
      }
      if (kind == "check" && run.checks != nullptr) {
        run.checks->note(event, run.from_end);
      }
      return kind == "check";
    };
    result = run_and_read(command_of(run), run.checks, run.from_end, run.patience, read);
  } catch (const std::exception& error) {
    return fmt::format("{} said something malformed: {}", run.chapter->grader.string(),
                       error.what());
  }
  if (!unavailable.empty()) {
    throw BadInput(run.device == Device::gpu
                       ? unavailable + " Without it, grade on the simulator: --device cpu."
                       : unavailable);
  }
  if (!complete || !result.succeeded()) {
    return how_it_ended(*run.chapter, result);
  }
  return std::nullopt;
}

}  // namespace onepass::driver
