// A class on its way from submissions to results.
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "driver/class/class.h"
#include "driver/class/grading.h"
#include "driver/class/policy.h"
#include "driver/class/results.h"
#include "driver/class/status.h"
#include "driver/class/store.h"
#include "driver/class/student_report.h"
#include "driver/class/submissions.h"

namespace onepass::driver::course {

/// One file that is to be graded, whoever handed it in.
struct File {
  const Task* task;
  std::uint64_t seed;
  Key key;
  std::vector<std::size_t> students;
};

class ClassRun {
 public:
  ClassRun(const Config& config, const ClassOptions& options, const Policy& policy);

  /// Finds and reads the submissions, and what of them has been graded before.
  void read();
  /// Grades the rest, and writes each student's report and feedback once it is known.
  void grade();
  /// Writes and prints the tables.
  void finish();
  int exit_code() const;

 private:
  void find_files();
  void grade(File& file);
  void grade_contained(std::size_t student);
  void note_fault(std::size_t student, const std::string& fault);
  void write_student(std::size_t student);
  std::filesystem::path contained(std::size_t student) const;
  std::optional<Json> file_report(std::size_t student, const Task& task, std::uint64_t seed);
  Json fault_report(const Task& task, std::uint64_t seed, const std::string& fault) const;
  Json report_of(std::size_t student);

  const Config& config_;
  const ClassOptions& options_;
  const Policy policy_;
  const Course course_;
  const std::filesystem::path out_;
  const Store store_;
  Grading grading_;
  Results results_;
  std::vector<Submission> submissions_;
  std::vector<std::string> passed_over_;
  std::vector<File> files_;                                 // that are not graded yet
  std::unique_ptr<std::atomic<std::size_t>[]> files_left_;  // of each student
  std::mutex mutex_;                                        // for what follows
  std::map<std::string, Json> faulty_;         // reports that are not kept, by their keys' texts
  std::map<std::size_t, std::string> faults_;  // of students' containers
  std::unique_ptr<Status> status_;
};

}  // namespace onepass::driver::course
