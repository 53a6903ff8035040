// A program of the toolchain, run on a student's text: under limits, since templates can ask a
// compiler for any amount of work, and an #include for any file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "driver/config.h"
#include "process/confinement.h"

namespace onepass::driver {

struct ToolResult {
  bool succeeded = false;
  std::string output;  // printable, its lines cut
  std::string ended;   // "exited with 1", the end of a sentence
};

/// "25 s of work, ...": what each program of the toolchain may take.
std::string tool_limits();

/// What any program that works on a student's files may do: read the system's programs and
/// libraries, and those on PATH and LD_LIBRARY_PATH, under these limits.
process::Allowance tool_allowance();

class ToolRunner {
 public:
  /// Tools may read besides what the toolchain names: where its compiler is installed, what goes
  /// into a worker, headers.
  explicit ToolRunner(const Toolchain& toolchain);

  /// Runs `command` on a text. It may read `file` too, and write in `folder`, which is also where
  /// its temporary files go. Throws GraderFault if it cannot be started, and after Ctrl-C.
  ToolResult run(const std::vector<std::string>& command, const std::filesystem::path& file,
                 const std::filesystem::path& folder) const;

 private:
  process::Allowance allowance_;
};

}  // namespace onepass::driver
