// Reads the corpus.
#include "tests/corpus/corpus.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>

namespace onepass::corpus {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw std::runtime_error("cannot read " + path.string());
  }
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool starts_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

/// "# diagnosis: eps-ignored" and its like, as far as `line` is one.
void read_header(const std::string& line, Entry& entry) {
  const auto value_of = [&](const char* key, std::string& value) {
    for (const char* mark : {"# ", "// "}) {
      const std::string start = std::string(mark) + key + ": ";
      if (starts_with(line, start)) {
        value = line.substr(start.size());
      }
    }
  };
  value_of("diagnosis", entry.diagnosis);
  value_of("not", entry.unlike);
  value_of("check", entry.check);
  value_of("says", entry.says);
  value_of("status", entry.status);
  value_of("needs", entry.needs);
  value_of("base", entry.base);
  value_of("slow", entry.slow);
}

struct Change {
  std::string before, after;
};

/// The pairs of an .edit. The end of the last line of each text is not part of it.
std::vector<Change> read_changes(const std::string& edit) {
  std::vector<Change> changes;
  std::string* text = nullptr;
  std::istringstream lines(edit);
  for (std::string line; std::getline(lines, line);) {
    if (line == "@@ old") {
      changes.emplace_back();
      text = &changes.back().before;
    } else if (line == "@@ new" && text != nullptr) {
      text = &changes.back().after;
    } else if (text != nullptr) {
      *text += line + "\n";
    } else if (!starts_with(line, "# ")) {
      throw std::runtime_error("expected '# ' or '@@ old': " + line);
    }
  }
  for (Change& change : changes) {
    for (std::string* side : {&change.before, &change.after}) {
      if (!side->empty()) {
        side->pop_back();
      }
    }
  }
  return changes;
}

/// The folder of solutions/ whose name ends in _<chapter>.
fs::path folder_of(const fs::path& repository, const std::string& chapter) {
  for (const fs::directory_entry& folder : fs::directory_iterator(repository / "solutions")) {
    const std::string name = folder.path().filename().string();
    const std::string end = "_" + chapter;
    if (name.size() > end.size() && name.substr(name.size() - end.size()) == end) {
      return folder.path().filename();
    }
  }
  throw std::runtime_error("solutions/ has no folder for the chapter " + chapter);
}

Entry read_entry(const fs::path& repository, const fs::path& file) {
  const fs::path exercise = file.parent_path().parent_path();
  const std::string chapter = exercise.parent_path().filename().string();
  Entry entry;
  entry.kind = file.parent_path().filename().string();
  entry.exercise = chapter + "/" + exercise.filename().string();
  entry.name = entry.exercise + "/" + entry.kind + "/" + file.stem().string();
  entry.source = folder_of(repository, chapter) / (exercise.filename().string() + ".cu");
  entry.status = entry.kind == "right" ? "passed" : "failed";

  const std::string contents = read(file);
  std::istringstream lines(contents);
  for (std::string line; std::getline(lines, line) && line != "@@ old";) {
    read_header(line, entry);
  }
  if (entry.kind == "wrong" && entry.diagnosis.empty()) {
    throw std::runtime_error("a wrong entry says which diagnosis it must get");
  }
  if (file.extension() == ".cu") {
    entry.text = contents;
    return entry;
  }
  entry.text =
      read(entry.base.empty() ? repository / "solutions" / entry.source : exercise / entry.base);
  for (const Change& change : read_changes(contents)) {
    entry.text = replaced(entry.text, change.before, change.after);
  }
  return entry;
}

/// All that the chapters' graders consist of: a mistake of a chapter's formulas is named there.
std::string text_of_chapters(const fs::path& repository) {
  std::string text;
  for (const auto& file : fs::recursive_directory_iterator(repository / "grader" / "chapters")) {
    text += file.is_regular_file() ? read(file.path()) : "";
  }
  return text;
}

/// What an entry shows that others may show too.
std::vector<std::string> point_of(const Entry& entry, const std::string& chapters) {
  if (entry.kind != "wrong") {  // what meets an attack or a way to work knows no exercise
    return {entry.kind, fs::path(entry.name).filename().string()};
  }
  const bool is_named_by_chapters = chapters.find('"' + entry.diagnosis + '"') != std::string::npos;
  const std::string chapter = entry.exercise.substr(0, entry.exercise.find('/'));
  return {entry.kind, entry.diagnosis, is_named_by_chapters ? chapter : ""};
}

}  // namespace

std::string replaced(const std::string& text, const std::string& before, const std::string& after) {
  const std::size_t position = text.find(before);
  if (before.empty() || position == std::string::npos) {
    throw std::runtime_error("this text does not occur: " + before);
  }
  if (text.find(before, position + 1) != std::string::npos) {
    throw std::runtime_error("this text occurs more than once: " + before);
  }
  return text.substr(0, position) + after + text.substr(position + before.size());
}

std::vector<Entry> entries(const fs::path& repository) {
  std::vector<Entry> all;
  for (const auto& file :
       fs::recursive_directory_iterator(repository / "grader" / "tests" / "corpus")) {
    const fs::path extension = file.path().extension();
    if (extension != ".cu" && extension != ".edit") {
      continue;
    }
    try {
      all.push_back(read_entry(repository, file.path()));
    } catch (const std::exception& error) {
      throw std::runtime_error(file.path().string() + ": " + error.what());
    }
  }
  std::sort(all.begin(), all.end(),
            [](const Entry& one, const Entry& other) { return one.name < other.name; });
  return all;
}

std::vector<Entry> quick_run(const fs::path& repository) {
  const std::vector<Entry> corpus = entries(repository);
  const std::string chapters = text_of_chapters(repository);
  std::map<std::vector<std::string>, Entry> shortest;
  for (const Entry& entry : corpus) {
    if (!entry.slow.empty()) {
      continue;
    }
    Entry& chosen = shortest.try_emplace(point_of(entry, chapters), entry).first->second;
    if (entry.text.size() < chosen.text.size()) {
      chosen = entry;
    }
  }
  std::vector<Entry> chosen;
  for (const auto& [point, entry] : shortest) {
    chosen.push_back(entry);
  }
  return chosen;
}

std::vector<Entry> share(const fs::path& repository, int remainder, int shares) {
  std::vector<Entry> chosen = quick_run(repository);
  std::erase_if(chosen, [](const Entry& entry) { return entry.kind != "hostile"; });
  int number = 0;
  for (const Entry& entry : entries(repository)) {
    if (entry.kind != "hostile" && number++ % shares == remainder) {
      chosen.push_back(entry);
    }
  }
  return chosen;
}

Entry honest(const Entry& entry, const fs::path& repository) {
  Entry solution = entry;
  solution.kind = "right";
  solution.text = read(repository / "solutions" / entry.source);
  solution.diagnosis.clear();
  solution.status = "passed";
  return solution;
}

}  // namespace onepass::corpus
