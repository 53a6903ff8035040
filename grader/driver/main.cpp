// onepass: the driver of the workbook. Alone it says where a student stands; `onepass grade` grades
// a folder of exercises, and `onepass class` those of a class; what lies in student/ helps on the
// way; `onepass map` draws what a kernel does to memory; `onepass measure` measures it at any
// shapes; `onepass library` makes a library of what passes; `onepass build` and `onepass skeleton`
// are for those who work on the workbook itself.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <limits>

#include "driver/bad_input.h"
#include "driver/build.h"
#include "driver/commands/instructor.h"
#include "driver/commands/misread.h"
#include "driver/commands/student.h"
#include "driver/commands/words.h"
#include "driver/config.h"
#include "driver/environment.h"
#include "driver/faults.h"
#include "driver/files.h"
#include "driver/grade.h"
#include "driver/library/library.h"
#include "driver/map/map.h"
#include "driver/measure/measure.h"
#include "driver/naming.h"
#include "driver/printable.h"
#include "driver/skeleton.h"
#include "process/confinement.h"
#include "process/guard.h"
#include "process/interrupt.h"

namespace onepass::driver {
namespace {

namespace fs = std::filesystem;

struct BuildOptions {
  std::string exercise;
  std::string device = "cpu";
  fs::path file;
  fs::path output;
};

// A worker of any file, with a GPU's toolchain also where there is no GPU.
int build(const Config& config, const BuildOptions& options) {
  if (options.device != "cpu" && !config.gpu) {
    throw BadInput(fmt::format("Cannot compile for a GPU: {}.", config.gpu_reason));
  }
  if (!fs::is_regular_file(options.file)) {
    throw BadInput(fmt::format("There is no file {}.", options.file.string()));
  }
  const Exercise& exercise = *exercise_named(config, {{options.exercise}, "", ""}).exercise;
  const Builder builder(config, options.device == "cpu" ? Device::cpu : Device::gpu);
  const BuildResult result = builder.build(own_file(config, exercise, options.file));
  if (result.error) {
    fmt::print(stderr, "{}: error: {}\n",
               result.error->location.empty() ? printable_line(options.file.string())
                                              : result.error->location,
               result.error->message);
    return kNotAllPassed;
  }
  fmt::print(stderr, "{}", result.warnings);
  fs::copy_file(result.worker, options.output, fs::copy_options::overwrite_existing);
  return kComplete;
}

int print_skeleton(const fs::path& file) {
  if (!fs::is_regular_file(file)) {
    throw BadInput(fmt::format("There is no file {}.", file.string()));
  }
  fmt::print("{}", skeleton_of(read_file(file), file.string()));
  return kComplete;
}

CLI::App* add_grade_command(CLI::App& app, GradeOptions& options, std::vector<std::string>& more) {
  CLI::App* command = app.add_subcommand("grade", "Grade a folder of exercises");
  command->add_option("exercises", options.names.exercises,
                      "Such as rmsnorm/forward, 1.2, forward, a file's path, or a chapter: "
                      "rmsnorm, 1; default: all");
  command->add_option("--submission", options.names.submission, kSubmission);
  command->add_option("--chapter", options.names.chapter, "Of one chapter only, such as rmsnorm");
  command->add_option("--exercise", more, "The same as without --exercise, for scripts")
      ->allow_extra_args(false);
  command->add_option("--device", options.device, kDevice);
  command->add_option("--seed", options.seed, kSeed)
      ->check(whole_number(0, kMostSeed))
      ->capture_default_str();
  command->add_option("--report", options.report,
                      "Where the JSON goes; default: build/report/<folder's name>.json");
  command->add_flag("--strict", options.strict, "Exit with 1 unless all is passed");
  command->add_flag("--all", options.all, "Tell every failure in full");
  command->add_flag("--lines", options.lines,
                    "Tell what each line of a kernel moves, on the simulator");
  command->add_option("--time-limit", options.time_limit, "Seconds for one launch; default: 4")
      ->check(number_above_0());
  command->add_option("--until", options.until,
                      "Run no check after one that fails by this mistake, or by any (failure); for "
                      "maintainers");
  command->add_flag("--checks-only", options.checks_only,
                    "Measure no traffic and no bandwidth of what is passed");
  command->add_flag("--require-confinement", options.require_confinement,
                    "Grade only where the kernel can keep a submission from all but computing");
  command->add_flag("!--no-experiments", options.experiments,
                    "Do not grade a failing file again to find out which of its TODOs is right");
  command->add_flag("!--no-nvcc", options.nvcc,
                    "Do not compile for a GPU as well where the simulator grades");
  return command;
}

CLI::App* add_map_command(CLI::App& app, MapOptions& options) {
  CLI::App* command = app.add_subcommand(
      "map", "Draw which bytes each warp of a kernel touches, as a page for a browser");
  command->add_option("exercise", options.names.exercises, kExercise);
  command->add_option("--submission", options.names.submission, kSubmission);
  command->add_option("--rows", options.rows, "Of the call; default: a few, to see each request")
      ->check(whole_number(1, std::numeric_limits<int>::max()));
  command->add_option("--cols", options.cols, "Of the call; default: as few")
      ->check(whole_number(1, std::numeric_limits<int>::max()));
  command->add_option("--dtype", options.dtype, "fp32 (the default), fp16 or bf16")
      ->check(one_of({"fp32", "fp16", "bf16"}));
  command->add_option("--launch", options.launch, "The launch to show first, counted from 1")
      ->check(whole_number(1, std::numeric_limits<int>::max()));
  command->add_flag("--naive", options.naive, "Draw the chapter's naive version instead");
  command->add_option("-o,--output", options.output,
                      "The page to write; default: build/map/<exercise>.html");
  return command;
}

CLI::App* add_measure_command(CLI::App& app, MeasureOptions& options) {
  CLI::App* command =
      app.add_subcommand("measure",
                         "Measure one exercise at any shapes: its speed on a GPU, what it moves on "
                         "the simulator");
  command->add_option("exercise", options.names.exercises, kExercise);
  command->add_option("--rows", options.rows,
                      "Such as 4096, or 512,1024; default, with --cols: those that grade "
                      "measures");
  command->add_option("--cols", options.cols, "Such as 1024:4096:1024, or 256:8192:x2");
  command->add_option("--dtype", options.dtypes,
                      "Of --rows and --cols: fp32 (the default), fp16, bf16, or several");
  command->add_option("--submission", options.names.submission, kSubmission);
  command->add_option("--with", options.with, "Another such folder, measured beside it: solutions");
  command->add_option("--device", options.device, kDevice);
  command->add_option("--seed", options.seed, kSeed)
      ->check(whole_number(0, kMostSeed))
      ->capture_default_str();
  command->add_option("--report", options.report,
                      "Where the JSON goes; default: build/measure/<exercise>.json");
  command->add_option("--plot", options.plot, "Where to draw the figures, such as forward.svg");
  return command;
}

CLI::App* add_library_command(CLI::App& app, LibraryOptions& options) {
  CLI::App* command = app.add_subcommand(
      "library", "Make a shared library with a C interface of the exercises that pass");
  command->add_option("folder", options.folder, kSubmission);
  command->add_option("-o,--output", options.output,
                      "Where it goes; default: build/library/<folder's name>/libonepass.so");
  command->add_option("--arch", options.architectures,
                      "GPUs to compile for, such as 80,90; default: this machine's");
  command->add_option("--device", options.device, "That grades: " + std::string(kDevice));
  command->add_option("--seed", options.seed, kSeed)
      ->check(whole_number(0, kMostSeed))
      ->capture_default_str();
  return command;
}

int run(int argc, char** argv) {
  CLI::App app{"One Pass, a graded CUDA workbook."};
  app.require_subcommand(0, 1);
  fs::path workbook = program_folder() / "onepass.json";
  app.add_option("--workbook", workbook, "The workbook's description, written by cmake")->group("");

  GradeOptions grading;
  std::vector<std::string> more;  // exercises, each with its --exercise
  CLI::App* grade_command = add_grade_command(app, grading, more);
  StudentCommands student(app);
  InstructorCommands instructor(app);
  MapOptions mapping;
  CLI::App* map_command = add_map_command(app, mapping);
  MeasureOptions measuring;
  CLI::App* measure_command = add_measure_command(app, measuring);

  LibraryOptions library;
  CLI::App* library_command = add_library_command(app, library);

  BuildOptions building;
  CLI::App* build_command =
      app.add_subcommand("build", "Make a worker of one file (for maintainers)");
  build_command->add_option("file", building.file, "The implementation")->required();
  build_command->add_option("output", building.output, "The worker to write")->required();
  build_command->add_option("--exercise", building.exercise, kExercise)->required();
  build_command->add_option("--device", building.device)->check(one_of({"cpu", "gpu"}));

  fs::path solution;
  CLI::App* skeleton_command =
      app.add_subcommand("skeleton", "Print a solution without its marked parts (for maintainers)");
  skeleton_command->add_option("file", solution, "The solution")->required();

  refuse_values_of_flags(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    refuse(app, error, workbook);
    return app.exit(error);  // the help that is asked for
  }
  if (*skeleton_command) {
    return print_skeleton(solution);
  }
  std::vector<std::string>& exercises = grading.names.exercises;
  exercises.insert(exercises.end(), more.begin(), more.end());
  const Config config = read_config(workbook);
  if (*map_command) {
    return map(config, mapping);
  }
  if (*measure_command) {
    return measure(config, measuring);
  }
  if (*grade_command) {
    return grade(config, grading);
  }
  if (*library_command) {
    return make_library(config, library);
  }
  if (*build_command) {
    return build(config, building);
  }
  if (const std::optional<int> code = instructor.run(config)) {
    return *code;
  }
  return student.run(config, workbook);
}

void tell(const std::string& text) {
  std::fprintf(stderr, "%s\n", printable(text).c_str());
}

// Whatever happens, a sentence and an exit code.
int run_and_tell(int argc, char** argv) {
  prepare_process();
  const process::Guard guard;
  try {
    require_limits();
    return run(argc, argv);
  } catch (const BadInput& error) {
    tell(error.what());
    return kBadInput;
  } catch (const std::exception& error) {
    if (process::interrupted()) {  // whatever was going on has failed by that
      tell("Interrupted.");
      return kInterrupted;
    }
    const std::string what = error.what();
    const std::string advice = advice_on(what);
    const bool told = advice.empty() || what.find(advice) != std::string::npos;
    tell("The grader could not do its work, which is no fault of yours. " + what +
         (told ? "" : " What helps: " + advice + "."));
    return kUngraded;
  }
}

}  // namespace
}  // namespace onepass::driver

int main(int argc, char** argv) {
  using namespace onepass;
  process::shield_this_process();
  const int code = driver::run_and_tell(argc, argv);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) {
    return code;
  }
  std::fputs(
      "Not all could be printed: standard output is closed, or its disk is full. The report in "
      "its file is whole.\n",
      stderr);
  return code == driver::kComplete || code == driver::kNotAllPassed ? driver::kUngraded : code;
}
