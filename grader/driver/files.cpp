#include "driver/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <sstream>

#include "driver/bad_input.h"
#include "driver/faults.h"
#include "process/guard.h"

namespace onepass::driver {
namespace fs = std::filesystem;

namespace {

// What /dev/stdout and the like lead to: a descriptor of this process, or -1.
int own_descriptor(fs::path path) {
  constexpr int kMostLinks = 8;
  std::error_code error;
  const fs::path own = fs::canonical("/proc/self/fd", error);
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, error); ++i) {
    if (fs::canonical(fs::absolute(path).parent_path(), error) == own) {
      return std::atoi(path.filename().c_str());
    }
    path = path.parent_path() / fs::read_symlink(path, error);
  }
  return -1;
}

// Writes the text into what is there, or a new file. Returns errno, 0 if all went well. What is
// open is not opened again: it may be somebody else's, and others may write there too.
int write_into(const fs::path& path, const std::string& text) {
  const int own = own_descriptor(path);
  const int file = own >= 0 ? fcntl(own, F_DUPFD_CLOEXEC, 0)
                            : open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) {
    return errno;
  }
  int error = 0;
  for (std::size_t done = 0; done < text.size() && error == 0;) {
    const ssize_t length = write(file, text.data() + done, text.size() - done);
    done += static_cast<std::size_t>(std::max<ssize_t>(length, 0));
    error = length < 0 && errno != EINTR ? errno : 0;
  }
  return close(file) != 0 && error == 0 ? errno : error;
}

}  // namespace

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) {
    throw GraderFault(fmt::format("Cannot read {}.", path.string()));
  }
  return text.str();
}

bool can_be_replaced(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  return !fs::exists(status) || fs::is_regular_file(status);
}

void write_file(const fs::path& path, const std::string& text) {
  static std::atomic<int> count = 0;
  std::error_code error;
  int number = 0;
  if (!can_be_replaced(path)) {
    number = write_into(path, text);
  } else {
    if (path.has_parent_path()) {
      fs::create_directories(path.parent_path(), error);
    }
    fs::path temporary = path;
    temporary += fmt::format(".{}.{}", getpid(), count++);
    process::guard_path(temporary);
    number = write_into(temporary, text);
    if (number == 0) {
      fs::rename(temporary, path, error);
      number = error.value();
    }
    if (number != 0) {
      fs::remove(temporary, error);
    }
    process::release_path(temporary);
  }
  if (number != 0) {
    throw GraderFault(cannot("write " + path.string(), number));
  }
}

void write_for_user(const fs::path& path, const std::string& text, const char* option) {
  try {
    write_file(path, text);
  } catch (const GraderFault&) {
    throw BadInput(
        fmt::format("Cannot write {}: give another file with {}.", path.string(), option));
  }
}

fs::path put_aside(const fs::path& file, const std::string& word) {
  std::error_code error;
  fs::path aside;
  int number = 0;
  do {
    aside = file;
    aside += fmt::format(".{}-{}", word, ++number);
  } while (fs::exists(fs::symlink_status(aside, error)));
  fs::rename(file, aside, error);
  if (error) {
    throw GraderFault(cannot("rename " + file.string(), error.value()));
  }
  return aside;
}

ScratchFolder::ScratchFolder(const fs::path& parent) {
  std::error_code error;
  fs::create_directories(parent, error);
  std::string name = (parent / "scratch-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw GraderFault(cannot("make a folder in " + parent.string(), errno));
  }
  path_ = name;
  process::guard_path(path_);
}

ScratchFolder::~ScratchFolder() {
  std::error_code error;
  fs::remove_all(path_, error);
  process::release_path(path_);
}

fs::path without_slash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

fs::path plain(const fs::path& path) {
  std::error_code error;
  return without_slash(fs::weakly_canonical(fs::absolute(path, error), error));
}

std::string file_name_of(std::string exercise) {
  std::replace(exercise.begin(), exercise.end(), '/', '-');
  return exercise;
}

std::string shown_path(const fs::path& path, const fs::path& root) {
  const fs::path absolute = fs::absolute(path).lexically_normal();
  const fs::path relative = absolute.lexically_relative(root);
  const bool inside = !relative.empty() && *relative.begin() != "..";
  return inside ? relative.string() : absolute.string();
}

}  // namespace onepass::driver
