#include "driver/tool.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstdlib>

#include "driver/bad_input.h"
#include "driver/faults.h"
#include "driver/printable.h"
#include "driver/text.h"
#include "process/process.h"

namespace onepass::driver {
namespace fs = std::filesystem;
using End = process::Result::End;
namespace right = process::right;

namespace {

// An exercise takes 2 to 6 seconds and 0.6 GB. Of its own work a compiler has less time than by the
// clock, so that a busy machine is told from a text without end.
constexpr double kSeconds = 60;
constexpr unsigned kSecondsOfWork = 25;
constexpr unsigned long long kMostMemory = 4ull << 30;
constexpr unsigned long long kLargestFile = 1ull << 30;

constexpr unsigned kReading = right::read | right::list | right::execute;

constexpr const char* kSystem[] = {
    "/usr",   "/bin", "/sbin",      "/lib",       "/lib32",
    "/lib64", "/opt", "/nix/store", "/gnu/store", "/etc/ld.so.cache"};

// The absolute ones of the paths in a variable such as PATH.
std::vector<fs::path> paths_in(const char* variable) {
  const char* value = std::getenv(variable);
  std::string rest = value == nullptr ? "" : value;
  std::vector<fs::path> paths;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (const fs::path path = rest.substr(0, end); path.is_absolute()) {
      paths.push_back(path);
    }
    rest.erase(0, end + 1);
  }
  return paths;
}

// c++ and nvcc tell by which signal a part of theirs has ended.
bool exceeded_time(const process::Result& result) {
  return (result.end == End::signalled && result.code == SIGXCPU) ||
         result.output.find("CPU time limit exceeded") != std::string::npos ||
         result.output.find("died due to signal 24") != std::string::npos;
}

std::string what_was_too_much(const process::Result& result) {
  if (exceeded_time(result)) {
    return fmt::format("the compiler was stopped after {} s of work on this file", kSecondsOfWork);
  }
  // A limit on addresses is met before as much is in use.
  if (!result.succeeded() && result.most_memory > kMostMemory / 2) {
    return fmt::format("the compiler needs more than {} GiB of memory for this file",
                       kMostMemory >> 30);
  }
  return "";
}

}  // namespace

ToolRunner::ToolRunner(const Toolchain& toolchain) {
  allowance_.calls = process::SystemCalls::any;
  allowance_.variables = {"*"};
  allowance_.limits = {{RLIMIT_CORE, 0},
                       {RLIMIT_CPU, kSecondsOfWork},
                       {RLIMIT_AS, kMostMemory},
                       {RLIMIT_FSIZE, kLargestFile}};
  const auto add = [&](const fs::path& path) { allowance_.paths.push_back({path, kReading}); };
  for (const char* path : kSystem) {
    add(path);
  }
  for (const char* variable : {"PATH", "LD_LIBRARY_PATH"}) {
    for (const fs::path& path : paths_in(variable)) {
      add(path);
    }
  }
  std::error_code error;
  const fs::path installed = fs::canonical(toolchain.compiler, error).parent_path().parent_path();
  if (installed.has_relative_path()) {
    add(installed);
  }
  add(toolchain.compiler);
  for (const auto* paths : {&toolchain.inputs, &toolchain.allowed}) {
    for (const fs::path& path : *paths) {
      add(path);
    }
  }
  for (const fs::path flag : toolchain.link_flags) {
    if (flag.is_absolute()) {
      add(flag);
    }
  }
  allowance_.paths.push_back({"/dev/null", right::read | right::modify});
}

ToolResult ToolRunner::run(const std::vector<std::string>& command, const fs::path& file,
                           const fs::path& folder) const {
  process::Program program = {command};
  program.allowance = allowance_;
  program.allowance->paths.push_back({file, right::read});
  program.allowance->paths.push_back({folder, kReading | right::modify | right::create});
  program.environment = {"TMPDIR=" + folder.string(), "CCACHE_DISABLE=1"};
  const process::Result result = process::run(program, kSeconds);
  const std::string& name = command.front();
  if (result.end == End::not_started) {
    throw GraderFault(cannot("start " + name, result.code));
  }
  if (result.end == End::interrupted) {
    throw GraderFault("Interrupted.");
  }
  if (result.end == End::timed_out) {
    throw GraderFault(fmt::format(
        "{} did not end in {:.0f} s: let other programs end, then grade again.", name, kSeconds));
  }
  return {result.succeeded(), cut_lines(printable(result.output)), result.describe(),
          what_was_too_much(result)};
}

}  // namespace onepass::driver
