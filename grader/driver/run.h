// One run of `onepass grade`: the exercises on their way from source file to report.
#pragma once

#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driver/build.h"
#include "driver/config.h"
#include "driver/files.h"
#include "driver/grade.h"
#include "driver/grader.h"
#include "driver/progress.h"
#include "driver/report.h"
#include "driver/submission.h"
#include "driver/todo/places.h"

namespace onepass::driver {

/// What other runs have found out about files put together for experiments, by their texts.
struct KnownTrials {
  std::function<std::optional<bool>(const Task& task)> find;  // does everything pass?
  std::function<void(const Task& task, bool passes)> note;
};

class Run {
 public:
  /// `options.names.submission` is not empty. From now on the report on disk is that of this run;
  /// there is none if `options.report` is empty.
  Run(const Config& config, const std::vector<Task>& tasks, const GradeOptions& options,
      Device device);

  /// Builds and grades all tasks, and measures their times on a GPU. After Ctrl-C it returns early
  /// or throws GraderFault.
  void work();

  /// Then, on the simulator: what do those that have passed ask of memory?
  void count_traffic();

  /// From now on no experiment is made whose outcome is known.
  void share_trials(KnownTrials known) { known_trials_ = std::move(known); }

  /// Then: which TODOs of the exercises that failed are right? Each that has code is graded with
  /// the solution's code in place of all others.
  void experiment();

  /// Last, what a GPU's compiler says of what the simulator has graded: waits for it.
  void add_gpu_code();

  /// The end: unless there was a Ctrl-C, the report is complete.
  void finish();

  /// What is known so far, settled.
  const Json& report() const { return report_; }

 private:
  struct Item {
    Task task;
    std::filesystem::path worker;            // empty: there is no file, or it does not compile
    std::filesystem::path naive, reference;  // the solution's; built when first needed
    std::optional<Places> places;            // of the TODOs, if the file keeps its shape
    TodoStates todos;                        // what trials say; empty where there were none
    std::map<std::string, Json> launches;    // of each check, as verdict/session/events.h has them
    BuildResult gpu_code;                    // empty if it was not compiled, or is judged
  };
  /// A file with the solution's code for all TODOs but some.
  struct Trial {
    std::size_t index;
    std::set<int> kept;
    std::optional<bool> passes = {};  // everything; nothing if that is not known
  };

  void list();
  void work_on_gpu();
  /// What goes wrong there through no fault of the file leaves its exercise ungraded.
  void build(std::size_t index);
  void build_theirs(std::size_t index);
  std::size_t threads() const;
  std::size_t at_once() const;
  void grade(std::size_t index);
  void measure();
  void build_what_to_measure_beside(std::size_t index);
  void measure(std::size_t index);
  void find_gpu_code();
  /// With so many processors, if it has not begun yet.
  void begin_gpu_code(std::size_t idle);
  void add_known_gpu_code();
  void judge_gpu_code(std::size_t index);
  void find_places(Item& item) const;
  bool is_to_try(std::size_t index);
  void try_out(std::vector<Trial>& trials);
  /// `together`: of exercises with several right TODOs and one other, those that are right; of
  /// those with none, none.
  void conclude_on(const std::vector<Trial>& together);
  std::optional<bool> passes(const Trial& trial, Device device);
  std::optional<bool> try_file(const Task& task, const Trial& trial, Device device,
                               const std::string& what);
  void ask_simulator(std::size_t index);
  void explain_on_simulator(std::size_t index, GraderRun run);
  void object_on_simulator(std::size_t index, GraderRun run);
  void build_trusted(Item& item) const;
  void build_own(const Item& item, const std::filesystem::path& file,
                 std::filesystem::path& worker) const;
  bool is_untouched(const Task& task) const;
  std::filesystem::path solution_of(const Task& task) const;
  GraderRun grader_run(const Item& item) const;
  /// The command that repeats the grading of an exercise, as seen from the repository.
  std::string replay(const Exercise& exercise, const std::string& device) const;
  std::vector<std::string> checks_of(std::size_t index);
  std::vector<std::string> failed_checks(std::size_t index);
  bool is_passed(std::size_t index);
  bool is_to_measure(std::size_t index);
  void save(bool at_end = false) const;
  /// The only way to the report while threads are at work: changes one exercise and writes the
  /// file.
  void update(std::size_t index, const std::function<void(Json& exercise)>& change);

  const Config& config_;
  GradeOptions options_;
  Device device_;
  Builder builder_;
  std::optional<ScratchFolder> workers_;  // those that are not kept
  std::vector<Item> items_;
  std::mutex mutex_;  // for report_
  std::mutex gpu_;    // on which one exercise or trial is graded at a time
  Json report_;
  Progress progress_;
  std::optional<KnownTrials> known_trials_;
  std::optional<Builder> gpu_code_builder_;
  std::vector<std::size_t> to_compile_;  // for a GPU as well
  std::string gpu_code_fault_;           // why one was not, through no fault of its own
  std::future<void> gpu_code_;           // the last: it works with all that stands above
};

}  // namespace onepass::driver
