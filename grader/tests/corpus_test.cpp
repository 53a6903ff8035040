// Grades the corpus with `onepass grade`, as a user would: every right implementation passes under
// several seeds, every wrong one fails with its mistake named, nothing hostile gets away with it.
// After a hostile one nothing may be left of it, and an honest one gets full marks.
//
// A wrong entry is graded until its mistake is named. On the simulator good verdicts are remembered
// (corpus/remembered.h). `make check` leaves a part out, see quick_run(); `make check_all` does
// not.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "driver/files.h"
#include "process/process.h"
#include "tests/corpus/aftermath.h"
#include "tests/corpus/corpus.h"
#include "tests/corpus/remembered.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using onepass::corpus::difference;
using onepass::corpus::Entry;
using onepass::corpus::Files;
using onepass::corpus::files_below;
using onepass::corpus::Margin;
using onepass::corpus::Remembered;

const fs::path kRepository = ONEPASS_SOURCE_DIR;
// How near to its bound an fp32 result of a right kernel may come in the simulator.
constexpr double kMostOfBound = 0.6;

const fs::path kDriver = fs::path(ONEPASS_BINARY_DIR) / "onepass";

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

/// "cpu" unless ONEPASS_CORPUS_DEVICE says otherwise, so that the test means the same everywhere.
std::string device() {
  return environment("ONEPASS_CORPUS_DEVICE", "cpu");
}

/// A run of `make check`, not of `make check_all` or by hand.
bool is_quick() {
  return !environment("ONEPASS_CORPUS_QUICK", "").empty() &&
         environment("ONEPASS_CHECK_ALL", "").empty();
}

/// Right kernels are graded under these: 1 and 2, in the quick run 1, or as many as
/// ONEPASS_CORPUS_SEEDS says.
std::vector<int> seeds() {
  std::vector<int> all(std::stoul(environment("ONEPASS_CORPUS_SEEDS", is_quick() ? "1" : "2")));
  std::iota(all.begin(), all.end(), 1);
  return all;
}

/// What the simulator counts is tested elsewhere. A timed call on a GPU can go wrong by itself, so
/// there everything is measured too, unless ONEPASS_CORPUS_CHECKS_ONLY is set.
bool checks_only() {
  return device() == "cpu" || !environment("ONEPASS_CORPUS_CHECKS_ONLY", "").empty();
}

/// As many gradings at a time as there are processors, or as ONEPASS_CORPUS_JOBS says. One where
/// they are timed: a GPU that is shared is slower.
unsigned at_once() {
  const std::string processors = fmt::format("{}", std::thread::hardware_concurrency());
  const int jobs = std::stoi(environment("ONEPASS_CORPUS_JOBS", processors.c_str()));
  return checks_only() ? static_cast<unsigned>(std::max(1, jobs)) : 1u;
}

/// Runs the grader. A hostile entry must leave no process, and the submission as it was.
bool run(const std::vector<std::string>& command, const Entry& entry, const fs::path& submission,
         const fs::path& log, std::string& output) {
  constexpr int kSeconds = 300;
  if (entry.kind != "hostile") {
    const onepass::process::Result result = onepass::process::run({command}, kSeconds);
    output = result.describe() + "\n" + result.output;
    return result.succeeded();
  }
  const Files before = files_below(submission);
  const int code = onepass::corpus::run_as_a_shell(command, log, kSeconds);
  const int left = onepass::corpus::count_leftovers();
  std::stringstream said;
  said << std::ifstream(log).rdbuf();
  output = fmt::format("exit code {}, {} processes left behind\n{}{}", code, left,
                       difference(before, files_below(submission)), said.str());
  return code == 0 && left == 0 && files_below(submission) == before;
}

