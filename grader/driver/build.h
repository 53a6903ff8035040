// Makes a worker of one implementation: its file, compiled together with the exercise's binding and
// linked with the worker's library for the device.
//
// The file is copied first, into a folder of its own, so that it is graded by itself: what lies
// beside it is not seen. Workers are kept in build/cache; a file is compiled again only if it, a
// flag, a header or a library has changed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "driver/compile_errors.h"
#include "driver/config.h"

namespace onepass::driver {

struct Implementation {
  const Exercise* exercise;
  std::filesystem::path file;  // what to compile
  std::string shown;           // its name in messages
};

struct BuildResult {
  std::filesystem::path worker;       // empty if it does not compile
  std::optional<CompileError> error;  // why
  std::string warnings;               // what the compiler said otherwise
};

/// The text that is compiled: that of the file. In a file of the grader's own, such as a naive
/// version, what it includes of chapters/ stands in place: kernels are launched there too, and the
/// simulator's rewriter reads one file.
std::string text_of(const Config& config, const std::filesystem::path& file);

class Builder {
 public:
  Builder(const Config& config, Device device);

  /// Throws BadInput if there is no compiler, GraderFault if the grader's own part fails. May be
  /// called from several threads, and in several processes that share a build folder.
  BuildResult build(const Implementation& implementation) const;

  /// The same of this text in place of the file's, and not kept: the worker is made in `folder`,
  /// and of the text nothing is left there.
  BuildResult build_once(const Implementation& implementation, const std::string& source,
                         const std::filesystem::path& folder) const;

  /// The worker of a file of the workbook's own. Throws GraderFault too if it does not compile.
  std::filesystem::path build_own(const Exercise& exercise,
                                  const std::filesystem::path& file) const;

 private:
  BuildResult compile(const Implementation& implementation, const std::filesystem::path& folder,
                      const std::string& source) const;
  CompileError explain(const std::string& output, const Implementation& implementation) const;

  const Config& config_;
  const Toolchain& toolchain_;
  Device device_;
  std::filesystem::path cache_;
  std::string recipe_;  // everything but the file that a worker depends on
};

}  // namespace onepass::driver
