#include "driver/submission.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <initializer_list>
#include <string_view>
#include <system_error>
#include <utility>

#include "driver/bad_input.h"
#include "driver/faults.h"
#include "driver/files.h"
#include "driver/includes.h"
#include "driver/printable.h"
#include "driver/text.h"

namespace onepass::driver {
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

[[noreturn]] void cannot_read(const fs::path& file, int error) {
  throw GraderFault(cannot("read " + file.string(), error));
}

// No link and no device, should it have become one meanwhile. -1 if it may not be read.
int open_regular(const fs::path& file) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0 && errno != EACCES && errno != EPERM && errno != ELOOP) {
    cannot_read(file, errno);
  }
  return descriptor;
}

// One byte more than may be, to tell. Closes the descriptor.
std::string read_all(int descriptor, const fs::path& file) {
  std::string text(kMostBytes + 1, '\0');
  std::size_t size = 0;
  ssize_t length = 1;
  while (length > 0 && size < text.size()) {
    length = read(descriptor, text.data() + size, text.size() - size);
    size += static_cast<std::size_t>(std::max<ssize_t>(length, 0));
  }
  const int error = errno;
  close(descriptor);
  if (length < 0) {
    cannot_read(file, error);
  }
  text.resize(size);
  return text;
}

// The path without links. Empty, with the error, if it is not there or may not be read; anything
// else, as a disk that fails, is a fault.
fs::path real_path(const fs::path& path, std::error_code& error) {
  fs::path real = fs::canonical(path, error);
  const auto is_one_of = [&](std::initializer_list<std::errc> known) {
    return std::find(known.begin(), known.end(), error) != known.end();
  };
  if (error && !is_one_of({std::errc::no_such_file_or_directory, std::errc::not_a_directory,
                           std::errc::too_many_symbolic_link_levels, std::errc::filename_too_long,
                           std::errc::permission_denied})) {
    cannot_read(path, error.value());
  }
  return real;
}

// Reads the text, or notes why it cannot be graded and what to do, which may never write over a
// file that is there. `program` can begin the exercise anew; it is empty for a submission.
void read_task(Task& task, const fs::path& file, const fs::path& submission,
               const std::string& program) {
  std::error_code error;
  const fs::path real = real_path(file, error);
  const std::string unreadable =
      fmt::format("{} cannot be read: make it a file that can.", task.shown);
  int descriptor = -1;
  if (error == std::errc::permission_denied) {
    task.missing = unreadable;
  } else if (std::error_code ignored; error && fs::is_symlink(file, ignored)) {
    task.missing =
        fmt::format("{} is a link that leads to no file: put the file itself there.", task.shown);
  } else if (error) {
    task.missing = fmt::format(
        "{} is missing: {}.", task.shown,
        program.empty() ? "a submission has the exercise under this name"
                        : fmt::format("put it back, or begin it anew with {} reset {}", program,
                                      number_of(Named{task.chapter, task.exercise})));
  } else if (!lies_in(real, fs::canonical(submission, error))) {
    task.missing =
        fmt::format("{} is a link out of its folder: put the file itself there.", task.shown);
  } else if (!fs::is_regular_file(real, error)) {
    task.missing = fmt::format("{} is no regular file: put one there.", task.shown);
  } else if ((descriptor = open_regular(real)) < 0) {
    task.missing = unreadable;
  } else {
    set_text(task, read_all(descriptor, real));
  }
}

void require_any(const std::vector<Task>& tasks, const fs::path& submission, bool own_exercises) {
  if (std::any_of(tasks.begin(), tasks.end(), [](const Task& t) { return t.missing.empty(); })) {
    return;
  }
  if (tasks.size() == 1) {
    throw BadInput(tasks.front().missing);
  }
  throw BadInput(own_exercises
                     ? "None of these exercises can be graded. " + tasks.front().missing
                     : fmt::format("{} is no submission, it holds no file such as {}/{}: give a "
                                   "folder laid out like exercises/.",
                                   submission.string(), tasks.front().chapter->folder,
                                   tasks.front().exercise->file));
}

// Of each the text, or why there is none.
std::vector<Task> read_tasks(const Config& config, const std::vector<Named>& exercises,
                             const fs::path& submission, const std::string& program) {
  std::vector<Task> tasks;
  for (const Named& named : exercises) {
    const fs::path file = submission / named.chapter->folder / named.exercise->file;
    Task task = {
        {named.exercise, "", printable_line(shown_path(file, config.source))}, named.chapter, ""};
    read_task(task, file, submission, program);
    tasks.push_back(std::move(task));
  }
  return tasks;
}

std::vector<Task> tasks_of(const Config& config, const Names& names,
                           const std::vector<Named>& exercises) {
  const fs::path submission = names.submission.empty() ? config.exercises() : names.submission;
  const bool own_exercises = is_own(config, submission);
  if (!own_exercises && !fs::is_directory(submission)) {
    throw BadInput(fmt::format("There is no folder {}: give one that is laid out like exercises/.",
                               submission.string()));
  }
  std::vector<Task> tasks =
      read_tasks(config, exercises, submission, own_exercises ? program_of(config) : "");
  require_any(tasks, submission, own_exercises);
  return tasks;
}

}  // namespace

bool is_own(const Config& config, const fs::path& submission) {
  std::error_code error;
  return submission == config.exercises() || fs::equivalent(submission, config.exercises(), error);
}

std::vector<Task> own_tasks(const Config& config) {
  return read_tasks(config, exercises_named(config, {}), config.exercises(), program_of(config));
}

Task unread_task(const Named& named) {
  return {
      {named.exercise, "", named.chapter->folder + "/" + named.exercise->file}, named.chapter, ""};
}

void set_text(Task& task, std::string text) {
  if (text.size() > kMostBytes) {
    task.missing = fmt::format("{} is larger than 1 MiB: an exercise is far smaller.", task.shown);
    return;
  }
  const bool marked = text.rfind(kByteOrderMark, 0) == 0;
  task.source = marked ? text.substr(kByteOrderMark.size()) : std::move(text);
}

std::vector<Task> tasks_in(const std::vector<Named>& exercises, const fs::path& folder) {
  std::vector<Task> tasks;
  for (const Named& named : exercises) {
    Task task = unread_task(named);
    read_task(task, folder / task.shown, folder, "");
    tasks.push_back(std::move(task));
  }
  return tasks;
}

std::vector<Task> select_tasks(const Config& config, const Names& names) {
  return tasks_of(config, names, exercises_named(config, names));
}

Task select_task(const Config& config, const Names& names) {
  return tasks_of(config, names, {exercise_named(config, names)}).front();
}

}  // namespace onepass::driver
