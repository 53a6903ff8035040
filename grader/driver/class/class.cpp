#include "driver/class/class.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "driver/bad_input.h"
#include "driver/class/grading.h"
#include "driver/class/policy.h"
#include "driver/class/results.h"
#include "driver/class/shard.h"
#include "driver/class/status.h"
#include "driver/class/student_report.h"
#include "driver/class/submissions.h"
#include "driver/files.h"
#include "driver/gpu_lock.h"
#include "driver/grade.h"
#include "driver/includes.h"
#include "driver/parallel.h"
#include "driver/printable.h"
#include "process/confinement.h"
#include "process/interrupt.h"

namespace onepass::driver::course {
namespace fs = std::filesystem;

namespace {

Policy policy_for(const Config& config, const ClassOptions& options) {
  Policy policy = options.policy.empty() ? Policy() : read_policy(config, options.policy);
  if (options.seed) {
    policy.seeds = {*options.seed};
  }
  if (!options.device.empty()) {
    policy.device = options.device;
  }
  return policy;
}

// One file that is to be graded, whoever handed it in.
struct File {
  const Task* task;
  std::uint64_t seed;
  Key key;
  std::vector<std::size_t> students;
};

class Class {
 public:
  Class(const Config& config, const ClassOptions& options)
      : options_(options),
        policy_(policy_for(config, options)),
        course_(make_course(config, policy_, choose_device(config, policy_.device))),
        out_(plain(options.out)),
        store_(out_ / "graded"),
        grading_(config, policy_, course_.device, store_),
        results_(course_, out_, options.csv.empty() ? fs::path() : plain(options.csv),
                 {plain(options.folder), out_, config.build, config.source}) {}

  void read();
  void grade();
  void finish();
  int exit_code() const;

 private:
  void find_files();
  void grade(File& file);
  void tell_of_those_done(const File& file);
  Json report_of(std::size_t student);

