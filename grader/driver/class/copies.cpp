#include "driver/class/copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "driver/bad_input.h"
#include "driver/faults.h"
#include "process/process.h"

namespace onepass::driver::course {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostNames = 16 << 20;

std::vector<std::string> all_files(const fs::path& root) {
  std::vector<std::string> files;
  for (fs::recursive_directory_iterator entry(root), end; entry != end; ++entry) {
    const std::string name = entry->path().filename().string();
    const bool built = fs::exists(entry->path() / "CMakeCache.txt");
    if (entry->is_directory() && (name == ".git" || built)) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file()) {
      files.push_back(entry->path().lexically_relative(root).string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<std::string> workbook_files(const Config& config) {
  process::Program list = {{"git", "-C", config.source.string(), "ls-files", "-z"}};
  list.most_output = kMostNames;
  const process::Result listed = process::run(list, 60);
  if (!listed.succeeded() || listed.output.empty()) {
    return all_files(config.source);
  }
  std::vector<std::string> files;
  std::istringstream names(listed.output);
  for (std::string name; std::getline(names, name, '\0');) {
    files.push_back(name);
  }
  return files;
}

void copy_workbook(const Config& config, const fs::path& to,
                   const std::function<bool(const std::string&)>& wanted) {
  for (const std::string& file : workbook_files(config)) {
    std::error_code error;
    if (!wanted(file) || !fs::is_regular_file(config.source / file, error)) {
      continue;  // git knows files that were removed, too
    }
    fs::create_directories((to / file).parent_path(), error);
    fs::copy_file(config.source / file, to / file, error);
    if (error) {
      throw GraderFault(cannot("write " + (to / file).string(), error.value()));
    }
  }
}

}  // namespace onepass::driver::course
