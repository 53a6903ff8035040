#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <set>

#include "driver/bad_input.h"
#include "driver/class/copies.h"
#include "driver/files.h"
#include "driver/printable.h"
#include "driver/skeleton.h"
#include "driver/text.h"

namespace onepass::driver::course {
namespace fs = std::filesystem;

namespace {

bool begins_with(const std::string& text, const std::string& beginning) {
  return text.compare(0, beginning.size(), beginning) == 0;
}

// Not: what has solutions in it, and what is for those who grade or change the workbook. The tests
// are full of right kernels, and the ladders lead to them.
bool is_students(const std::string& file) {
  for (const char* part :
       {"solutions/", "grader/tests/", "grader/outlines/", "docs/ladder/", "docs/solutions.md",
        "docs/instructors.md", "docs/class.md", "docs/contributing.md", "docs/testing.md",
        "docs/adding_an_exercise.md", "docs/colab.ipynb", ".ci/", "README.md",
        "grader/driver/class/student_README.md", "exercises/"}) {
    if (begins_with(file, part)) {
      return false;
    }
  }
  return true;
}

// A solution with its marks and nothing between them.
std::string outline_of(const std::string& solution) {
  static const std::regex mark(R"(\s*// \[(solution \d+|end)\]\s*)");
  std::string outline;
  bool inside = false;
  for (const std::string& line : lines_of(solution)) {
    const bool is_mark = std::regex_match(line, mark);
    if (is_mark || !inside) {
      outline += line + "\n";
    }
    inside = is_mark ? !inside : inside;
  }
  return outline;
}

std::string trimmed(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  return begin == std::string::npos ? ""
                                    : line.substr(begin, line.find_last_not_of(" \t") + 1 - begin);
}

// Is all of the code given?
bool is_given(const std::vector<std::string>& code, const std::string& skeleton) {
  std::set<std::string> given = {""};
  for (const std::string& line : lines_of(skeleton)) {
    given.insert(trimmed(line));
  }
  return std::all_of(code.begin(), code.end(),
                     [&](const std::string& line) { return given.count(trimmed(line)) != 0; });
}

}  // namespace

std::string without_solutions(const Config& config, const std::string& page) {
  static const std::regex quoted(R"(<!-- quoted from (solutions/\S+) -->)");
  const std::vector<std::string> lines = lines_of(page);
  std::string result;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::smatch match;
    if (!std::regex_match(lines[i], match, quoted)) {
      result += lines[i] + "\n";
      continue;
    }
    std::size_t end = i + 2;  // the comment, and the line that opens the block
    while (end < lines.size() && !begins_with(lines[end], "```")) {
      ++end;
    }
    const std::vector<std::string> code(lines.begin() + static_cast<std::ptrdiff_t>(i) + 2,
                                        lines.begin() + static_cast<std::ptrdiff_t>(end));
    const std::string file = match[1];
    if (is_given(code, skeleton_of(read_file(config.source / file), file))) {
      for (; i <= end && i < lines.size(); ++i) {
        result += lines[i] + "\n";
      }
      --i;
    } else {
      result += "*(Here the workbook shows a part of its solution.)*\n";
      i = end;
    }
  }
  return result;
}

std::string hand_out(const Config& config, const fs::path& folder) {
  const fs::path to = plain(folder);
  const std::string shown = printable_line(folder.string());
  std::error_code error;
  if (fs::exists(to, error) && !fs::is_empty(to, error)) {
    throw BadInput(fmt::format("{} is not empty: give a new folder.", shown));
  }
  if (!config.has_solutions()) {
    throw BadInput("This copy of the workbook has no solutions, and so none to leave out.");
  }
  copy_workbook(config, to, is_students);
  for (const Chapter& chapter : config.chapters) {
    for (const Exercise& exercise : chapter.exercises) {
      const fs::path file = config.solution_of(chapter, exercise);
      const std::string solution = read_file(file);
      write_file(to / "exercises" / chapter.folder / exercise.file,
                 skeleton_of(solution, file.string()));
      write_file(to / "grader/outlines" / chapter.folder / exercise.file, outline_of(solution));
    }
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(to / "docs", error)) {
    if (entry.path().extension() == ".md") {
      write_file(entry.path(), without_solutions(config, read_file(entry.path())));
    }
  }
  write_file(to / "README.md", read_file(config.source / "grader/driver/class/student_README.md"));
  return fmt::format(
      "A student's copy is in {}: exercises, tutorial and grader, and no solutions. Its README "
      "says "
      "how to build it. Put it into an archive, or into a repository of its own.\n",
      shown);
}

}  // namespace onepass::driver::course
