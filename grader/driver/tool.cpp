#include "driver/tool.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>

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

// An exercise takes 2 to 6 seconds, 0.6 GB, and files of a few MB. A compiler may work for less
// time than passes by the clock, since others may work too.
constexpr double kSeconds = 60;
constexpr unsigned kSecondsOfWork = 25;
constexpr unsigned long long kMostMemory = 4ull << 30;
constexpr unsigned long long kLargestFile = 128ull << 20;

constexpr unsigned kReading = right::read | right::list | right::execute;

constexpr const char* kSystem[] = {
    "/usr",   "/bin", "/sbin",      "/lib",       "/lib32",
    "/lib64", "/opt", "/nix/store", "/gnu/store", "/etc/ld.so.cache"};

}  // namespace

std::string tool_limits() {
  return fmt::format("{} s of work, {} by the clock, {} GiB of memory, {} MiB for a file",
                     kSecondsOfWork, kSeconds, kMostMemory >> 30, kLargestFile >> 20);
}

process::Allowance tool_allowance() {
  process::Allowance allowance;
  allowance.calls = process::SystemCalls::any;
  allowance.variables = {"*"};
  allowance.limits = {{RLIMIT_CORE, 0},
                      {RLIMIT_CPU, kSecondsOfWork},
                      {RLIMIT_AS, kMostMemory},
                      {RLIMIT_FSIZE, kLargestFile}};
  for (const char* path : kSystem) {
    allowance.paths.push_back({path, kReading});
  }
  for (const char* variable : {"PATH", "LD_LIBRARY_PATH"}) {
    for (const fs::path path : process::paths_in(variable)) {
      allowance.paths.push_back({path, kReading});
    }
  }
  allowance.paths.push_back({"/dev/null", right::read | right::modify});
  return allowance;
}

ToolRunner::ToolRunner(const Toolchain& toolchain) : allowance_(tool_allowance()) {
  const auto add = [&](const fs::path& path) { allowance_.paths.push_back({path, kReading}); };
  std::error_code error;
  const fs::path programs = fs::canonical(toolchain.compiler, error).parent_path();
  if (programs.filename() == "bin" && programs.parent_path().has_relative_path()) {
    add(programs.parent_path());  // its libraries and headers, wherever it is installed
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
}

ToolResult ToolRunner::run(const std::vector<std::string>& command, const fs::path& file,
                           const fs::path& folder) const {
  process::Program program = {command};
  program.allowance = allowance_;
  program.allowance->paths.push_back({file, right::read});
  program.allowance->paths.push_back(
      {folder, right::read | right::list | right::modify | right::create});
  program.environment = {"TMPDIR=" + folder.string(), "CCACHE_DISABLE=1"};
  const process::Result result = process::run(program, kSeconds);
  if (result.end == End::not_started) {
    throw GraderFault(cannot("start " + command.front(), result.code));
  }
  if (result.end == End::interrupted) {
    throw GraderFault("Interrupted.");
  }
  return {result.succeeded(), cut_lines(printable(result.output)), result.describe()};
}

}  // namespace onepass::driver
