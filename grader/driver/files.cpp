#include "driver/files.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <sstream>

#include "driver/bad_input.h"

namespace onepass::driver {
namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) {
    throw GraderFault(fmt::format("Cannot read {}.", path.string()));
  }
  return text.str();
}

void write_file(const fs::path& path, const std::string& text) {
  static std::atomic<int> count = 0;
  std::error_code error;
  if (path.has_parent_path()) {
    fs::create_directories(path.parent_path(), error);
  }
  fs::path temporary = path;
  temporary += fmt::format(".{}.{}", getpid(), count++);
  std::ofstream file(temporary, std::ios::binary);
  file << text;
  file.close();
  if (file) {
    fs::rename(temporary, path, error);
  }
  if (!file || error) {
    fs::remove(temporary, error);
    throw GraderFault(fmt::format("Cannot write {}.", path.string()));
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

ScratchFolder::ScratchFolder(const fs::path& parent) {
  std::error_code error;
  fs::create_directories(parent, error);
  std::string name = (parent / "scratch-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw GraderFault(fmt::format("Cannot make a folder in {}.", parent.string()));
  }
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code error;
  fs::remove_all(path_, error);
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
