#include "driver/class/submissions.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <set>

#include "driver/bad_input.h"
#include "driver/class/archive.h"
#include "driver/faults.h"
#include "driver/files.h"
#include "driver/printable.h"
#include "process/interrupt.h"

namespace onepass::driver::course {
namespace fs = std::filesystem;

namespace {

constexpr int kDeepest = 6;           // folders above an exercise's chapter
constexpr std::size_t kMost = 20000;  // names in a folder that are looked at

// Where the exercises of a submission lie, as the beginning of their names.
struct Root {
  std::string prefix;  // "homework/exercises/"
  std::string problem;
};

// The folder that holds exercises and lies highest. A whole copy of the workbook has its solutions
// beside them.
Root root_of(const std::vector<std::string>& names, const std::vector<Named>& exercises) {
  std::set<std::pair<long, std::string>> roots;  // by their depth
  for (const Named& named : exercises) {
    const std::string end = named.chapter->folder + "/" + named.exercise->file;
    for (const std::string& name : names) {
      const std::size_t begin = name.size() - std::min(name.size(), end.size());
      if (name.compare(begin, end.size(), end) == 0 && (begin == 0 || name[begin - 1] == '/')) {
        const std::string prefix = name.substr(0, begin);
        roots.insert({std::count(prefix.begin(), prefix.end(), '/'), prefix});
      }
    }
  }
  if (roots.empty()) {
    return {"", fmt::format("It holds no file such as {}/{}: a submission is laid out like "
                            "exercises/.",
                            exercises.front().chapter->folder, exercises.front().exercise->file)};
  }
  const auto is_exercises = [](const auto& root) {
    return fs::path(root.second).parent_path().filename() == "exercises";
  };
  const auto named = std::find_if(roots.begin(), roots.end(), is_exercises);
  const auto first = named != roots.end() ? named : roots.begin();
  const auto next = std::next(first);
  if (next != roots.end() && next->first == first->first &&
      is_exercises(*next) == is_exercises(*first)) {
    return {"", fmt::format("It holds exercises in two folders, {} and {}: keep one.",
                            printable_line(first->second), printable_line(next->second))};
  }
  return {first->second, ""};
}

std::vector<std::string> names_in_folder(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied,
                                         error);
  for (; !error && entry != fs::recursive_directory_iterator() && names.size() < kMost;
       entry.increment(error)) {
    names.push_back(entry->path().lexically_relative(folder).string());
    if (entry.depth() >= kDeepest) {
      entry.disable_recursion_pending();
    }
  }
  return names;
}

std::int64_t date_of(const fs::path& file) {
  struct stat status = {};
  return stat(file.c_str(), &status) == 0 ? status.st_mtime : 0;
}

void read_folder(Submission& submission, const std::vector<Named>& exercises) {
  const Root root = root_of(names_in_folder(submission.path), exercises);
  submission.problem = root.problem;
  if (root.problem.empty()) {
    submission.folder = without_slash(submission.path / root.prefix);
    submission.tasks = tasks_in(exercises, submission.folder);
    for (const Task& task : submission.tasks) {
      const std::int64_t date = task.missing.empty() ? date_of(submission.folder / task.shown) : 0;
      submission.handed_in_at = std::max(submission.handed_in_at, date);
    }
  }
}

void read_archive(Submission& submission, const std::vector<Named>& exercises) {
  const std::vector<std::string> names = names_in_archive(submission.path);
  const Root root = root_of(names, exercises);
  submission.problem = root.problem;
  submission.handed_in_at = date_of(submission.path);
  for (const Named& named : exercises) {
    Task task = unread_task(named);
    const std::string name = root.prefix + task.shown;
    const auto count = std::count(names.begin(), names.end(), name);
    if (count == 0) {
      task.missing =
          fmt::format("{} is missing: a submission has the exercise under this name.", task.shown);
    } else if (count > 1) {
      task.missing = fmt::format("{} is in the archive more than once: keep one.", task.shown);
    } else {
      set_text(task, read_from_archive(submission.path, name));
      if (task.source.empty() && task.missing.empty()) {
        task.missing = fmt::format(
            "{} is empty, or a link in the archive: put the file itself there.", task.shown);
      }
    }
    submission.tasks.push_back(std::move(task));
  }
}

// What `entry` hands in; nothing if it is no submission.
std::optional<Submission> submission_at(const fs::directory_entry& entry,
                                        std::set<std::string>& taken) {
  std::error_code error;
  const std::string name = printable_line(entry.path().filename().string());
  const bool archived = entry.is_regular_file(error) && is_archive(entry.path());
  if (!archived && !entry.is_directory(error)) {
    return std::nullopt;
  }
  // Two of the same student's are told apart by their whole names.
  std::string student = archived ? without_suffix(name) : name;
  for (int i = 1; !taken.insert(student).second; ++i) {
    student = i == 1 ? name : fmt::format("{}-{}", name, i);
  }
  Submission submission;
  submission.student = student;
  submission.path = entry.path();
  return submission;
}

}  // namespace

Submissions find_submissions(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    throw BadInput(
        fmt::format("There is no folder {}: give one that holds a folder or an archive "
                    "of each student.",
                    printable_line(folder.string())));
  }
  std::vector<fs::directory_entry> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    entries.push_back(entry);
  }
  if (error) {
    throw GraderFault(cannot("read " + folder.string(), error.value()));
  }
  std::sort(entries.begin(), entries.end());
  Submissions found;
  std::set<std::string> taken;
  for (const fs::directory_entry& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (name.front() == '.') {
      continue;
    }
    if (auto submission = submission_at(entry, taken)) {
      found.all.push_back(std::move(*submission));
    } else {
      found.passed_over.push_back(printable_line(name));
    }
  }
  if (found.all.empty()) {
    throw BadInput(
        fmt::format("{} holds no submission: a folder or an archive (.zip, .tar.gz) of "
                    "each student.",
                    printable_line(folder.string())));
  }
  return found;
}

void read_submission(Submission& submission, const std::vector<Named>& exercises) {
  std::error_code error;
  const bool is_folder = fs::is_directory(submission.path, error);
  try {
    is_folder ? read_folder(submission, exercises) : read_archive(submission, exercises);
  } catch (const BadInput& problem) {
    submission.problem = fmt::format("The archive {}.", problem.what());
  } catch (const std::exception& fault) {
    if (process::interrupted()) {
      throw;
    }
    submission.fault = printable(fault.what());
  }
  if (!submission.problem.empty() || !submission.fault.empty()) {
    submission.tasks.clear();
    for (const Named& named : exercises) {
      submission.tasks.push_back(unread_task(named));
      submission.tasks.back().missing = submission.problem + submission.fault;
    }
  }
}

}  // namespace onepass::driver::course
