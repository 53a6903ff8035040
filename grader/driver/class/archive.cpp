#include "driver/class/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "driver/bad_input.h"
#include "driver/submission.h"
#include "driver/text.h"
#include "driver/tool.h"
#include "process/process.h"

namespace onepass::driver::course {
namespace fs = std::filesystem;

namespace {

constexpr const char* kSuffixes[] = {".zip",    ".tar", ".tar.gz", ".tgz",
                                     ".tar.xz", ".txz", ".tar.bz2"};
constexpr std::uintmax_t kLargestArchive = 64 << 20;
constexpr std::size_t kLongestList = 4 << 20;
constexpr double kSeconds = 20;

std::string suffix_of(const std::string& file) {
  std::string name = file;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const std::string suffix : kSuffixes) {
    if (name.size() > suffix.size() &&
        name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0) {
      return suffix;
    }
  }
  return "";
}

bool is_zip(const fs::path& archive) {
  return suffix_of(archive.filename().string()) == ".zip";
}

// It is run under Landlock, and so by its path.
std::string path_of(const std::string& program) {
  const std::string path = process::program_on_path(program);
  if (path.empty()) {
    throw GraderFault(fmt::format(
        "There is no {0} to read archives with: install {0}, then grade again.", program));
  }
  return path;
}

// What it prints, the errors aside.
std::string run_on(const fs::path& archive, std::vector<std::string> command,
                   std::size_t most_output) {
  std::error_code error;
  if (fs::file_size(archive, error) > kLargestArchive && !error) {
    throw BadInput("is larger than 64 MiB, and a submission is far smaller");
  }
  command.insert(command.begin(), {"/bin/sh", "-c", "exec \"$@\" 2>/dev/null", "sh"});
  process::Program program = {std::move(command)};
  program.most_output = most_output;
  program.allowance = tool_allowance();
  program.allowance->paths.push_back({archive, process::right::read});
  const process::Result result = process::run(program, kSeconds);
  if (result.end == process::Result::End::interrupted) {
    throw GraderFault("Interrupted.");
  }
  const bool warned = result.end == process::Result::End::exited && result.code == 1;
  if (!result.succeeded() && !(warned && is_zip(archive))) {  // of unzip a 1 is a warning
    throw BadInput(result.end == process::Result::End::timed_out
                       ? fmt::format("takes more than {} s to read", kSeconds)
                       : "is damaged, or no archive of the kind that its name says");
  }
  return result.output;
}

// unzip takes names for patterns.
std::string as_pattern(const std::string& name) {
  std::string pattern;
  for (const char c : name) {
    const bool special = c == '*' || c == '?' || c == '[' || c == ']' || c == '\\';
    pattern += (special ? "\\" : "") + std::string(1, c);
  }
  return pattern;
}

}  // namespace

bool is_archive(const fs::path& file) {
  return !suffix_of(file.filename().string()).empty();
}

std::string without_suffix(const std::string& file) {
  return file.substr(0, file.size() - suffix_of(file).size());
}

std::vector<std::string> names_in_archive(const fs::path& archive) {
  const std::string file = archive.string();
  return lines_of(is_zip(archive) ? run_on(archive, {path_of("unzip"), "-Z1", file}, kLongestList)
                                  : run_on(archive,
                                           {path_of("tar"), "--force-local",
                                            "--quoting-style=literal", "-P", "-tf", file},
                                           kLongestList));
}

std::string read_from_archive(const fs::path& archive, const std::string& name) {
  const std::string file = archive.string();
  return is_zip(archive)
             ? run_on(archive, {path_of("unzip"), "-p", file, as_pattern(name)}, kMostBytes + 1)
             : run_on(archive,
                      {path_of("tar"), "--force-local", "--no-wildcards", "--no-unquote", "-P",
                       "-xOf", file, "--", name},
                      kMostBytes + 1);
}

}  // namespace onepass::driver::course
