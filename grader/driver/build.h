// Makes a worker of one implementation: its text, compiled together with the exercise's binding and
// linked with the worker's library for the device.
//
// The text is written into a folder of its own, so that it is graded by itself: what lies
// beside it is not seen. Workers are kept in build/cache; a file is compiled again only if it, a
// flag, a header or a library has changed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "driver/cache.h"
#include "driver/compile_errors.h"
#include "driver/config.h"
#include "driver/tool.h"

namespace onepass::driver {

struct Implementation {
  const Exercise* exercise;
  std::string source;  // what to compile
  std::string shown;   // the name of its file in messages, printable
};

struct BuildResult {
  std::filesystem::path worker;       // empty if it does not compile; see Builder::of_gpu_code()
  std::optional<CompileError> error;  // why
  std::string warnings;               // what the compiler said otherwise
};

/// The workbook's own file. Where the grader's own, such as a naive version, includes a file of
/// chapters/, that stands in place: kernels are launched there too, and the simulator's rewriter
/// reads one file.
Implementation own_file(const Config& config, const Exercise& exercise,
                        const std::filesystem::path& file);

/// What grader/library/part.h calls the function of an exercise's part: "part_rmsnorm_forward".
std::string part_function(const std::string& exercise);

/// All that a toolchain can change in what it makes: the compiler, its flags, our files.
std::string describe(const Toolchain& toolchain);

class Builder {
 public:
  /// On the simulator the compiler of one text may be run `at_once` times at once.
  Builder(const Config& config, Device device, std::size_t at_once = 1);

  /// It makes no workers: in their place files with what ptxas says of the kernels. An error is one
  /// that its compiler tells of the text; whatever else goes wrong is a fault. There must be a
  /// toolchain for it.
  static Builder of_gpu_code(const Config& config);

  /// In the place of workers it makes objects for a library, of a binding of grader/library/parts:
  /// the part's own function is the only name that they have for others. `toolchain` outlives it.
  static Builder of_library(const Config& config, const Toolchain& toolchain);

  /// Throws GraderFault if the compiler cannot do its work, for no fault of the implementation: it
  /// cannot compile the workbook's own file at the same time, either. May be called from several
  /// threads, and in several processes that share a build folder.
  BuildResult build(const Implementation& implementation) const;

  /// The same, if it is kept from before.
  std::optional<BuildResult> built(const Implementation& implementation) const;

  /// The same, but not kept: the worker is made in `folder`, and nothing else is left there.
  BuildResult build_once(const Implementation& implementation,
                         const std::filesystem::path& folder) const;

  /// The worker of a file of the workbook's own. Throws GraderFault too if it does not compile.
  std::filesystem::path build_own(const Exercise& exercise,
                                  const std::filesystem::path& file) const;

 private:
  enum class Product { worker, gpu_code, library };
  Builder(const Config& config, const Toolchain& toolchain, Product product,
          const std::string& label, std::size_t at_once = 1);

  struct Attempt : BuildResult {
    std::string fault = "";  // what it is if the error is none of theirs; empty: it surely is
  };

  CacheEntry entry_of(const Implementation& implementation) const;
  Attempt attempt(const Implementation& implementation, const std::filesystem::path& folder) const;
  Attempt compile(const Implementation& implementation, const std::filesystem::path& folder) const;
  std::vector<std::string> compile_in_parts(const Implementation& implementation,
                                            const std::filesystem::path& to_include,
                                            const std::filesystem::path& folder) const;
  Attempt compile_part(const Implementation& implementation,
                       const std::filesystem::path& to_include, int part,
                       const std::filesystem::path& folder) const;
  Attempt assemble(const Implementation& implementation, const std::filesystem::path& ptx,
                   const std::filesystem::path& folder) const;
  Attempt keep_one_name(const Implementation& implementation, const std::string& object,
                        const std::filesystem::path& folder) const;
  Attempt explain(const ToolResult& result, const std::string& tool,
                  const Implementation& implementation) const;
  bool compiles_ours(const Exercise& exercise) const;

  const Config& config_;
  const Toolchain& toolchain_;
  ToolRunner tools_;
  Product product_;
  std::string label_;  // of its entries in the cache: "cpu"
  std::size_t at_once_;
  std::filesystem::path cache_;
  std::string recipe_;  // everything but the file that a worker depends on
};

}  // namespace onepass::driver
