// The steps from a text to a worker, of which each may fail.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "driver/bad_input.h"
#include "driver/build.h"
#include "driver/cuda_names.h"
#include "driver/faults.h"
#include "driver/files.h"
#include "driver/includes.h"
#include "driver/object/device_code.h"
#include "driver/object/guards.h"
#include "driver/object/inspect.h"
#include "driver/object/parts.h"
#include "driver/parallel.h"
#include "driver/text.h"

namespace onepass::driver {
namespace fs = std::filesystem;

namespace {

// What ONEPASS_PART stands for in worker/binding.h, from the first part on.
constexpr int kWhole = 0, kFirstPart = 1, kParts = 3;
// Bytes of a text for which parts are worth their while: each reads all that the text includes.
constexpr std::size_t kLong = 4000;

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

// They come with every g++.
std::string binutil(const char* name) {
  const std::string program = process::program_on_path(name);
  if (program.empty()) {
    throw GraderFault(fmt::format("There is no {} on PATH: install binutils.", name));
  }
  return program;
}

}  // namespace

Builder::Attempt Builder::compile(const Implementation& implementation,
                                  const fs::path& folder) const {
  const std::string name = fs::path(implementation.shown).filename().string();
  fs::path to_include = folder / name;
  const auto run = [&](const std::vector<std::string>& command) {
    return tools_.run(command, implementation.exercise->binding, folder);
  };
  // Messages and debug information are to name the student's own file, not the copy.
  const bool rewritten = !toolchain_.rewriter.empty();
  write_file(to_include, rewritten ? implementation.source
                                   : first_line_of(implementation.shown) + implementation.source);
  if (rewritten) {
    const fs::path output = folder / fs::path(name).replace_extension(".cpp");
    const ToolResult rewrite =
        run({toolchain_.rewriter.string(), to_include.string(), output.string(), "--path",
             implementation.shown, "--given", (config_.source / "grader/include").string()});
    if (!rewrite.succeeded) {
      return explain(rewrite, "rewriter", implementation);
    }
    to_include = output;
  }

  const std::string worker = (folder / "worker").string();
  const auto link = [&](const std::vector<std::string>& objects) {
    // Ours first and whole: of an inline function that both have, ours is taken, and a second
    // main() is an error, not in place of ours.
    std::vector<std::string> command = {toolchain_.compiler.string(), "-o", worker};
    command.insert(command.end(), toolchain_.link_flags.begin(), toolchain_.link_flags.end());
    command.insert(command.end(), objects.begin(), objects.end());
    return run(command);
  };
  const bool is_long = implementation.source.size() >= kLong;
  if (product_ == Product::worker && rewritten && at_once_ > 1 && is_long) {
    const auto parts = compile_in_parts(implementation, to_include, folder);
    if (!parts.empty() && link(parts).succeeded) {
      return {{worker, std::nullopt, ""}};
    }
  }
  const Attempt whole = compile_part(implementation, to_include, kWhole, folder);
  if (whole.error || product_ == Product::gpu_code) {
    return whole;
  }
  if (product_ == Product::library) {
    return keep_one_name(implementation, whole.worker, folder);
  }
  const ToolResult linked = link({whole.worker});
  if (!linked.succeeded) {
    return explain(linked, "linker", implementation);
  }
  return {{worker, std::nullopt, whole.warnings + linked.output}};
}

// The functions of each element type by themselves, all at once. Nothing if that is not the same as
// the text in one piece, or if anything is said of it: then it is compiled so, and that tells.
std::vector<std::string> Builder::compile_in_parts(const Implementation& implementation,
                                                   const fs::path& to_include,
                                                   const fs::path& folder) const {
  std::vector<std::string> objects(kParts);
  parallel_for(kParts, kParts, [&](std::size_t i) {
    const Attempt part =
        compile_part(implementation, to_include, static_cast<int>(i) + kFirstPart, folder);
    if (!part.error && part.warnings.empty() && can_be_part(read_object(read_file(part.worker)))) {
      objects[i] = part.worker;
    }
  });
  const bool all =
      std::none_of(objects.begin(), objects.end(), [](const auto& o) { return o.empty(); });
  return all ? objects : std::vector<std::string>();
}

// An object, or what takes its place in Product::gpu_code.
Builder::Attempt Builder::compile_part(const Implementation& implementation,
                                       const fs::path& to_include, int part,
                                       const fs::path& folder) const {
  const std::string& source = implementation.source;
  const bool rewritten = !toolchain_.rewriter.empty();
  const auto run = [&](const std::vector<std::string>& command) {
    return tools_.run(command, implementation.exercise->binding, folder);
  };
  // What goes to the assembler is kept, to be looked at. nvcc leaves it beside the object.
  const std::string name = part == kWhole ? "binding" : fmt::format("binding_{}", part);
  const auto file = [&](const char* ending) { return (folder / (name + ending)).string(); };
  const std::string object = file(".o"), assembly = file(".s"), dependencies = file(".d");
  const std::string functions = file(".functions"), symbols = file(".symbols");
  std::vector<std::string> compile = {toolchain_.compiler.string()};
  const auto add = [&](const std::vector<std::string>& more) {
    compile.insert(compile.end(), more.begin(), more.end());
  };
  add(toolchain_.compile_flags);
  add({fmt::format("-DONEPASS_SUBMISSION=\"{}\"", to_include.string()), "-MD", "-MF", dependencies,
       implementation.exercise->binding.string()});
  if (part != kWhole) {
    add({fmt::format("-DONEPASS_PART={}", part)});
  }
  const fs::path ptx = file(".ptx");
  if (product_ == Product::gpu_code) {
    add({"-o", ptx.string()});
  } else if (rewritten) {
    add({"-S", "-o", assembly});
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

  const std::string assembled_from = read_file(assembly);
  if (const auto asm_error = refused_assembly(assembled_from, source, implementation.shown)) {
    return {{"", asm_error, ""}};
  }
  if (rewritten) {
    const std::string with_room = with_room_behind_shared(assembled_from);
    write_file(assembly,
               part == kWhole ? with_room : with_names_for_all(with_room, part == kFirstPart));
    const ToolResult assembled = run({toolchain_.compiler.string(), "-c", assembly, "-o", object});
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
    const auto dump = [](const std::string& path) {
      return fs::exists(path) ? read_file(path) : std::string();
    };
    const WrittenFunctions written = read_written_calls(dump(functions), dump(symbols));
    if (const auto refused = refused_device_code(parts, bytes, read_file(assembly), written, source,
                                                 implementation.shown)) {
      return {{"", refused, ""}};
    }
  }
  return {{object, std::nullopt, compiled.output}};
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

}  // namespace onepass::driver
