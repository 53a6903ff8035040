#include "driver/library/library.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <regex>

#include "driver/bad_input.h"
#include "driver/build.h"
#include "driver/files.h"
#include "driver/grade.h"
#include "driver/graded.h"
#include "driver/grader.h"
#include "driver/measure/ranges.h"
#include "driver/next_step.h"
#include "driver/parallel.h"
#include "driver/progress.h"
#include "driver/run.h"
#include "driver/student/standing.h"
#include "driver/submission.h"
#include "driver/text.h"
#include "driver/tool.h"

namespace onepass::driver {
namespace fs = std::filesystem;

namespace {

struct Part {
  Task task;
  std::string says = "passed";
  fs::path object = {};  // empty: left out
};

bool is_architecture(const std::string& flag) {
  return flag.rfind("-gencode", 0) == 0 || flag.rfind("-arch", 0) == 0;
}

// "sm_90a" is 90a. Of the last one there is PTX too, from which a later GPU makes its own code.
std::vector<std::string> architecture_flags(const Config& config, const std::string& asked) {
  std::vector<std::string> flags;
  if (asked.empty()) {
    std::copy_if(config.gpu->compile_flags.begin(), config.gpu->compile_flags.end(),
                 std::back_inserter(flags), is_architecture);
    return flags;
  }
  static const std::regex form("(?:sm_)?([1-9][0-9]{1,2}[af]?)");
  std::smatch match;
  for (const std::string& word : words_of(asked)) {
    if (!std::regex_match(word, match, form)) {
      throw BadInput(fmt::format("There is no architecture {}: give numbers such as --arch 80,90.",
                                 shell_word(word)));
    }
    flags.push_back(fmt::format("-gencode=arch=compute_{0},code=sm_{0}", match[1].str()));
  }
  flags.push_back(fmt::format("-gencode=arch=compute_{0},code=compute_{0}", match[1].str()));
  return flags;
}

// A GPU's, for code that may lie anywhere, with what goes into a library in place of a worker's.
Toolchain toolchain_for(const Config& config, const std::vector<std::string>& architectures) {
  Toolchain toolchain = *config.gpu;
  std::vector<std::string>& flags = toolchain.compile_flags;
  flags.erase(std::remove_if(flags.begin(), flags.end(), is_architecture), flags.end());
  flags.insert(flags.begin(), architectures.begin(), architectures.end());
  flags.insert(flags.begin(), {"-Xcompiler", "-fPIC"});
  toolchain.link_flags = architectures;
  const fs::path ours = config.source / "grader/library";
  toolchain.inputs = {config.source / "grader/include", ours};
  toolchain.allowed.push_back(ours);
  return toolchain;
}

// What keeps an exercise out, in a line.
std::string why_not(const Json& exercise) {
  const std::string status = text(exercise, "status");
  const std::optional<NextStep> next = next_step(exercise);
  if (status == "failed" && next) {
    return fmt::format("failed: {}", text(*next->check, "name"));
  }
  if (exercise.contains("fault")) {
    return fmt::format("{}: {}", status, first_line(text(exercise, "fault")));
  }
  return next && !text(*next->check, "message").empty() && status != "not started"
             ? fmt::format("{}: {}", status, first_line(text(*next->check, "message")))
             : status;
}

std::string said_of(const Json& exercise) {
  return exercise.at("status") == "passed" ? "passed" : why_not(exercise);
}

class Library {
 public:
  Library(const Config& config, const LibraryOptions& options)
      : config_(config),
        options_(options),
        folder_(options.folder.empty()
                    ? config.exercises()
                    : without_slash(fs::absolute(options.folder).lexically_normal())),
        architectures_(architecture_flags(config, options.architectures)),
        toolchain_(toolchain_for(config, architectures_)) {
    for (const Task& task : select_tasks(config, {{}, "", folder_})) {
      parts_.push_back({task});
    }
  }

