// Grades the corpus with `onepass grade`, as a user would: every right implementation passes under
// several seeds, every wrong one fails with its mistake named, nothing hostile gets away with it.
// After a hostile one nothing may be left of it, and an honest one gets full marks.
//
// A wrong entry is graded until its mistake is named. On the simulator good verdicts are remembered
// (corpus/remembered.h). `make check` leaves a part out, see quick_run(); `make check_all` does
// not, unless ONEPASS_CORPUS_SHARE says which share() is wanted: "1/6", say.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "driver/config.h"
#include "tests/corpus/corpus.h"
#include "tests/corpus/grading.h"
#include "tests/corpus/remembered.h"

namespace {

namespace fs = std::filesystem;
using onepass::corpus::device;
using onepass::corpus::Entry;
using onepass::corpus::environment;
using onepass::corpus::is_quick;
using onepass::corpus::Margin;
using onepass::corpus::Remembered;

const fs::path kRepository = ONEPASS_SOURCE_DIR;
// How near to its bound an fp32 result of a right kernel may come in the simulator. Of a long sum
// of numbers of one sign, added up one by one in a single thread, the standard deviation is a
// quarter of the bound (each rounding is u / sqrt(3) of a partial sum's power of two): the largest
// of some hundred comes to three quarters at most.
constexpr double kMostOfBound = 0.75;

std::string share() {
  return environment("ONEPASS_CORPUS_SHARE", "");
}

/// Right kernels are graded under these: 1 and 2, where a part of the corpus is graded 1, or as
/// many as ONEPASS_CORPUS_SEEDS says.
std::vector<int> seeds() {
  const bool is_part = is_quick() || !share().empty();
  std::vector<int> all(std::stoul(environment("ONEPASS_CORPUS_SEEDS", is_part ? "1" : "2")));
  std::iota(all.begin(), all.end(), 1);
  return all;
}

/// As many gradings at a time as there are processors, or as ONEPASS_CORPUS_JOBS says. One where
/// they are timed: a GPU that is shared is slower.
unsigned at_once() {
  const std::string processors = fmt::format("{}", std::thread::hardware_concurrency());
  const int jobs = std::stoi(environment("ONEPASS_CORPUS_JOBS", processors.c_str()));
  return onepass::corpus::checks_only() ? static_cast<unsigned>(std::max(1, jobs)) : 1u;
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
      // What spoils the grading of honest ones spoils it for good: asked at the end.
      const bool then_honest = index + 1 == jobs.size();
      job.complaint = onepass::corpus::complaint(*job.entry, job.seed, then_honest, job.margin);
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
  std::vector<Entry> all;
  if (is_quick()) {
    all = onepass::corpus::quick_run(kRepository);
  } else if (!share().empty()) {
    const std::size_t slash = share().find('/');
    const int shares = std::stoi(share().substr(slash + 1));
    all = onepass::corpus::share(kRepository, std::stoi(share()) % shares, shares);
  } else {
    all = onepass::corpus::entries(kRepository);
  }
  std::vector<Entry> wanted;
  for (const Entry& entry : all) {
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