/// The report's object of the entry's exercise. Null, with `output` saying why, if there is none.
json grade(const Entry& entry, int seed, std::string& output) {
  const onepass::driver::ScratchFolder scratch(fs::temp_directory_path());
  const fs::path submission = scratch.path() / "submission";
  onepass::driver::write_file(submission / entry.source, entry.text);
  const fs::path report = scratch.path() / "report.json";
  std::vector<std::string> command = {kDriver.string(),     "grade",      "--submission",
                                      submission.string(),  "--exercise", entry.exercise,
                                      "--device",           device(),     "--seed",
                                      std::to_string(seed), "--report",   report.string(),
                                      "--no-experiments",   "--no-nvcc"};
  if (checks_only()) {
    command.push_back("--checks-only");
  }
  if (entry.status == "timed out") {
    command.insert(command.end(), {"--time-limit", "1"});  // twice, and for nothing
  }
  if (entry.kind == "wrong" && entry.check.empty() && entry.diagnosis != onepass::corpus::kNone) {
    command.insert(command.end(), {"--until", entry.diagnosis});
  }
  const bool went_well = run(command, entry, submission, scratch.path() / "log", output);
  if (!went_well || !fs::exists(report)) {
    return nullptr;
  }
  return json::parse(std::ifstream(report)).at("exercises").at(0);
}

bool has(const json& check, const char* key, const std::string& value) {
  return check.contains(key) && check.at(key).is_string() && check.at(key) == value;
}

/// Does the entry's list, "this, that", have this word?
bool lists(const std::string& list, const json& word) {
  return word.is_string() &&
         (", " + list + ",").find(", " + word.get<std::string>() + ",") != std::string::npos;
}

/// Is one of the ids named that the entry's mistake only looks like?
bool names_another(const json& exercise, const Entry& entry) {
  const json& checks = exercise.at("checks");
  return std::any_of(checks.begin(), checks.end(), [&](const json& check) {
    return lists(entry.unlike, check.value("diagnosis", json()));
  });
}

/// Does a failing check name the mistake (and is it the check that was meant)? Of one that has no
/// name: is none given?
bool names_mistake(const json& exercise, const Entry& entry) {
  if (entry.diagnosis == onepass::corpus::kNone) {
    const json& checks = exercise.at("checks");
    return std::all_of(checks.begin(), checks.end(), [](const json& check) {
      return has(check, "status", "passed") || check.value("diagnosis", json()).is_null();
    });
  }
  for (const json& check : exercise.at("checks")) {
    const bool meant = check.at("name").get<std::string>().find(entry.check) == 0;
    if (!has(check, "status", "passed") && meant && has(check, "diagnosis", entry.diagnosis)) {
      return true;
    }
  }
  return false;
}

/// The status and diagnosis of each check that did not pass, for the log.
std::string summary(const json& exercise) {
  std::string text = exercise.at("status").get<std::string>();
  for (const json& check : exercise.at("checks")) {
    if (!has(check, "status", "passed")) {
      text +=
          fmt::format("\n    {} [{}] {}: {}", check.at("status").get<std::string>(),
                      check.value("diagnosis", json()).dump(), check.at("name").get<std::string>(),
                      check.value("message", json()).dump());
    }
  }
  return text;
}

/// The least room that any check of the exercise left.
Margin margin_of(const json& exercise, const Entry& entry, int seed) {
  Margin least;
  for (const json& check : exercise.at("checks")) {
    const json ratio = check.value("error_over_bound", json());
    if (ratio.is_number() && ratio.get<double>() > least.error_over_bound) {
      least = {ratio.get<double>(), fmt::format("{}, seed {}, \"{}\"", entry.name, seed,
                                                check.at("name").get<std::string>())};
    }
  }
  return least;
}