  int make() {
    grade();
    compile();
    const bool any = count() > 0;
    if (any) {
      link();
    }
    progress_.show("");
    tell();
    return any ? kComplete : kNotAllPassed;
  }

 private:
  // What an earlier run has graded, with this grader on this device, is not graded again.
  void grade() {
    GradeOptions options;
    options.names.submission = folder_;
    options.device = options_.device;
    options.seed = options_.seed;
    options.checks_only = true;
    options.experiments = false;
    const Device device = choose_device(config_, options_.device);
    const std::optional<Graded> known = graded_on(device);
    std::vector<Part*> open;
    std::vector<Task> tasks;
    for (Part& part : parts_) {
      const std::optional<Json> exercise = known ? known->find(part.task) : std::nullopt;
      if (!part.task.missing.empty()) {
        part.says = "missing";
      } else if (exercise) {
        part.says = said_of(*exercise);
        ++known_;
      } else {
        open.push_back(&part);
        tasks.push_back(part.task);
      }
    }
    if (tasks.empty()) {
      return;
    }
    Run run(config_, tasks, options, device);
    run.work();
    run.add_gpu_code();
    run.finish();
    if (run.report()["complete"] == false) {
      throw GraderFault("Interrupted.");
    }
    keep_verdicts(config_, tasks, run.report(), options);
    for (std::size_t i = 0; i < open.size(); ++i) {
      open[i]->says = said_of(run.report()["exercises"][i]);
    }
  }

  // A GPU's name is told by a worker, and one is there if anything was graded. Nothing otherwise.
  std::optional<Graded> graded_on(Device device) const {
    if (device == Device::cpu) {
      return Graded(config_, device, kSimulatorName, options_.seed);
    }
    const Builder builder(config_, device);
    for (const Part& part : parts_) {
      const auto built = part.task.missing.empty() ? builder.built(part.task) : std::nullopt;
      if (!built) {
        continue;
      }
      HandOut no_checks({});
      GraderRun run;
      run.chapter = part.task.chapter;
      run.exercise = part.task.exercise->id;
      run.worker = built->worker;
      run.device = device;
      run.checks = &no_checks;
      std::string name;
      run_grader(run, [&](const Json& event) {
        name = event.at("event") == "device" ? text(event, "name") : name;
      });
      if (!name.empty()) {
        return Graded(config_, device, name, options_.seed);
      }
    }
    return std::nullopt;
  }

  void compile() {
    const Builder builder = Builder::of_library(config_, toolchain_);
    parallel_for(parts_.size(), processors(), [&](std::size_t index) {
      Part& part = parts_[index];
      if (part.says != "passed") {
        return;
      }
      progress_.show(fmt::format("compiling {}", part.task.shown));
      Exercise exercise = *part.task.exercise;
      exercise.binding =
          config_.source / "grader/library/parts" / (file_name_of(exercise.id) + ".cu");
      std::error_code error;
      if (!fs::exists(exercise.binding, error)) {  // an exercise that was added
        part.says = fmt::format("passed, but there is no {} for it",
                                shown_path(exercise.binding, config_.source));
        return;
      }
      Implementation implementation = part.task;
      implementation.exercise = &exercise;
      const BuildResult result = builder.build(implementation);
      if (result.error) {
        part.says = fmt::format("passed, and does not compile for this GPU: {}",
                                first_line(result.error->message));
      } else {
        part.object = result.worker;
      }
    });
  }

  std::size_t count() const {
    return static_cast<std::size_t>(std::count_if(parts_.begin(), parts_.end(),
                                                  [](const Part& p) { return !p.object.empty(); }));
  }

  // What library.cu includes.
  std::string table() const {
    std::string declared, rows;
    for (const Part& part : parts_) {
      const std::string& id = part.task.exercise->id;
      const std::string name = part.object.empty() ? "nullptr" : part_function(id);
      if (!part.object.empty()) {
        declared += fmt::format("OnepassFunction {}();\n", name);
      }
      rows += fmt::format("  {{{}, {}, {}}},\n", Json(id).dump(), Json(part.says).dump(), name);
    }
    return fmt::format(
        "namespace onepass::library {{\n{}constexpr Listed kParts[] = {{\n{}}};\n}}\n", declared,
        rows);
  }

