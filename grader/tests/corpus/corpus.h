// The corpus: submissions whose verdict is known. See README.md beside this file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace onepass::corpus {

/// The diagnosis of a wrong kernel whose mistake has no name.
constexpr const char* kNone = "none";

struct Entry {
  std::string name;              // "rmsnorm/forward/wrong/eps-ignored"
  std::string exercise;          // "rmsnorm/forward"
  std::string kind;              // "right", "wrong" or "hostile"
  std::filesystem::path source;  // the file's place in a submission: "01_rmsnorm/forward.cu"
  std::string text;              // the student's file

  std::string status = "failed";  // of the exercise; for right ones "passed"
  std::string diagnosis;          // the id that a failing check must have, kNone, or empty
  std::string unlike;             // "eps-ignored, no-root": ids that no check may have, or empty
  std::string check;              // how that check's name begins, or empty
  std::string says;               // part of that check's message, or empty
  std::string needs;              // the device that alone can see it, or empty
  std::string base;               // "right/welford.cu": what an .edit changes; empty: the solution
  std::string slow;               // why its grading takes long, or empty
};

/// All entries below grader/tests/corpus, by name. Throws
/// std::runtime_error, which names the file, for an entry that is malformed or does not fit its
/// solution.
std::vector<Entry> entries(const std::filesystem::path& repository);

/// Of them what the quick run grades, the shortest entry of each point: every way to be right and
/// every attack, by its name; every mistake of a chapter's formulas, in each of the chapters; every
/// mistake that is told whatever the formulas are, such as a race, once. Nothing that is slow.
std::vector<Entry> quick_run(const std::filesystem::path& repository);

/// Every attack, as in the quick run, and of all others each whose number leaves `remainder` when
/// divided by `shares`: what has not the time to grade all grades a share, and another one the next
/// time.
std::vector<Entry> share(const std::filesystem::path& repository, int remainder, int shares);

/// The workbook's solution of the entry's exercise, which passes.
Entry honest(const Entry& entry, const std::filesystem::path& repository);

/// `text` with one change: `before` must occur exactly once. Throws std::runtime_error otherwise.
std::string replaced(const std::string& text, const std::string& before, const std::string& after);

}  // namespace onepass::corpus
