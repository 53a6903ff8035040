#include "driver/measure/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "driver/bad_input.h"
#include "driver/build.h"
#include "driver/files.h"
#include "driver/gpu_lock.h"
#include "driver/grade.h"
#include "driver/grader.h"
#include "driver/measure/measure_plot.h"
#include "driver/measure/measure_table.h"
#include "driver/measure/ranges.h"
#include "driver/printable.h"
#include "driver/progress.h"
#include "driver/submission.h"
#include "driver/text.h"
#include "process/interrupt.h"
#include "process/process.h"

namespace onepass::driver {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostShapes = 1000;

// All combinations, as the chapters' graders read them; none where the grader is to take its own.
std::vector<std::string> shapes_of(const MeasureOptions& options) {
  if (options.rows.empty() && options.cols.empty() && options.dtypes.empty()) {
    return {};
  }
  if (options.rows.empty() || options.cols.empty()) {
    throw BadInput(
        "Give --rows and --cols, such as --rows 16 --cols 256:4096:x2, or no shape and no type at "
        "all to measure what grade does.");
  }
  const std::vector<std::int64_t> all_rows = numbers_of("--rows", options.rows);
  const std::vector<std::int64_t> all_cols = numbers_of("--cols", options.cols);
  std::vector<std::string> shapes;
  for (const std::string& dtype : words_of(options.dtypes.empty() ? "fp32" : options.dtypes)) {
    if (dtype != "fp32" && dtype != "fp16" && dtype != "bf16") {
      throw BadInput(fmt::format("There is no type {}: choose of fp32, fp16 and bf16.",
                                 dtype.empty() ? "\"\"" : dtype));
    }
    for (const std::int64_t rows : all_rows) {
      for (const std::int64_t cols : all_cols) {
        shapes.push_back(fmt::format("{}x{}x{}", rows, cols, dtype));
      }
    }
  }
  if (shapes.size() > kMostShapes) {
    throw BadInput(
        fmt::format("These are {} shapes: take at most {} at once.", shapes.size(), kMostShapes));
  }
  return shapes;
}

// Of g++ the first line of --version, of nvcc the one that says the release.
std::string version_of(const Toolchain& toolchain) {
  const std::string text = process::run({{toolchain.compiler.string(), "--version"}}, 60).output;
  const std::size_t release = text.find("Cuda compilation tools");
  return first_line(release == std::string::npos ? text : text.substr(release));
}

// One run: it builds, has the grader measure, and keeps what comes.
class Sweep {
 public:
  Sweep(const Config& config, const MeasureOptions& options, Device device)
      : config_(config),
        options_(options),
        device_(device),
        shapes_(shapes_of(options)),
        task_(select_task(config, options.names)),
        with_(options.with.empty() ? ""
                                   : fs::absolute(options.with / ".").parent_path().filename()),
        table_(device, with_),
        file_(report_file()) {}

  int run() {
    const std::optional<GraderRun> grader = build();
    if (!grader) {
      return kNotAllPassed;
    }
    report_ = {{"schema", 1},
               {"complete", false},
               {"device", {{"kind", device_name(device_)}, {"name", kSimulatorName}}},
               {"compiler", version_of(config_.toolchain(device_))},
               {"seed", options_.seed},
               {"exercise", task_.exercise->id},
               {"file", task_.shown},
               {"with", with_.empty() ? Json() : Json(options_.with.string())},
               {"traffic", Json::array()},
               {"bandwidth", Json::array()},
               {"measurement_failed", Json::array()},
               {"skipped", Json::array()}};
    require_writable();
    show_progress();
    const auto fault = run_grader(*grader, [this](const Json& event) { take(event); });
    progress_.show("");
    report_["complete"] = !fault;
    save();
    finish();
    if (fault && process::interrupted()) {
      fmt::print("Interrupted: {} are measured.\n", told_done());
      return kInterrupted;
    }
    if (fault) {
      throw GraderFault(*fault);
    }
    return !report_["measurement_failed"].empty()            ? kNotAllPassed
           : done_ > 0 && report_["skipped"].size() == done_ ? kBadInput
                                                             : kComplete;
  }

