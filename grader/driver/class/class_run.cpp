#include "driver/class/class_run.h"

#include <fmt/format.h>

#include <optional>

#include "driver/bad_input.h"
#include "driver/cache.h"
#include "driver/class/container.h"
#include "driver/class/exports.h"
#include "driver/class/shard.h"
#include "driver/class/told.h"
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

std::string name_of(const Key& key) {
  return key.settings.dump() + key.source;
}

}  // namespace

ClassRun::ClassRun(const Config& config, const ClassOptions& options, const Policy& policy)
    : config_(config),
      options_(options),
      policy_(policy),
      course_(make_course(config, policy_, choose_device(config, policy_.device))),
      out_(plain(options.out)),
      store_(out_ / "graded"),
      grading_(config, policy_, course_.device, store_),
      results_(course_, out_, options.csv.empty() ? fs::path() : plain(options.csv),
               {plain(options.folder), out_, config.build, config.source}) {}

void ClassRun::read() {
  if (policy_.require_confinement) {
    require_confinement();
  }
  if (lies_in(out_, plain(options_.folder))) {
    throw BadInput("The results cannot lie among the submissions: give another folder with --out.");
  }
  if (!options_.container.empty() && (lies_in(out_, plain(config_.source)) ||
                                      lies_in(plain(options_.folder), plain(config_.source)))) {
    throw BadInput(
        "With --container submissions and results have to lie outside of the workbook, which every "
        "container sees.");
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

// In containers nothing is shared: what one leaves counts for its own student.
void ClassRun::find_files() {
  files_left_ = std::make_unique<std::atomic<std::size_t>[]>(submissions_.size());
  std::map<std::string, std::size_t> known;  // where in files_; those that are graded: no place
  constexpr std::size_t kGraded = static_cast<std::size_t>(-1);
  for (std::size_t student = 0; student < submissions_.size(); ++student) {
    for (const Task& task : submissions_[student].tasks) {
      for (const std::uint64_t seed : policy_.seeds) {
        if (!task.missing.empty()) {
          continue;
        }
        if (!options_.container.empty()) {
          files_left_[student] += file_report(student, task, seed) ? 0 : 1;
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

void ClassRun::grade() {
  std::vector<std::size_t> to_grade;
  std::size_t files = 0;
  for (std::size_t student = 0; student < submissions_.size(); ++student) {
    if (files_left_[student] == 0) {
      results_.write_student(report_of(student));
    } else {
      to_grade.push_back(student);
      files += files_left_[student];
    }
  }
  if (options_.merge) {
    return;
  }
  const bool contained = !options_.container.empty();
  status_ = std::make_unique<Status>(submissions_.size(), contained ? files : files_.size(),
                                     submissions_.size() - to_grade.size());
  std::optional<GpuLock> lock;
  if (policy_.measure && !contained) {
    lock.emplace(config_.build, course_.device);
  }
  // Two kernels at once on one GPU would spoil each other's times.
  const std::size_t jobs = course_.device == Device::gpu ? 1
                           : options_.jobs > 0           ? options_.jobs
                                                         : processors();
  parallel_for(contained ? to_grade.size() : files_.size(), jobs, [&](std::size_t i) {
    if (!process::interrupted()) {
      contained ? grade_contained(to_grade[i]) : grade(files_[i]);
    }
  });
  status_.reset();
}

void ClassRun::grade(File& file) {
  std::optional<Json> not_kept;
  try {
    Json report = grading_.grade(*file.task, file.seed);
    if (!store_.load(file.key)) {
      not_kept = std::move(report);
    }
  } catch (const BadInput&) {
    throw;
  } catch (const std::exception& fault) {
    if (process::interrupted()) {
      return;
    }
    not_kept = fault_report(*file.task, file.seed, printable(fault.what()));
  }
  if (not_kept) {
    const std::lock_guard lock(mutex_);
    faulty_[name_of(file.key)] = std::move(*not_kept);
  }
  status_->file_done();
  for (const std::size_t student : file.students) {
    if (--files_left_[student] == 0) {
      write_student(student);
    }
  }
}

fs::path ClassRun::contained(std::size_t student) const {
  return out_ / "contained" / fingerprint(submissions_[student].student);
}

void ClassRun::grade_contained(std::size_t student) {
  const Container container = {container_engine(), options_.container, contained(student)};
  const auto fault =
      grade_in_container(container, config_, policy_, course_.device, submissions_[student]);
  if (process::interrupted()) {
    return;
  }
  note_fault(student, fault.value_or("The container has left no report of it."));
  for (std::size_t left = files_left_[student]; left > 0; --left) {
    status_->file_done();
  }
  write_student(student);
}

// Told of what has no report.
void ClassRun::note_fault(std::size_t student, const std::string& fault) {
  const std::lock_guard lock(mutex_);
  faults_[student] = fault;
}

void ClassRun::write_student(std::size_t student) {
  results_.write_student(report_of(student));
  status_->student_done();
}

Json ClassRun::fault_report(const Task& task, std::uint64_t seed, const std::string& fault) const {
  Json report = make_report(course_.device, "", seed);
  report["confinement"] = confinement_report(process::layers());
  Json exercise = make_exercise(course_.infos.at(task.exercise->id), task.shown);
  exercise["fault"] = fault;
  report["exercises"].push_back(std::move(exercise));
  return report;
}

std::optional<Json> ClassRun::file_report(std::size_t student, const Task& task,
                                          std::uint64_t seed) {
  const Key key = grading_.key_of(task, seed);
  if (options_.container.empty()) {
    if (auto kept = store_.load(key)) {
      return kept;
    }
    const std::lock_guard lock(mutex_);
    const auto found = faulty_.find(name_of(key));
    return found == faulty_.end() ? std::nullopt : std::optional<Json>(found->second);
  }
  try {
    auto left = Store(contained(student) / "out/graded").load(key);
    if (left && is_report_of(*left, course_.infos.at(task.exercise->id))) {
      return left;
    }
  } catch (const nlohmann::json::exception&) {
    // It is no report of ours.
  }
  const std::lock_guard lock(mutex_);
  const auto fault = faults_.find(student);
  return fault == faults_.end() ? std::nullopt
                                : std::optional<Json>(fault_report(task, seed, fault->second));
}

Json ClassRun::report_of(std::size_t student) {
  const auto put_together = [&] {
    return student_report(
        course_, submissions_[student],
        [&](const Task& task, std::uint64_t seed) { return file_report(student, task, seed); });
  };
  if (options_.container.empty()) {
    return put_together();
  }
  try {  // what is made of it, tried before it is made: a stranger may have written it
    Json report = put_together();
    told(report, policy_, {});
    junit_suite(report);
    return report;
  } catch (const nlohmann::json::exception&) {
    std::error_code error;
    fs::remove_all(contained(student) / "out", error);
    note_fault(student, "The container has left a report that is none.");
    return put_together();
  }
}

}  // namespace onepass::driver::course
