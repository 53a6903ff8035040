#include "driver/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "driver/bad_input.h"
#include "driver/cuda_names.h"
#include "driver/faults.h"
#include "driver/files.h"
#include "driver/includes.h"
#include "driver/object/device_code.h"
#include "driver/object/inspect.h"
#include "driver/printable.h"
#include "driver/text.h"

namespace onepass::driver {
namespace fs = std::filesystem;

namespace {

// Lets the compiler name the file so.
std::string first_line_of(const std::string& shown) {
  return "#line 1 " + Json(shown).dump() + "\n";
}

std::string first_lines(const std::string& output) {
  constexpr std::size_t kLines = 8;
  std::vector<std::string> lines = lines_of(output);
  lines.resize(std::min(lines.size(), kLines));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

// As far as it says something, "c++: fatal error: Killed signal terminated program cc1plus". That
// ld returned 1 says nothing.
std::string first_complaint(const ToolResult& result) {
  const std::vector<std::string> lines = lines_of(result.output);
  const auto found = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.find("rror") != std::string::npos && line.find(" returned ") == std::string::npos;
  });
  return found != lines.end() ? *found : lines.empty() ? result.ended : lines.front();
}

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

// They come with every g++.
std::string binutil(const char* name) {
  const std::string program = process::program_on_path(name);
  if (program.empty()) {
    throw GraderFault(fmt::format("There is no {} on PATH: install binutils.", name));
  }
  return program;
}

std::string describe(const Toolchain& toolchain) {
  std::error_code error;
  const fs::path compiler = fs::canonical(toolchain.compiler, error);
  return fmt::format("{} {} bytes\n{}\n{}\nfiles {}\n", compiler.string(),
                     fs::file_size(compiler, error), fmt::join(toolchain.compile_flags, " "),
                     fmt::join(toolchain.link_flags, " "), fingerprint_of_files(toolchain.inputs));
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

std::string part_function(const std::string& exercise) {
  std::string name = "part_" + exercise;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

Builder::Builder(const Config& config, Device device)
    : Builder(config, config.toolchain(device), Product::worker, device_name(device)) {}

Builder Builder::of_gpu_code(const Config& config) {
  return {config, *config.gpu_code, Product::gpu_code, "gpu-code"};
}

Builder Builder::of_library(const Config& config, const Toolchain& toolchain) {
  return {config, toolchain, Product::library, "library"};
}

Builder::Builder(const Config& config, const Toolchain& toolchain, Product product,
                 const std::string& label)
    : config_(config),
      toolchain_(toolchain),
      tools_(toolchain_),
      product_(product),
      label_(label),
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

Builder::Attempt Builder::compile(const Implementation& implementation,
                                  const fs::path& folder) const {
  const std::string& source = implementation.source;
  const std::string name = fs::path(implementation.shown).filename().string();
  fs::path to_include = folder / name;
  const auto run = [&](const std::vector<std::string>& command) {
    return tools_.run(command, implementation.exercise->binding, folder);
  };
  // Messages and debug information are to name the student's own file, not the copy.
  const bool rewritten = !toolchain_.rewriter.empty();
  write_file(to_include, rewritten ? source : first_line_of(implementation.shown) + source);
  if (rewritten) {
    const fs::path output = folder / fs::path(name).replace_extension(".cpp");
    const ToolResult rewrite = run({toolchain_.rewriter.string(), to_include.string(),
                                    output.string(), "--path", implementation.shown});
    if (!rewrite.succeeded) {
      return explain(rewrite, "rewriter", implementation);
    }
    to_include = output;
  }

  // What goes to the assembler is kept, to be looked at. nvcc leaves it beside the object.
  const std::string object = (folder / "binding.o").string();
  const fs::path assembly = folder / "binding.s";
  const std::string dependencies = (folder / "binding.d").string();
  const std::string functions = folder / "functions", symbols = folder / "symbols";
  std::vector<std::string> compile = {toolchain_.compiler.string()};
  compile.insert(compile.end(), toolchain_.compile_flags.begin(), toolchain_.compile_flags.end());
  compile.insert(compile.end(),
                 {fmt::format("-DONEPASS_SUBMISSION=\"{}\"", to_include.string()), "-MD", "-MF",
                  dependencies, implementation.exercise->binding.string()});
  const auto add = [&](const std::vector<std::string>& more) {
    compile.insert(compile.end(), more.begin(), more.end());
  };
  const fs::path ptx = folder / "binding.ptx";
  if (product_ == Product::gpu_code) {
    add({"-o", ptx.string()});
  } else if (rewritten) {
    add({"-S", "-o", assembly.string()});
    add(options_for_written_calls(functions, symbols));
  } else {
    add({"-c", "-o", object, "-Xcompiler", "-save-temps=obj"});
  }
  const ToolResult compiled = run(compile);
  if (!compiled.succeeded) {
    return explain(compiled, "compiler", implementation);
  }

  std::vector<fs::path> allowed = toolchain_.allowed;
  // nvcc lists the name that a #line gives, too.
  allowed.insert(allowed.end(), {folder, implementation.exercise->binding, implementation.shown});
  if (const auto header = first_forbidden(parse_dependencies(read_file(dependencies)), allowed)) {
    const CompileError error = forbidden_include(*header, source, implementation.shown);
    return {{"", rewritten ? with_refused_header(error, source) : error, ""}};
  }
  if (product_ == Product::gpu_code) {
    return assemble(implementation, ptx, folder);
  }

  if (const auto asm_error = refused_assembly(read_file(assembly), source, implementation.shown)) {
    return {{"", asm_error, ""}};
  }
  if (rewritten) {
    const ToolResult assembled =
        run({toolchain_.compiler.string(), "-c", assembly.string(), "-o", object});
    if (!assembled.succeeded) {
      return explain(assembled, "assembler", implementation);
    }
  }
  const std::string bytes = read_file(object);
  const ObjectFile parts = read_object(bytes);
  if (const auto refused = refused_object(parts, source, implementation.shown)) {
    return {{"", refused, ""}};
  }
  if (rewritten) {  // nvcc has said so itself
    // g++ writes none of a file without functions.
    const auto dump = [](const std::string& file) {
      return fs::exists(file) ? read_file(file) : std::string();
    };
    const WrittenFunctions written = read_written_calls(dump(functions), dump(symbols));
    if (const auto refused = refused_device_code(parts, bytes, read_file(assembly), written, source,
                                                 implementation.shown)) {
      return {{"", refused, ""}};
    }
  }

  if (product_ == Product::library) {
    return keep_one_name(implementation, object, folder);
  }
  const std::string worker = (folder / "worker").string();
  // Ours first and whole: of an inline function that both have, ours is taken, and a second
  // main() is an error, not in place of ours.
  std::vector<std::string> link = {toolchain_.compiler.string(), "-o", worker};
  link.insert(link.end(), toolchain_.link_flags.begin(), toolchain_.link_flags.end());
  link.push_back(object);
  const ToolResult linked = run(link);
  if (!linked.succeeded) {
    return explain(linked, "linker", implementation);
  }
  return {{worker, std::nullopt, compiled.output + linked.output}};
}

// By itself, so that nothing of the text's own can be among what it prints.
Builder::Attempt Builder::assemble(const Implementation& implementation, const fs::path& ptx,
                                   const fs::path& folder) const {
  std::vector<std::string> command = {toolchain_.compiler.string(), ptx.string(), "-o",
                                      (folder / "binding.cubin").string()};
  command.insert(command.end(), toolchain_.link_flags.begin(), toolchain_.link_flags.end());
  const ToolResult assembled = tools_.run(command, ptx, folder);
  if (!assembled.succeeded) {
    return explain(assembled, "ptxas", implementation);
  }
  const fs::path resources = folder / "resources";
  write_file(resources, assembled.output);
  return {{resources, std::nullopt, ""}};
}

// Two exercises may give a helper the same name, and a linker would take one of them for both, or
// refuse them. What the compiler allows to be merged (templates, inline functions) is in groups,
// which go first: a linker knows them by their name, whoever may see it.
Builder::Attempt Builder::keep_one_name(const Implementation& implementation,
                                        const std::string& object, const fs::path& folder) const {
  const std::string name = part_function(implementation.exercise->id);
  const std::string kept = fmt::format("_ZN7onepass7library{}{}Ev", name.size(), name);
  const std::string ungrouped = (folder / "ungrouped.o").string();
  const std::string part = (folder / "part.o").string();
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{binutil("ld"), "-r", "--force-group-allocation", object, "-o",
                                 ungrouped},
        {binutil("objcopy"), "--keep-global-symbol=" + kept, ungrouped, part}}) {
    const ToolResult result = tools_.run(command, object, folder);
    if (!result.succeeded) {
      return explain(result, command.front(), implementation);
    }
  }
  return {{part, std::nullopt, ""}};
}

// Why a tool has failed: as their error, and as a fault if it may be one.
Builder::Attempt Builder::explain(const ToolResult& result, const std::string& tool,
                                  const Implementation& implementation) const {
  const std::string advice = advice_on(result.ended + result.output);
  const std::string fault = fmt::format(
      "The {} {}: {}.\n{}", tool, result.ended,
      advice.empty() ? "see that it works, then grade again" : advice, first_lines(result.output));
  if (const std::string missing = missing_function(result.output, implementation.shown);
      !missing.empty()) {
    return {{"", CompileError{missing, ""}, ""}, fault};
  }
  if (const auto error =
          first_error(result.output, implementation.shown,
                      implementation.exercise->binding.string(), !toolchain_.rewriter.empty())) {
    const auto refused = refused_include(*error, implementation.source, implementation.shown);
    CompileError told = refused.value_or(*error);
    if (!toolchain_.rewriter.empty()) {
      told.message = about_short_name(told.message, implementation.source).value_or(told.message);
      told = with_refused_header(told, implementation.source);
    }
    return {{"", told, ""}, error->is_theirs ? "" : fault};
  }
  if (product_ == Product::gpu_code) {
    throw GraderFault(fault);
  }
  const CompileError error = {fmt::format("the {} cannot do its work on this file: {}. It has {}",
                                          tool, first_complaint(result), tool_limits()),
                              ""};
  return {{"", error, ""}, fault};
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