/// What is wrong with the verdict on this entry; empty if nothing is.
std::string complaint_on(const Entry& entry, int seed, Margin& margin) {
  std::string output;
  const json exercise = grade(entry, seed, output);
  if (!exercise.is_null()) {
    margin = margin_of(exercise, entry, seed);
  }
  if (exercise.is_null()) {
    return "no report: " + output;
  }
  if (entry.status != "any" && !lists(entry.status, exercise.at("status")) &&
      !(entry.kind == "wrong" && !has(exercise, "status", "passed") &&
        !has(exercise, "status", "ungraded"))) {
    return "expected " + entry.status + ", got " + summary(exercise);
  }
  if (entry.kind != "right" && entry.status != "passed" && entry.status != "any" &&
      exercise.at("score") == exercise.at("max_score")) {
    return "got the full score";
  }
  if (!entry.diagnosis.empty() && !names_mistake(exercise, entry)) {
    return "no failing check says " + entry.diagnosis + ": " + summary(exercise);
  }
  if (names_another(exercise, entry)) {
    return "a check says one of " + entry.unlike + ": " + summary(exercise);
  }
  return "";
}

/// The same, and on what it leaves behind if it is hostile: `then_honest` is an honest one graded.
std::string complaint(const Entry& entry, int seed, bool then_honest, Margin& margin) {
  if (entry.kind != "hostile") {
    return complaint_on(entry, seed, margin);
  }
  const Files before = onepass::corpus::files_of_workbook(kRepository);
  std::string complaint = complaint_on(entry, seed, margin);
  if (complaint.empty()) {
    complaint = difference(before, onepass::corpus::files_of_workbook(kRepository));
  }
  if (complaint.empty() && then_honest) {
    Margin ignored;
    complaint = complaint_on(onepass::corpus::honest(entry, kRepository), seed, ignored);
    complaint = complaint.empty() ? "" : "the honest one after it, or after all: " + complaint;
  }
  return complaint;
}

bool can_be_seen(const Entry& entry) {
  return entry.needs.empty() || entry.needs == device();
}

struct Job {
  const Entry* entry;
  int seed;
  std::string complaint = "";
  Margin margin = {};
  bool remembered = false;
};

/// What is known of the exercises from earlier runs, on the simulator.
class Memory {
 public:
  /// True if the job's verdict is known, which is then in it.
  bool recall(Job& job) {
    const Margin* margin = device() == "cpu" ? of(*job.entry).find(*job.entry, job.seed) : nullptr;
    job.remembered = margin != nullptr;
    job.margin = job.remembered ? *margin : Margin{};
    return job.remembered;
  }

  void keep(const std::vector<Job>& jobs) {
    for (const Job& job : jobs) {
      if (device() == "cpu" && !job.remembered && job.complaint.empty()) {
        of(*job.entry).add(*job.entry, job.seed, job.margin);
      }
    }
    for (const auto& [exercise, remembered] : exercises_) {
      remembered.save();
    }
  }

 private:
  Remembered& of(const Entry& entry) {
    auto found = exercises_.find(entry.exercise);
    if (found == exercises_.end()) {
      const fs::path file = fs::path(ONEPASS_BINARY_DIR) / "corpus" / (entry.exercise + ".json");
      const std::string grading = onepass::corpus::what_grades(config_, entry.exercise);
      found = exercises_.emplace(entry.exercise, Remembered(file, grading)).first;
    }
    return found->second;
  }

  onepass::driver::Config config_ =
      onepass::driver::read_config(fs::path(ONEPASS_BINARY_DIR) / "onepass.json");
  std::map<std::string, Remembered> exercises_;
};

/// Carries out the jobs, several at a time.
void grade_all(const std::vector<Job*>& jobs) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t index; (index = next++) < jobs.size();) {
      Job& job = *jobs[index];
      // What spoils the grading of honest ones spoils it for good: the quick run asks at the end.
      const bool then_honest = !is_quick() || index + 1 == jobs.size();
      job.complaint = complaint(*job.entry, job.seed, then_honest, job.margin);
    }
  };
  // What a hostile one leaves behind is told by what is there after it: one at a time.
  const bool is_hostile = !jobs.empty() && jobs.front()->entry->kind == "hostile";
  std::vector<std::thread> workers;
  for (unsigned worker = 0; worker < (is_hostile ? 1 : at_once()); ++worker) {
    workers.emplace_back(work);
  }
  for (std::thread& worker : workers) {
    worker.join();
  }
}

