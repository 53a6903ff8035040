// The folder of a class's results:
//
//     class.csv, junit.xml     of all students
//     reports/ada.json         for the instructor: everything, with the seed
//     feedback/ada.md, .html   for the student
//     gradescope/ada.json      the same for Gradescope
//     graded/                  what has been graded (store.h)
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "driver/class/student_report.h"
#include "driver/report.h"

namespace onepass::driver::course {

class Results {
 public:
  /// `csv`: where the table goes; empty: class.csv. `hidden`: folders that no student is told of.
  Results(const Course& course, std::filesystem::path out, std::filesystem::path csv,
          std::vector<std::filesystem::path> hidden);

  /// What is written of one student. From any thread, of different students.
  void write_student(const Json& report) const;

  /// Of all: takes note of one, then writes the tables. Not from several threads.
  void add(const Json& report);
  void write_tables() const;

  /// For the terminal: a line a student, and how many have passed each exercise.
  std::string table() const;

  bool has_ungraded() const { return has_ungraded_; }
  std::size_t not_graded_yet() const { return not_graded_yet_; }

 private:
  struct Row {
    std::string student, grade, passed, remark;
  };

  const Course& course_;
  const std::filesystem::path out_, csv_;
  std::vector<std::filesystem::path> hidden_;
  std::vector<Row> rows_;
  std::string csv_lines_, junit_;
  std::map<std::string, int> passed_;  // by exercise
  std::vector<double> grades_;
  bool has_ungraded_ = false;
  std::size_t not_graded_yet_ = 0;
};

}  // namespace onepass::driver::course