  void link() {
    progress_.show("linking");
    const ScratchFolder scratch(config_.build / "cache");
    const ToolRunner tools(toolchain_);
    const fs::path front = config_.source / "grader/library/library.cu";
    const fs::path parts = scratch.path() / "parts.inc";
    write_file(parts, table());
    const std::string object = (scratch.path() / "library.o").string();
    std::vector<std::string> compile = {toolchain_.compiler.string(), "-Xcompiler",
                                        "-fvisibility=hidden"};
    compile.insert(compile.end(), toolchain_.compile_flags.begin(), toolchain_.compile_flags.end());
    compile.insert(compile.end(), {fmt::format("-DONEPASS_PARTS=\"{}\"", parts.string()), "-c",
                                   front.string(), "-o", object});
    run(tools, compile, scratch.path());

    const fs::path made = scratch.path() / "libonepass.so";
    std::vector<std::string> link = {toolchain_.compiler.string(), "-shared", "-o", made.string()};
    link.insert(link.end(), toolchain_.link_flags.begin(), toolchain_.link_flags.end());
    for (const char* flag : {"--exclude-libs=ALL", "--no-undefined", "-soname=libonepass.so"}) {
      link.insert(link.end(), {"-Xlinker", flag});
    }
    link.push_back(object);
    for (const Part& part : parts_) {
      if (!part.object.empty()) {
        const fs::path copy = scratch.path() / (file_name_of(part.task.exercise->id) + ".o");
        fs::copy_file(part.object, copy);
        link.push_back(copy.string());
      }
    }
    run(tools, link, scratch.path());
    write_for_user(output(), read_file(made), "--output");
  }

  // All that goes into these is ours, or has been compiled.
  static void run(const ToolRunner& tools, const std::vector<std::string>& command,
                  const fs::path& folder) {
    const ToolResult result = tools.run(command, folder, folder);
    if (!result.succeeded) {
      throw GraderFault(fmt::format("{} {}.\n{}", command.front(), result.ended, result.output));
    }
  }

  fs::path output() const {
    return options_.output.empty()
               ? config_.build / "library" / folder_.filename() / "libonepass.so"
               : options_.output;
  }

  void tell() const {
    for (const Part& part : parts_) {
      fmt::print("  {:<4} {:<34} {}\n", number_of({part.task.chapter, part.task.exercise}),
                 part.task.exercise->id, part.says);
    }
    if (known_ > 0) {
      fmt::print("\nNot graded again, since no file has changed: {}\n", known_);
    }
    const std::string from = shown_path(folder_, config_.source);
    if (count() == 0) {
      fmt::print(
          "\nNo exercise of {} has passed, so there is nothing to make a library of. What is "
          "missing: {} grade\n",
          from, program_of(config_));
      return;
    }
    fmt::print(
        "\n{} of {} exercises of {} are in {}\nHow to call them: "
        "grader/include/onepass/library.h, and from PyTorch docs/05_model.md\n",
        count(), parts_.size(), from, shown_path(output(), config_.source));
  }

  const Config& config_;
  const LibraryOptions& options_;
  const fs::path folder_;
  const std::vector<std::string> architectures_;
  const Toolchain toolchain_;
  std::vector<Part> parts_;
  int known_ = 0;  // verdicts of earlier runs
  Progress progress_;
};

}  // namespace

int make_library(const Config& config, const LibraryOptions& options) {
  if (!config.gpu) {
    throw BadInput(
        fmt::format("A library is for a GPU, and nvcc makes it: {}.", config.gpu_reason));
  }
  return Library(config, options).make();
}

}  // namespace onepass::driver
