// One run of `onepass grade`: the exercises on their way from source file to report.
#pragma once

#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "driver/build.h"
#include "driver/config.h"
#include "driver/files.h"
#include "driver/grader.h"
#include "driver/progress.h"
#include "driver/report.h"
#include "driver/submission.h"

namespace onepass::driver {

class Run {
 public:
  struct Settings {
    Device device = Device::cpu;
    std::uint64_t seed = 1;
    bool checks_only = false;          // measure nothing
    std::optional<double> time_limit;  // seconds for one launch
    std::string until;                 // no check after one that fails by this mistake
    std::filesystem::path report;      // written as the run goes
    std::string replay;                // how the user repeats it, but for the exercise
    std::string replay_on_simulator;
  };
  /// From now on the report on disk is that of this run.
  Run(const Config& config, std::vector<Task> tasks, Settings settings);

  /// Builds and grades all tasks. After Ctrl-C it returns early or throws GraderFault, and the
  /// report is not complete.
  void work();

  /// What is known so far, settled.
  const Json& report() const { return report_; }

 private:
  struct Item {
    Task task;
    std::filesystem::path worker;                // empty: there is no file, or it does not compile
    std::optional<std::filesystem::path> naive;  // built when first needed
    std::optional<std::filesystem::path> reference;  // the solution's worker, likewise
  };

  void list();
  void build(std::size_t index);
  void grade(std::size_t index);
  void build_what_to_measure_beside(std::size_t index);
  void measure(std::size_t index);
  void ask_simulator(std::size_t index);
  void explain_on_simulator(std::size_t index, GraderRun run);
  void object_on_simulator(std::size_t index, GraderRun run);
  void build_trusted(Item& item) const;
  void build_naive(Item& item) const;
  void build_reference(Item& item) const;
  std::filesystem::path solution_of(const Task& task) const;
  std::filesystem::path build_own(const Task& task, const std::filesystem::path& file) const;
  GraderRun grader_run(const Item& item) const;
  std::vector<std::string> failed_checks(std::size_t index);
  bool is_passed(std::size_t index);
  bool is_to_measure(std::size_t index);
  void save() const;
  /// The only way to the report while threads are at work: changes one exercise and writes the
  /// file.
  void update(std::size_t index, const std::function<void(Json& exercise)>& change);

  const Config& config_;
  Settings settings_;
  Builder builder_;
  std::vector<Item> items_;
  std::mutex mutex_;  // for report_
  Json report_;
  Progress progress_;
};

}  // namespace onepass::driver