  const ClassOptions& options_;
  const Policy policy_;
  const Course course_;
  const fs::path out_;
  const Store store_;
  Grading grading_;
  Results results_;
  std::vector<Submission> submissions_;
  std::vector<std::string> passed_over_;
  std::vector<File> files_;                                 // that are not graded yet
  std::unique_ptr<std::atomic<std::size_t>[]> files_left_;  // of each student
  std::mutex mutex_;                                        // for
  std::map<std::string, Json> faulty_;  // reports that are not kept, by their keys' texts
  std::unique_ptr<Status> status_;
};

std::string name_of(const Key& key) {
  return key.settings.dump() + key.source;
}

void Class::read() {
  if (policy_.require_confinement) {
    require_confinement();
  }
  if (lies_in(out_, plain(options_.folder))) {
    throw BadInput("The results cannot lie among the submissions: give another folder with --out.");
  }
  Submissions found = find_submissions(options_.folder);
  passed_over_ = std::move(found.passed_over);
  const Shard shard = shard_named(options_.shard);
  for (std::size_t i = 0; i < found.all.size(); ++i) {
    if (shard.has(i)) {
      submissions_.push_back(std::move(found.all[i]));
    }
  }
  parallel_for(submissions_.size(), processors(), [&](std::size_t i) {
    if (!process::interrupted()) {
      read_submission(submissions_[i], course_.exercises);
    }
  });
  find_files();
}

void Class::find_files() {
  files_left_ = std::make_unique<std::atomic<std::size_t>[]>(submissions_.size());
  std::map<std::string, std::size_t> known;  // where in files_; those that are graded: no place
  constexpr std::size_t kGraded = static_cast<std::size_t>(-1);
  for (std::size_t student = 0; student < submissions_.size(); ++student) {
    for (const Task& task : submissions_[student].tasks) {
      for (const std::uint64_t seed : policy_.seeds) {
        if (!task.missing.empty()) {
          continue;
        }
        Key key = grading_.key_of(task, seed);
        const auto [place, is_new] = known.try_emplace(name_of(key), files_.size());
        if (is_new && store_.load(key)) {
          place->second = kGraded;
        } else if (is_new) {
          files_.push_back({&task, seed, std::move(key), {}});
        }
        if (place->second != kGraded) {
          files_[place->second].students.push_back(student);
          ++files_left_[student];
        }
      }
    }
  }
}

void Class::grade() {
  std::size_t done = 0;
  for (std::size_t student = 0; student < submissions_.size(); ++student) {
    if (files_left_[student] == 0) {
      results_.write_student(report_of(student));
      ++done;
    }
  }
  if (options_.merge) {
    return;
  }
  status_ = std::make_unique<Status>(submissions_.size(), files_.size(), done);
  std::optional<GpuLock> lock;
  if (policy_.measure) {
    lock.emplace(course_.config->build, course_.device);
  }
  // Two kernels at once on one GPU would spoil each other's times.
  const std::size_t jobs = course_.device == Device::gpu ? 1
                           : options_.jobs > 0           ? options_.jobs
                                                         : processors();
  parallel_for(files_.size(), jobs, [&](std::size_t i) {
    if (!process::interrupted()) {
      grade(files_[i]);
    }
  });
  status_.reset();
}

void Class::grade(File& file) {
  try {
    const Json report = grading_.grade(*file.task, file.seed);
    if (!store_.load(file.key)) {
      const std::lock_guard lock(mutex_);
      faulty_[name_of(file.key)] = report;
    }
  } catch (const BadInput&) {
    throw;
  } catch (const GraderFault& fault) {
    if (process::interrupted()) {
      return;
    }
    Json report = make_report(course_.device, "", file.seed);
    report["confinement"] = confinement_report(process::layers());
    Json exercise = make_exercise(course_.infos.at(file.task->exercise->id), file.task->shown);
    exercise["fault"] = printable(fault.what());
    report["exercises"].push_back(std::move(exercise));
    const std::lock_guard lock(mutex_);
    faulty_[name_of(file.key)] = std::move(report);
  }
  tell_of_those_done(file);
}

void Class::tell_of_those_done(const File& file) {
  status_->file_done();
  for (const std::size_t student : file.students) {
    if (--files_left_[student] == 0) {
      results_.write_student(report_of(student));
      status_->student_done();
    }
  }
}

Json Class::report_of(std::size_t student) {
  return student_report(course_, submissions_[student],
                        [&](const Task& task, std::uint64_t seed) -> std::optional<Json> {
                          const Key key = grading_.key_of(task, seed);
                          if (auto kept = store_.load(key)) {
                            return kept;
                          }
                          const std::lock_guard lock(mutex_);
                          const auto found = faulty_.find(name_of(key));
                          return found == faulty_.end() ? std::nullopt
                                                        : std::optional<Json>(found->second);
                        });
}

void Class::finish() {
  for (std::size_t student = 0; student < submissions_.size(); ++student) {
    results_.add(report_of(student));
  }
  if (options_.shard.empty()) {
    results_.write_tables();
  }
  fmt::print("{}", results_.table());
  for (const std::string& gap : process::gaps(process::layers())) {
    fmt::print("\nNot all that confines a submission is there. {}\n", gap);
  }
  for (const std::string& name : passed_over_) {
    fmt::print("\n{} is neither a folder nor an archive: passed over.\n", name);
  }
  if (results_.not_graded_yet() > 0) {
    fmt::print(
        "\n{} of {} students are not graded yet: {}.\n", results_.not_graded_yet(),
        submissions_.size(),
        options_.merge ? "run the parts that they are in" : "the same command goes on from here");
  }
  if (results_.has_ungraded() && results_.not_graded_yet() == 0) {
    fmt::print(
        "\nSomething could not be graded, through no fault of the students': the reports "
        "say why, and the same command tries that again.\n");
  }
  fmt::print("\nReports and feedback: {}\n", printable_line(out_.string()));
  std::fflush(stdout);
}

int Class::exit_code() const {
  return process::interrupted()                                     ? kInterrupted
         : results_.has_ungraded() || results_.not_graded_yet() > 0 ? kUngraded
                                                                    : kComplete;
}

}  // namespace

int grade_class(const Config& config, const ClassOptions& options) {
  Class all(config, options);
  all.read();
  all.grade();
  all.finish();
  return all.exit_code();
}

}  // namespace onepass::driver::course