/// Grades the entries of a kind under each of the seeds.
std::vector<Job> grade_entries(const std::vector<Entry>& entries, const std::string& kind,
                               const std::vector<int>& seeds) {
  std::vector<Job> jobs;
  for (const Entry& entry : entries) {
    if (entry.kind == kind && can_be_seen(entry)) {
      for (int seed : seeds) {
        jobs.push_back({&entry, seed});
      }
    }
  }
  Memory memory;
  std::vector<Job*> unknown;
  for (Job& job : jobs) {
    if (!memory.recall(job)) {
      unknown.push_back(&job);
    }
  }
  grade_all(unknown);
  memory.keep(jobs);
  for (const Job& job : jobs) {
    CHECK_MESSAGE(job.complaint.empty(), job.entry->name, " (seed ", job.seed,
                  "): ", job.complaint);
  }
  return jobs;
}

/// What is graded: as much of the corpus as this run is asked for.
std::vector<Entry> entries() {
  const std::string part = environment("ONEPASS_CORPUS", "");
  std::vector<Entry> wanted;
  for (const Entry& entry : is_quick() ? onepass::corpus::quick_run(kRepository)
                                       : onepass::corpus::entries(kRepository)) {
    if (entry.name.find(part) != std::string::npos) {
      wanted.push_back(entry);
    }
  }
  return wanted;
}

/// Of each exercise, the result that came nearest to its bound; and none may come too near.
void check_margins(const std::vector<Job>& jobs) {
  std::map<std::string, Margin> least;
  for (const Job& job : jobs) {
    Margin& margin = least[job.entry->exercise];
    if (job.margin.error_over_bound >= margin.error_over_bound) {
      margin = job.margin;
    }
  }
  for (const auto& [exercise, margin] : least) {
    fmt::print("{:36} {:.2f} of the bound: {}\n", exercise, margin.error_over_bound, margin.where);
    CHECK_MESSAGE((device() == "gpu" || margin.error_over_bound <= kMostOfBound), margin.where);
  }
}

}  // namespace

TEST_CASE("every right implementation passes, whatever the seed") {
  const std::vector<Entry> all = entries();
  check_margins(grade_entries(all, "right", seeds()));
}

TEST_CASE("every wrong implementation fails, and its mistake is named") {
  grade_entries(entries(), "wrong", {1});
}

TEST_CASE("nothing hostile passes, stalls the grader or is mistaken for something else") {
  grade_entries(entries(), "hostile", {1});
}

TEST_CASE("every exercise has right kernels and wrong ones") {
  const std::vector<Entry> corpus = onepass::corpus::entries(kRepository);
  const onepass::driver::Config config =
      onepass::driver::read_config(fs::path(ONEPASS_BINARY_DIR) / "onepass.json");
  for (const onepass::driver::Chapter& chapter : config.chapters) {
    for (const onepass::driver::Exercise& exercise : chapter.exercises) {
      for (const char* kind : {"right", "wrong"}) {
        const auto is_one = [&](const Entry& entry) {
          return entry.exercise == exercise.id && entry.kind == kind;
        };
        CHECK_MESSAGE(std::any_of(corpus.begin(), corpus.end(), is_one), exercise.id, " ", kind);
      }
    }
  }
}

TEST_CASE("an edit must fit its solution exactly once") {
  using onepass::corpus::replaced;
  CHECK(replaced("one two", "two", "three") == "one three");
  CHECK_THROWS(replaced("one two", "three", "four"));
  CHECK_THROWS(replaced("one one", "one", "two"));
  CHECK_THROWS(replaced("one", "", "two"));
}
