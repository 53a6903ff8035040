#include "driver/student/watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "driver/bad_input.h"
#include "driver/files.h"
#include "driver/grade.h"
#include "driver/naming.h"
#include "driver/student/hints.h"
#include "driver/student/keys.h"
#include "driver/student/overview.h"
#include "driver/student/saved_files.h"
#include "driver/student/screen.h"
#include "driver/student/standing.h"
#include "driver/terminal.h"
#include "process/interrupt.h"
#include "process/process.h"

namespace onepass::driver {
namespace fs = std::filesystem;
using process::Waited;

namespace {

constexpr double kLookSeconds = 1.0;  // at the files, where the kernel does not tell
constexpr double kShowSeconds = 0.1;  // between two looks at what a grading prints

// Readable when one of others is.
class AnyOf {
 public:
  explicit AnyOf(std::initializer_list<int> descriptors) : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    for (const int descriptor : descriptors) {
      epoll_event event = {};
      event.events = EPOLLIN;
      if (descriptor >= 0) {
        epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event);
      }
    }
  }
  ~AnyOf() { close(epoll_); }
  AnyOf(const AnyOf&) = delete;
  AnyOf& operator=(const AnyOf&) = delete;
  int descriptor() const { return epoll_; }

 private:
  int epoll_;
};

class Watch {
 public:
  Watch(const Config& config, const WatchOptions& options)
      : config_(config),
        options_(options),
        all_(exercises_named(config, {})),
        watched_(exercises_named(config, {options.exercises, "", ""})),
        style_(style_for(STDOUT_FILENO)),
        is_terminal_(isatty(STDOUT_FILENO) == 1),
        report_(config.build / "report" / "watch.json"),
        screen_(is_terminal_),
        files_(paths()),
        anything_({files_.descriptor(), keys_.descriptor()}) {}

  int run() {
    std::error_code error;
    fs::remove(report_, error);  // an earlier one's
    begin_with_first();
    while (!quit_ && !process::interrupted()) {
      wait();
      if (keys_.stop_if_asked()) {
        screen_.draw();
      }
      for (const std::size_t saved : files_.take()) {
        if (is_watched(all_[saved])) {
          grade(all_[saved]);
        }
      }
      while (const std::optional<char> key = keys_.take()) {
        press(*key);
      }
    }
    stop_grading();
    fmt::print("{}", quit_ ? "" : "Interrupted: nothing is watched any more.\n");
    return quit_ ? kComplete : kInterrupted;
  }

 private:
  std::vector<fs::path> paths() const {
    std::vector<fs::path> files;
    for (const Named& one : all_) {
      files.push_back(path_of(one));
    }
    return files;
  }

  fs::path path_of(const Named& one) const {
    return config_.exercises() / one.chapter->folder / one.exercise->file;
  }

  bool is_watched(const Named& exercise) const {
    return std::any_of(watched_.begin(), watched_.end(),
                       [&](const Named& one) { return one.exercise == exercise.exercise; });
  }

  // The first of those named that has not passed, or else the first.
  void begin_with_first() {
    const std::vector<Standing> all = standings(config_);
    for (const Named& one : watched_) {
      if (standing_of(config_, all, one).state != State::passed) {
        return grade(one);
      }
    }
    grade(watched_.front());
  }

  void grade(const Named& exercise) {
    stop_grading();
    current_ = exercise;
    std::vector<std::string> command = {(program_folder() / "onepass").string(),
                                        "--workbook",
                                        options_.workbook.string(),
                                        "grade",
                                        exercise.exercise->id,
                                        "--seed",
                                        std::to_string(options_.seed),
                                        "--report",
                                        report_.string()};
    if (!options_.device.empty()) {
      command.insert(command.end(), {"--device", options_.device});
    }
    process::Program program = {command};
    if (style_.color) {
      program.environment = {"CLICOLOR_FORCE=1"};
    }
    screen_.begin_verdict();
    screen_.set_foot(fmt::format("Grading {} ...{}", exercise.exercise->id, keys_help()));
    grading_ = std::make_unique<process::Process>(program);
    if (grading_->start_error() != 0) {
      throw GraderFault("The grader could not be started.");
    }
  }

  void stop_grading() {
    if (grading_) {
      grading_->end(Waited::timed_out);
      grading_.reset();
    }
  }

  // For a save, a key, or the end of a grading; shows what that prints meanwhile.
  void wait() {
    if (!grading_) {
      pollfd any = {anything_.descriptor(), POLLIN, 0};
      poll(&any, 1, static_cast<int>(kLookSeconds * 1000));
      return;
    }
    const Waited waited =
        grading_->wait(anything_.descriptor(), POLLIN, process::after(kShowSeconds));
    if (const std::string text = grading_->take_output(); !text.empty()) {
      screen_.add_to_verdict(text);
    }
    if (waited == Waited::exited) {
      grading_.reset();
      screen_.set_foot(fmt::format("Waiting for {} to be saved.{}", watched_name(), keys_help()));
    }
  }

  std::string watched_name() const {
    return watched_.size() > 1 ? "an exercise"
                               : shown_path(path_of(watched_.front()), config_.source);
  }

  std::string keys_help() const {
    return keys_.descriptor() >= 0 ? "\n[h]int [n]ext [l]ist [a]ll failures [g]rade again [q]uit"
                                   : " Ctrl-C ends this.";
  }

  // What goes wrong with a key is told, and nothing ends by it.
  void press(char key) {
    try {
      obey(key);
    } catch (const std::exception& error) {
      screen_.set_aside(std::string(error.what()) + "\n");
    }
  }

  void obey(char key) {
    switch (key) {
      case 'h':
        return screen_.set_aside(open_hint(config_, {to_be_done(), 0, false, "h"}));
      case 'l':
        return screen_.set_aside(render_list(config_, standings(config_), style_));
      case 'n':
        return go_on();
      case 'a':
        return show_all_failures();
      case 'g':
        return grade(current_);
      case 'q':
        quit_ = true;
    }
  }

  // The exercise on the screen, or, if that has passed, the next one.
  std::string to_be_done() const {
    const std::vector<Standing> all = standings(config_);
    const Standing* next = next_after(all, current_.exercise->id);
    const bool has_passed = standing_of(config_, all, current_).state == State::passed;
    return has_passed && next != nullptr ? next->info.id : current_.exercise->id;
  }

  void go_on() {
    const std::vector<Standing> all = standings(config_);
    const Standing* next = next_after(all, current_.exercise->id);
    if (next == nullptr) {
      return screen_.set_aside(told_next(config_, all));
    }
    if (!is_watched(next->named)) {
      watched_.push_back(next->named);
    }
    grade(next->named);
  }

  void show_all_failures() {
    if (grading_ || !fs::exists(report_)) {
      return;
    }
    const Json report = Json::parse(read_file(report_));
    Style style = style_;
    style.all = true;
    screen_.set_verdict(render_verdict(report, style) + render_end(report, style));
  }

  const Config& config_;
  const WatchOptions& options_;
  const std::vector<Named> all_;
  std::vector<Named> watched_;  // of those
  const Style style_;
  const bool is_terminal_;
  const fs::path report_;
  Screen screen_;
  SavedFiles files_;
  Keys keys_;
  AnyOf anything_;
  Named current_ = {};
  std::unique_ptr<process::Process> grading_;
  bool quit_ = false;
};

}  // namespace

int watch(const Config& config, const WatchOptions& options) {
  choose_device(config, options.device);
  return Watch(config, options).run();
}

}  // namespace onepass::driver
