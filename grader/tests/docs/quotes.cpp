#include "quotes.h"

#include <algorithm>

namespace onepass::docs {
namespace {

std::string trimmed(const std::string& line) {
  const size_t first = line.find_first_not_of(' ');
  return first == std::string::npos ? ""
                                    : line.substr(first, line.find_last_not_of(' ') - first + 1);
}

bool stands_for_others(const std::string& line) {
  return trimmed(line) == "..." || trimmed(line) == "// ...";
}

/// The runs of lines between those that stand for others.
std::vector<std::vector<std::string>> runs_of(const Block& block) {
  std::vector<std::vector<std::string>> runs(1);
  for (const std::string& line : block.lines) {
    if (stands_for_others(line)) {
      runs.emplace_back();
    } else {
      runs.back().push_back(line);
    }
  }
  return runs;
}

bool is_run_at(const std::vector<std::string>& run, size_t indent,
               const std::vector<std::string>& source, size_t at) {
  if (at + run.size() > source.size()) {
    return false;
  }
  for (size_t i = 0; i < run.size(); ++i) {
    const std::string line = run[i].empty() ? "" : std::string(indent, ' ') + run[i];
    if (line != source[at + i]) {
      return false;
    }
  }
  return true;
}

/// Which lines of the source are quoted, when the quote stands `indent` columns too far to the
/// left; nothing when they are not there, one run after the other.
std::optional<std::vector<size_t>> quoted_lines(const Block& block, size_t indent,
                                                const std::vector<std::string>& source) {
  std::vector<size_t> lines;
  for (const auto& run : runs_of(block)) {
    // At least one line is left out between two runs.
    size_t at = lines.empty() ? 0 : lines.back() + 2;
    while (at < source.size() && !is_run_at(run, indent, source, at)) {
      ++at;
    }
    if (at >= source.size() || run.empty()) {
      return std::nullopt;
    }
    for (size_t i = 0; i < run.size(); ++i) {
      lines.push_back(at + i);
    }
  }
  return lines;
}

/// Does a line belong to what a TODO leaves out of the exercise?
bool is_spoiled(const std::vector<std::string>& source, const std::vector<size_t>& quoted) {
  bool marked = false;
  for (size_t i = 0; i < source.size(); ++i) {
    const std::string line = trimmed(source[i]);
    marked = (marked || line.compare(0, 12, "// [solution") == 0) && line != "// [end]";
    if (marked && std::find(quoted.begin(), quoted.end(), i) != quoted.end()) {
      return true;
    }
  }
  return false;
}

/// What is wrong with a quote, or nothing.
std::string wrong_with_quote(const Block& block, const std::string& path, const ReadFile& read) {
  const auto text = read(path);
  if (!text) {
    return "there is no " + path;
  }
  const std::vector<std::string> source = lines_of(*text);
  for (const size_t indent : {0, 2, 4, 6}) {
    if (const auto quoted = quoted_lines(block, indent, source)) {
      return is_spoiled(source, *quoted) ? "this quotes what a TODO of " + path + " leaves out"
                                         : "";
    }
  }
  return "these lines are not, or no longer, in " + path;
}

bool has_gap(const Block& block) {
  return std::any_of(block.lines.begin(), block.lines.end(),
                     [](const std::string& line) { return line.find("/* ") != std::string::npos; });
}

}  // namespace

Complaints check_quotes(const Page& page, const ReadFile& read) {
  const std::string quoted = "quoted from ";
  Complaints complaints;
  for (const Block& block : page.blocks) {
    std::string wrong;
    if (block.mark.compare(0, quoted.size(), quoted) == 0) {
      wrong = wrong_with_quote(block, block.mark.substr(quoted.size()), read);
    } else if (block.language == "cpp" && block.mark != "sketch") {
      wrong = "C++ has to be marked as `quoted from <file>` or as a `sketch`";
    } else if (block.mark == "sketch" && !has_gap(block)) {
      wrong = "a sketch has gaps, /* such as this */: else quote real source";
    }
    if (!wrong.empty()) {
      complaints.push_back(complaint(page, block.line, wrong));
    }
  }
  return complaints;
}

}  // namespace onepass::docs