 private:
  // Where the user wants it, or in build/measure.
  fs::path report_file() const {
    const std::string name = file_name_of(task_.exercise->id) + ".json";
    return options_.report.empty() ? config_.build / "measure" / name : options_.report;
  }

  // The workers of all that takes part; nothing if a file does not compile.
  std::optional<GraderRun> build() {
    const Builder builder(config_, device_);
    GraderRun run;
    run.chapter = task_.chapter;
    run.exercise = task_.exercise->id;
    run.device = device_;
    run.seed = options_.seed;
    run.shapes = shapes_;
    run.measure = shapes_.empty();
    if (!build_theirs(builder, task_, run.worker)) {
      return std::nullopt;
    }
    if (!options_.with.empty()) {
      const Task other = select_task(config_, {{run.exercise}, "", options_.with});
      if (!build_theirs(builder, other, run.reference)) {
        return std::nullopt;
      }
    }
    if (const fs::path& naive = task_.exercise->naive; !naive.empty()) {
      run.naive = builder.build_own(*task_.exercise, naive);
    }
    return run;
  }

  bool build_theirs(const Builder& builder, const Task& task, fs::path& worker) {
    progress_.show(fmt::format("compiling {}", task.shown));
    const BuildResult built = builder.build(task);
    if (built.error) {
      progress_.show("");
      fmt::print(stderr, "{}\n", built.error->told(task.shown));
    }
    worker = built.worker;
    return !built.error;
  }

  void take(const Json& event) {
    const std::string kind = event.at("event").get<std::string>();
    Json content = event;
    content.erase("event");
    content.erase("exercise");
    if (kind == "device") {
      report_["device"] = content;
    } else if (report_.contains(kind) && report_[kind].is_array()) {
      progress_.show("");
      if (done_++ == 0) {
        fmt::print("{} on {}, seed {}\n\n{}", task_.exercise->id,
                   report_["device"]["name"].get<std::string>(), options_.seed, table_.header());
      }
      fmt::print("{}", table_.row(event));
      std::fflush(stdout);
      report_[kind].push_back(content);
      save();
      show_progress();
    }
  }

  void show_progress() {
    progress_.show(fmt::format("measuring {}: {}", task_.exercise->id, told_done()));
  }

  std::string told_done() const {
    return shapes_.empty() ? fmt::format("{} shapes", done_)
                           : fmt::format("{} of {} shapes", done_, shapes_.size());
  }

  void save() const {
    write_for_user(file_, report_.dump(2, ' ', false, Json::error_handler_t::replace) + "\n",
                   "--report");
  }

  // That a file cannot be written is told before the work begins, not after it.
  void require_writable() const {
    save();
    if (!options_.plot.empty() && !fs::exists(options_.plot)) {
      write_for_user(options_.plot, "", "--plot");
      fs::remove(options_.plot);
    }
  }

  void finish() {
    if (done_ == 0) {
      return;
    }
    fmt::print("{}\n{}The report is in {}.\n", table_.notes(),
               shapes_.empty() ? "These are the shapes that grade measures: --rows and --cols take "
                                 "others.\n"
                               : "",
               printable_line(shown_path(file_, config_.source)));
    const Plot plot = plot_of(report_, with_);
    if (options_.plot.empty() || plot.panels.empty()) {
      return;
    }
    write_for_user(options_.plot, svg(plot), "--plot");
    fmt::print("The plot is in {}.\n", printable_line(shown_path(options_.plot, config_.source)));
  }

  const Config& config_;
  const MeasureOptions& options_;
  Device device_;
  std::vector<std::string> shapes_;
  Task task_;
  std::string with_;
  MeasureTable table_;
  fs::path file_;
  Json report_;
  std::size_t done_ = 0;
  Progress progress_;
};

}  // namespace

int measure(const Config& config, const MeasureOptions& options) {
  const Device device = choose_device(config, options.device);
  Sweep sweep(config, options, device);
  const GpuLock lock(config.build, device);
  return sweep.run();
}

}  // namespace onepass::driver
