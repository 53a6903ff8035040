#include "driver/build.h"

#include <fmt/format.h>

#include <regex>

#include "driver/bad_input.h"
#include "driver/cache.h"
#include "driver/files.h"
#include "driver/includes.h"
#include "process/process.h"

namespace onepass::driver {
namespace fs = std::filesystem;
using End = process::Result::End;

namespace {

constexpr double kCompileSeconds = 300;

std::string describe(const Toolchain& toolchain) {
  std::error_code error;
  const fs::path compiler = fs::canonical(toolchain.compiler, error);
  return fmt::format("{} {} bytes\n{}\n{}\nfiles {}\n", compiler.string(),
                     fs::file_size(compiler, error), fmt::join(toolchain.compile_flags, " "),
                     fmt::join(toolchain.link_flags, " "), fingerprint_of_files(toolchain.inputs));
}

// A program of the toolchain. That it fails is the student's business, that it cannot run is not.
process::Result run_tool(const std::vector<std::string>& command) {
  process::Result result = process::run({command}, kCompileSeconds);
  if (result.end == End::not_started) {
    throw GraderFault(fmt::format("{} {}.", command[0], result.describe()));
  }
  if (result.end == End::interrupted) {
    throw GraderFault("Interrupted.");
  }
  if (result.end == End::timed_out) {
    result.output = fmt::format("error: compiling took longer than {:.0f} s\n", kCompileSeconds);
  }
  return result;
}

}  // namespace

std::string text_of(const Config& config, const fs::path& file) {
  std::string text = read_file(file);
  const fs::path grader = config.source / "grader";
  static const std::regex include("(?:^|\\n)#include \"(chapters/[^\"]+)\"\n");
  std::smatch match;
  if (lies_in(fs::absolute(file).lexically_normal(), grader) &&
      std::regex_search(text, match, include)) {
    text.replace(match.position(1) - 10, match.length(1) + 11, read_file(grader / match[1].str()));
  }
  return text;
}

Builder::Builder(const Config& config, Device device)
    : config_(config),
      toolchain_(config.toolchain(device)),
      device_(device),
      cache_(config.build / "cache"),
      recipe_(describe(toolchain_)) {
  std::error_code error;
  if (!fs::exists(toolchain_.compiler, error)) {
    throw BadInput(fmt::format(
        "There is no compiler at {} any more: install it again, or run cmake -B {} anew.",
        toolchain_.compiler.string(), config.build.string()));
  }
}

BuildResult Builder::build(const Implementation& implementation) const {
  const std::string source = text_of(config_, implementation.file);
  const std::string key =
      fmt::format("{}{} {}\n{}", recipe_, implementation.shown,
                  fingerprint_of_files({implementation.exercise->binding}), source);
  const CacheEntry entry(
      cache_, fmt::format("{}-{}", device_name(device_), file_name_of(implementation.exercise->id)),
      key);
  if (entry.holds_key()) {
    return {entry.folder() / "worker", std::nullopt, read_file(entry.folder() / "warnings")};
  }
  const ScratchFolder scratch(cache_);
  const fs::path folder = scratch.path() / "worker";
  fs::create_directory(folder);
  BuildResult result = compile(implementation, folder, source);
  if (!result.error) {
    write_file(folder / "warnings", result.warnings);
    entry.put(folder);
    result.worker = entry.folder() / "worker";
  }
  return result;
}

BuildResult Builder::build_once(const Implementation& implementation, const std::string& source,
                                const fs::path& folder) const {
  BuildResult result;
  {
    const ScratchFolder scratch(folder);
    result = compile(implementation, scratch.path(), source);
    if (!result.error) {
      fs::rename(result.worker, folder / "worker");
      result.worker = folder / "worker";
    }
  }
  return result;
}

BuildResult Builder::compile(const Implementation& implementation, const fs::path& folder,
                             const std::string& source) const {
  const std::string name = fs::path(implementation.shown).filename().string();
  fs::path to_include = folder / name;
  // Messages and debug information are to name the student's own file, not the copy.
  const bool rewritten = !toolchain_.rewriter.empty();
  write_file(to_include,
             rewritten ? source : fmt::format("#line 1 \"{}\"\n{}", implementation.shown, source));
  if (rewritten) {
    const fs::path output = folder / fs::path(name).replace_extension(".cpp");
    const process::Result rewrite = run_tool({toolchain_.rewriter.string(), to_include.string(),
                                              output.string(), "--path", implementation.shown});
    if (!rewrite.succeeded()) {
      return {"", explain(rewrite.output, implementation), ""};
    }
    to_include = output;
  }

  const std::string object = (folder / "binding.o").string();
  const std::string dependencies = (folder / "binding.d").string();
  std::vector<std::string> compile = {toolchain_.compiler.string()};
  compile.insert(compile.end(), toolchain_.compile_flags.begin(), toolchain_.compile_flags.end());
  compile.insert(compile.end(),
                 {fmt::format("-DONEPASS_SUBMISSION=\"{}\"", to_include.string()), "-MD", "-MF",
                  dependencies, "-c", implementation.exercise->binding.string(), "-o", object});
  const process::Result compiled = run_tool(compile);
  if (!compiled.succeeded()) {
    return {"", explain(compiled.output, implementation), ""};
  }

  std::vector<fs::path> allowed = toolchain_.allowed;
  // nvcc lists the name that a #line gives, too.
  allowed.insert(allowed.end(), {folder, implementation.exercise->binding, implementation.shown});
  if (const auto header = first_forbidden(parse_dependencies(read_file(dependencies)), allowed)) {
    return {"", forbidden_include(*header, source, implementation.shown), ""};
  }

  const std::string worker = (folder / "worker").string();
  std::vector<std::string> link = {toolchain_.compiler.string(), object, "-o", worker};
  link.insert(link.end(), toolchain_.link_flags.begin(), toolchain_.link_flags.end());
  const process::Result linked = run_tool(link);
  if (!linked.succeeded()) {
    return {"", explain(linked.output, implementation), ""};
  }
  fs::remove(object);
  return {worker, std::nullopt, compiled.output + linked.output};
}

CompileError Builder::explain(const std::string& output,
                              const Implementation& implementation) const {
  const std::string missing = missing_function(output, implementation.shown);
  return missing.empty() ? first_error(output, implementation.shown) : CompileError{missing, ""};
}

fs::path Builder::build_own(const Exercise& exercise, const fs::path& file) const {
  const std::string shown = shown_path(file, config_.source);
  const BuildResult result = build({&exercise, file, shown});
  if (result.error) {
    throw GraderFault(fmt::format("The workbook's own {} does not compile: {} {}", shown,
                                  result.error->message, result.error->location));
  }
  return result.worker;
}

}  // namespace onepass::driver
