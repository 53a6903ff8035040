// Verdicts that need not be found out again: of an entry that was as it should be, and of which
// nothing has changed since.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "driver/config.h"
#include "tests/corpus/corpus.h"

namespace onepass::corpus {

/// Everything but the entry that its verdict follows from, as one fingerprint: the programs that
/// build and grade it and this test, the headers, libraries and flags of a worker, the binding.
std::string what_grades(const driver::Config& config, const std::string& exercise);

/// How near a result came to its bound: a check's largest error, of fp32 results.
struct Margin {
  double error_over_bound = 0.0;
  std::string where;  // entry, seed and check
};

/// The good verdicts of one exercise, kept in a file from one run of the test to the next. One
/// process at a time; call it from one thread.
class Remembered {
 public:
  /// `grading`: what_grades(). A file that is missing or damaged remembers nothing.
  Remembered(std::filesystem::path file, std::string grading);

  /// The margin of the verdict, if it is known and good; nullptr otherwise.
  const Margin* find(const Entry& entry, int seed) const;
  void add(const Entry& entry, int seed, const Margin& margin);
  void save() const;

 private:
  struct Verdict {
    std::string content;  // a fingerprint of all that it follows from
    Margin margin;
  };
  std::string content(const Entry& entry) const;

  std::filesystem::path file_;
  std::string grading_;
  std::map<std::string, Verdict> known_;  // by entry and seed
};

}  // namespace onepass::corpus
