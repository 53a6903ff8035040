// The experiments of a run: which TODOs of a file that failed are right?
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "driver/files.h"
#include "driver/gpu_code/judge.h"
#include "driver/parallel.h"
#include "driver/run.h"
#include "driver/text.h"
#include "process/interrupt.h"

namespace onepass::driver {

namespace {

// Which TODO is it? Of what is slow by the clock that cannot be asked: near the threshold the same
// code passes now and then.
bool asks_which_todo(const Json& check, Device device) {
  return check["status"] != "passed" && check["status"] != "not started" &&
         !(device == Device::gpu && text(check, "diagnosis") == "slower-than-a-copy");
}

TodoState state_of(std::optional<bool> passes) {
  return !passes ? TodoState::unknown : *passes ? TodoState::right : TodoState::wrong;
}

}  // namespace

// A file with failures, several places to choose from, and something to try.
bool Run::is_to_try(std::size_t index) {
  const std::optional<Places>& places = items_[index].places;
  if (!options_.experiments || !config_.has_solutions() || !options_.until.empty() || !places ||
      process::interrupted() || (places->todos().size() < 2 && places->elsewhere.empty())) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  const Json& exercise = report_["exercises"][index];
  const Json& checks = exercise["checks"];
  return !exercise.contains("fault") && !is_refused_by_gpu(exercise) &&
         exercise["status"] != "ungraded" &&
         std::any_of(checks.begin(), checks.end(),
                     [&](const Json& check) { return asks_which_todo(check, device_); });
}

// As few as say it all: one for each TODO that has code. One more for each file in which several
// are right and one is not: is the fault in that one alone? And with none of the student's, where
// none is right and some code is no TODO's: is the fault there?
void Run::experiment() {
  std::vector<Trial> trials;
  for (std::size_t index = 0; index < items_.size(); ++index) {
    if (is_to_try(index)) {
      Item& item = items_[index];
      for (const int todo : item.places->todos()) {
        item.todos[todo] = TodoState::not_started;
        if (item.places->is_begun(todo)) {
          trials.push_back({index, {todo}});
        }
      }
    }
  }
  try_out(trials);
  for (const Trial& trial : trials) {
    items_[trial.index].todos[*trial.kept.begin()] = state_of(trial.passes);
  }

  std::vector<Trial> together;
  for (std::size_t index = 0; index < items_.size(); ++index) {
    const TodoStates& todos = items_[index].todos;
    const std::set<int> right = in_states(todos, {TodoState::right});
    const std::set<int> wrong = in_states(todos, {TodoState::wrong});
    const std::set<int> unknown = in_states(todos, {TodoState::unknown});
    if (right.size() > 1
            ? wrong.size() + unknown.size() == 1
            : right.empty() && !wrong.empty() && !items_[index].places->elsewhere.empty()) {
      together.push_back({index, right});
    }
  }
  try_out(together);
  if (!process::interrupted()) {
    conclude_on(together);
  }
}

namespace {

/// A finding names a line, and the line may be another TODO's than the check.
void note_todos_at_lines(Json& exercise, const Places& places) {
  for (Json& check : exercise["checks"]) {
    const std::string location = text(check, "location");
    const std::size_t colon = location.rfind(':');
    if (colon == std::string::npos) {
      continue;
    }
    if (const auto todo = places.todo_at(std::atoi(location.c_str() + colon + 1))) {
      check["todo_at_location"] = *todo;
    }
  }
}

}  // namespace

void Run::conclude_on(const std::vector<Trial>& together) {
  for (std::size_t index = 0; index < items_.size(); ++index) {
    const TodoStates& todos = items_[index].todos;
    if (todos.empty()) {
      continue;
    }
    bool fit = in_states(todos, {TodoState::right}).size() == 1;
    bool elsewhere = false;
    for (const Trial& trial : together) {
      if (trial.index == index) {
        fit = trial.passes.value_or(false);
        elsewhere = trial.kept.empty() && !trial.passes.value_or(true);
      }
    }
    const Places& places = *items_[index].places;
    update(index, [&](Json& exercise) {
      if (elsewhere) {
        add_fault_elsewhere(exercise, todos, places.elsewhere);
      } else {
        add_conclusion(exercise, todos, conclude(todos, fit));
      }
      note_todos_at_lines(exercise, places);
    });
  }
}

void Run::try_out(std::vector<Trial>& trials) {
  parallel_for(trials.size(), threads(), [&](std::size_t i) {
    Trial& trial = trials[i];
    trial.passes = passes(trial, device_);
    // What a GPU gets right by luck, the simulator does not.
    std::error_code error;
    if (device_ == Device::gpu && trial.passes.value_or(false) &&
        std::filesystem::exists(config_.cpu.compiler, error)) {
      trial.passes = passes(trial, Device::cpu).value_or(true);
    }
  });
}

std::optional<bool> Run::passes(const Trial& trial, Device device) {
  const Item& item = items_[trial.index];
  const std::string what = fmt::format("which TODO of {}? Trying {}", item.task.exercise->id,
                                       fmt::join(trial.kept, ", "));
  if (process::interrupted()) {
    return std::nullopt;
  }
  progress_.show(what);
  std::set<int> replaced = item.places->todos();
  for (const int todo : trial.kept) {
    replaced.erase(todo);
  }
  Task task = item.task;
  task.source = item.places->with_solution(replaced);
  if (!known_trials_ || device != device_) {
    return try_file(task, trial, device, what);
  }
  std::optional<bool> known = known_trials_->find(task);
  if (!known && (known = try_file(task, trial, device, what))) {
    known_trials_->note(task, *known);
  }
  return known;
}

// On the simulator in place of a GPU only what it can show at a line counts.
std::optional<bool> Run::try_file(const Task& task, const Trial& trial, Device device,
                                  const std::string& what) {
  const ScratchFolder folder(config_.build / "cache");
  GraderRun run = grader_run(items_[trial.index]);
  run.worker = (device == device_ ? builder_ : Builder(config_, device))
                   .build_once(task, folder.path())
                   .worker;
  if (run.worker.empty()) {
    return std::nullopt;
  }
  run.device = device;
  std::size_t done = 0;
  bool passed = true;
  bool known = true;
  std::unique_lock one_at_a_time(gpu_, std::defer_lock);
  if (device == Device::gpu) {
    one_at_a_time.lock();
  } else if (device_ == Device::gpu) {
    run.naive.clear();
    run.reference.clear();
  }
  HandOut checks(checks_of(trial.index), [&](const Json& check) {
    return device == device_ && check.at("status") != "passed";
  });
  run.checks = &checks;
  const auto fault = run_grader(run, [&](const Json& event) {
    if (event.at("event") != "check") {
      return;
    }
    const std::string status = event.at("status");
    known = known && status != "ungraded";
    passed = passed && (status == "passed" || (device != device_ && !is_wrong_anywhere(event)));
    progress_.show(fmt::format("{}: {} checks passed", what, ++done));
  });
  return fault || !known ? std::nullopt : std::optional(passed);
}

}  // namespace onepass::driver
