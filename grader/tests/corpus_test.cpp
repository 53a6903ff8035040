// Grades the corpus with `onepass grade`, as a user would: every right implementation passes under
// several seeds, every wrong one fails with its mistake named, nothing hostile gets away with it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "driver/process.h"
#include "tests/corpus/corpus.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using onepass::corpus::Entry;

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

/// Right kernels are graded under these: 1 and 2, or as many as ONEPASS_CORPUS_SEEDS says.
std::vector<int> seeds() {
  std::vector<int> all(std::stoul(environment("ONEPASS_CORPUS_SEEDS", "2")));
  std::iota(all.begin(), all.end(), 1);
  return all;
}

/// What the simulator counts is tested elsewhere. A timed call on a GPU can go wrong by itself, so
/// there everything is measured too, unless ONEPASS_CORPUS_CHECKS_ONLY is set.
bool checks_only() {
  return device() == "cpu" || !environment("ONEPASS_CORPUS_CHECKS_ONLY", "").empty();
}

/// A folder for one submission, gone with this object.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "onepass-corpus-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// The report's object of the entry's exercise. Null, with `output` saying why, if there is none.
json grade(const Entry& entry, int seed, std::string& output) {
  const Scratch scratch;
  const fs::path submission = scratch.path() / "submission";
  fs::copy(kRepository / "solutions", submission, fs::copy_options::recursive);
  std::ofstream(submission / entry.source, std::ios::binary) << entry.text;
  const fs::path report = scratch.path() / "report.json";
  std::vector<std::string> command = {kDriver.string(),     "grade",      "--submission",
                                      submission.string(),  "--exercise", entry.exercise,
                                      "--device",           device(),     "--seed",
                                      std::to_string(seed), "--report",   report.string()};
  if (checks_only()) {
    command.push_back("--checks-only");
  }
  const onepass::driver::ProcessResult result =
      onepass::driver::run_process(command, {300, 1 << 20});
  output = result.describe() + "\n" + result.output;
  if (!result.succeeded() || !fs::exists(report)) {
    return nullptr;
  }
  return json::parse(std::ifstream(report)).at("exercises").at(0);
}

bool has(const json& check, const char* key, const std::string& value) {
  return check.contains(key) && check.at(key).is_string() && check.at(key) == value;
}

/// Does a failing check name the mistake (and is it the check that was meant)?
bool names_mistake(const json& exercise, const Entry& entry) {
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

/// How near a result came to its bound: a check's largest error, of fp32 results.
struct Margin {
  double error_over_bound = 0.0;
  std::string where;  // entry, seed and check
};

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
std::string complaint(const Entry& entry, int seed, Margin& margin) {
  std::string output;
  const json exercise = grade(entry, seed, output);
  if (!exercise.is_null()) {
    margin = margin_of(exercise, entry, seed);
  }
  if (exercise.is_null()) {
    return "no report: " + output;
  }
  if (entry.status != "any" && !has(exercise, "status", entry.status) &&
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
  return "";
}

bool can_be_seen(const Entry& entry) {
  return entry.needs.empty() || (entry.needs == "gpu" && device() == "gpu");
}

struct Job {
  const Entry* entry;
  int seed;
  std::string complaint = "";
  Margin margin = {};
};

/// Grades all entries of a kind, several at a time, under each of the seeds.
std::vector<Job> grade_all(const std::vector<Entry>& entries, const std::string& kind,
                           const std::vector<int>& seeds) {
  std::vector<Job> jobs;
  for (const Entry& entry : entries) {
    if (entry.kind == kind && can_be_seen(entry)) {
      for (int seed : seeds) {
        jobs.push_back({&entry, seed});
      }
    }
  }
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t job; (job = next++) < jobs.size();) {
      jobs[job].complaint = complaint(*jobs[job].entry, jobs[job].seed, jobs[job].margin);
    }
  };
  std::vector<std::thread> workers;
  // One at a time where they are timed: a GPU that is shared is slower.
  const unsigned most = checks_only() ? std::max(1u, std::thread::hardware_concurrency()) : 1u;
  for (unsigned worker = 0; worker < most; ++worker) {
    workers.emplace_back(work);
  }
  for (std::thread& worker : workers) {
    worker.join();
  }
  for (const Job& job : jobs) {
    CHECK_MESSAGE(job.complaint.empty(), job.entry->name, " (seed ", job.seed,
                  "): ", job.complaint);
  }
  return jobs;
}

std::vector<Entry> entries() {
  return onepass::corpus::entries(kRepository, environment("ONEPASS_CORPUS", ""));
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
  check_margins(grade_all(all, "right", seeds()));
}

TEST_CASE("every wrong implementation fails, and its mistake is named") {
  grade_all(entries(), "wrong", {1});
}

TEST_CASE("nothing hostile passes, stalls the grader or is mistaken for something else") {
  grade_all(entries(), "hostile", {1});
}

TEST_CASE("an edit must fit its solution exactly once") {
  using onepass::corpus::replaced;
  CHECK(replaced("one two", "two", "three") == "one three");
  CHECK_THROWS(replaced("one two", "three", "four"));
  CHECK_THROWS(replaced("one one", "one", "two"));
  CHECK_THROWS(replaced("one", "", "two"));
}
