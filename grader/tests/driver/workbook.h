// A workbook in a temporary folder, with a grader that is a shell script: to try the driver as a
// user would, without the simulator.
#pragma once

#include <filesystem>
#include <string>

#include "driver/config.h"
#include "driver/files.h"
#include "driver/report.h"

namespace onepass::driver::test {

/// Is `part` somewhere in `text`?
bool has(const std::string& text, const std::string& part);

class Workbook {
 public:
  static constexpr const char* kEnd = "echo '{\"event\":\"end\"}' >> \"$EVENTS\"\n";
  Workbook();

  std::filesystem::path root() const { return folder_.path(); }
  std::filesystem::path exercise(const std::string& name) const;

  /// What grade-<chapter> does when it is asked to grade: shell commands. $EVENTS is the file to
  /// append to, $EXERCISE the exercise's id, $WORKER the worker, which when run gives the value of
  /// the student's function answer() as its exit status. `measuring`: the same for what it does
  /// when it is asked to measure.
  void set_grader(const std::string& commands, const std::string& measuring = kEnd) const;

  /// A grader as it is at first, but for what it does when it is asked to measure.
  void set_measuring(const std::string& commands) const;

  struct Outcome {
    int code;
    std::string output;
  };
  /// Runs `<before> onepass <arguments>` in this workbook, through a shell.
  Outcome onepass(const std::string& arguments, const std::string& before = "") const;

  /// What onepass wrote to build/<name>.json: "report/exercises".
  Json report(const std::string& name) const;

  /// From now on there is a file of the workbook's own beside each exercise: a naive version.
  void have_naive() const;

  /// From now on there is a GPU, whose compiler is the one for the simulator.
  void pretend_gpu() const;

  /// Replaces `from` in onepass.json.
  void edit_config(const std::string& from, const std::string& to) const;

 private:
  ScratchFolder folder_;
};

}  // namespace onepass::driver::test
