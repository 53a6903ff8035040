#include "driver/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "driver/bad_input.h"
#include "driver/faults.h"
#include "driver/files.h"
#include "driver/includes.h"
#include "driver/printable.h"

namespace onepass::driver {
namespace fs = std::filesystem;

namespace {

// A file of the workbook's own that makes a worker of the exercise.
fs::path own_file_of(const Config& config, const Exercise& exercise) {
  if (!exercise.naive.empty()) {
    return exercise.naive;
  }
  for (const Chapter& chapter : config.chapters) {
    for (const Exercise& one : chapter.exercises) {
      if (one.id == exercise.id) {
        return config.solution_of(chapter, exercise);
      }
    }
  }
  return {};
}

}  // namespace

Implementation own_file(const Config& config, const Exercise& exercise, const fs::path& file) {
  std::string text = read_file(file);
  const fs::path grader = config.source / "grader";
  static const std::regex include("(?:^|\\n)#include \"(chapters/[^\"]+)\"\n");
  std::smatch match;
  if (lies_in(fs::absolute(file).lexically_normal(), grader) &&
      std::regex_search(text, match, include)) {
    text.replace(match.position(1) - 10, match.length(1) + 11, read_file(grader / match[1].str()));
  }
  return {&exercise, std::move(text), printable_line(shown_path(file, config.source))};
}

std::string describe(const Toolchain& toolchain) {
  std::error_code error;
  const fs::path compiler = fs::canonical(toolchain.compiler, error);
  return fmt::format("{} {} bytes\n{}\n{}\nfiles {}\n", compiler.string(),
                     fs::file_size(compiler, error), fmt::join(toolchain.compile_flags, " "),
                     fmt::join(toolchain.link_flags, " "), fingerprint_of_files(toolchain.inputs));
}

std::string part_function(const std::string& exercise) {
  std::string name = "part_" + exercise;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

Builder::Builder(const Config& config, Device device, std::size_t at_once)
    : Builder(config, config.toolchain(device), Product::worker, device_name(device), at_once) {}

Builder Builder::of_gpu_code(const Config& config) {
  return {config, *config.gpu_code, Product::gpu_code, "gpu-code"};
}

Builder Builder::of_library(const Config& config, const Toolchain& toolchain) {
  return {config, toolchain, Product::library, "library"};
}

Builder::Builder(const Config& config, const Toolchain& toolchain, Product product,
                 const std::string& label, std::size_t at_once)
    : config_(config),
      toolchain_(toolchain),
      tools_(toolchain_),
      product_(product),
      label_(label),
      at_once_(at_once),
      cache_(config.build / "cache"),
      recipe_(describe(toolchain_)) {
  std::error_code error;
  if (!fs::exists(toolchain_.compiler, error)) {
    throw GraderFault(fmt::format(
        "There is no compiler at {} any more: install it again, or run cmake -B {} anew.",
        toolchain_.compiler.string(), config.build.string()));
  }
}

CacheEntry Builder::entry_of(const Implementation& implementation) const {
  const std::string key =
      fmt::format("{}{} {}\n{}", recipe_, implementation.shown,
                  fingerprint_of_files({implementation.exercise->binding}), implementation.source);
  return {cache_, fmt::format("{}-{}", label_, file_name_of(implementation.exercise->id)), key};
}

std::optional<BuildResult> Builder::built(const Implementation& implementation) const {
  const CacheEntry entry = entry_of(implementation);
  if (!entry.holds_key()) {
    return std::nullopt;
  }
  return BuildResult{entry.folder() / "worker", std::nullopt,
                     read_file(entry.folder() / "warnings")};
}

BuildResult Builder::build(const Implementation& implementation) const {
  if (const auto found = built(implementation)) {
    return *found;
  }
  const CacheEntry entry = entry_of(implementation);
  const ScratchFolder scratch(cache_);
  const fs::path folder = scratch.path() / "entry";
  fs::create_directory(folder);
  BuildResult result = build_once(implementation, folder);
  if (!result.error) {
    write_file(folder / "warnings", result.warnings);
    entry.put(folder);
    result.worker = entry.folder() / "worker";
  }
  return result;
}

// What a compiler says, or that it is killed, need not be its text's fault. That is tried: if it
// compiles our own file meanwhile, and theirs not this time either, it is.
BuildResult Builder::build_once(const Implementation& implementation,
                                const fs::path& folder) const {
  const Attempt first = attempt(implementation, folder);
  if (first.fault.empty()) {
    return first;
  }
  if (!compiles_ours(*implementation.exercise)) {
    throw GraderFault(first.fault);
  }
  return attempt(implementation, folder);
}

Builder::Attempt Builder::attempt(const Implementation& implementation,
                                  const fs::path& folder) const {
  const ScratchFolder scratch(folder);
  Attempt result = compile(implementation, scratch.path());
  if (!result.error) {
    fs::rename(result.worker, folder / "worker");
    result.worker = folder / "worker";
  }
  return result;
}

// Does the toolchain do its work, now, on a file of the workbook's own?
bool Builder::compiles_ours(const Exercise& exercise) const {
  const fs::path file = own_file_of(config_, exercise);
  std::error_code error;
  if (!fs::exists(file, error)) {
    return false;
  }
  const ScratchFolder scratch(cache_);
  return !attempt(own_file(config_, exercise, file), scratch.path()).error;
}

fs::path Builder::build_own(const Exercise& exercise, const fs::path& file) const {
  const Implementation own = own_file(config_, exercise, file);
  const BuildResult result = build(own);
  if (result.error) {
    throw GraderFault(fmt::format("The workbook's own {} does not compile: {} {}", own.shown,
                                  result.error->message, result.error->location));
  }
  return result.worker;
}

}  // namespace onepass::driver
