#include "driver/gpu_code/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "driver/gpu_code/resources.h"
#include "driver/paint.h"
#include "driver/show_failures.h"
#include "driver/table.h"
#include "driver/text.h"

namespace onepass::driver {
namespace {

// Those that the checks have launched; all, if that is not known.
std::vector<const Json*> kernels_of(const Json& gpu_code) {
  std::vector<const Json*> launched, all;
  for (const Json& kernel : gpu_code["kernels"]) {
    all.push_back(&kernel);
    if (!kernel["launches"].empty()) {
      launched.push_back(&kernel);
    }
  }
  return launched.empty() ? all : launched;
}

const Json& with_most(const std::vector<const Json*>& kernels, const char* key) {
  return **std::max_element(
      kernels.begin(), kernels.end(),
      [&](const Json* one, const Json* other) { return (*one)[key] < (*other)[key]; });
}

std::string memory_of_threads(const std::vector<const Json*>& kernels) {
  const Json& spilling = with_most(kernels, "spill_load_bytes");
  const Json& local = with_most(kernels, "local_bytes");
  if (spilling["spill_load_bytes"] != 0) {
    return fmt::format("{} spills: {} bytes a thread stored and {} loaded",
                       text(spilling, "kernel"), text(spilling, "spill_store_bytes"),
                       text(spilling, "spill_load_bytes"));
  }
  return local["local_bytes"] == 0 ? ""
                                   : fmt::format("{} has {} bytes of a thread in local memory",
                                                 text(local, "kernel"), text(local, "local_bytes"));
}

// The launch that registers hold back most.
std::string occupancy(const std::vector<const Json*>& kernels) {
  std::string worst;
  double least = 1.0;
  for (const Json* kernel : kernels) {
    for (const Json& launch : (*kernel)["launches"]) {
      const auto blocks = launch["blocks"].get<double>();
      const auto possible = launch["blocks_but_for_registers"].get<double>();
      if (blocks > 0 && blocks < least * possible) {  // none: that is told as a failure
        least = blocks / possible;
        worst = fmt::format(
            "registers leave room for {} of {} blocks of {} threads on a "
            "multiprocessor",
            blocks, possible, text(launch, "threads"));
      }
    }
  }
  return worst;
}

void write_resources(Out out, const Json& exercise, bool is_alone) {
  const std::vector<const Json*> kernels = kernels_of(exercise["gpu_code"]);
  if (kernels.empty()) {
    return;
  }
  const std::string memory = memory_of_threads(kernels);
  const std::string blocks = occupancy(kernels);
  if (is_alone || !memory.empty() || !blocks.empty()) {
    fmt::format_to(out, "  {}: {} registers a thread{}, {}{}\n", text(exercise, "id"),
                   text(with_most(kernels, "registers"), "registers"),
                   kernels.size() > 1 ? " at most" : "", memory.empty() ? "no spills" : memory,
                   blocks.empty() ? "" : "; " + blocks);
  }
}

// Of the checks. (Points may have come by experiments meanwhile.)
std::vector<std::string> statuses(const Json& exercise) {
  std::vector<std::string> all;
  for (const Json& check : exercise["checks"]) {
    all.push_back(text(check, "status"));
  }
  return all;
}

}  // namespace

std::string render_gpu_code(const Json& told, const Json& report, Style style) {
  std::string lines;
  const Json& exercises = report["exercises"];
  for (const Json& exercise : exercises) {
    if (exercise.contains("gpu_code")) {
      write_resources(Out(lines), exercise, exercises.size() == 1);
    }
  }
  for (std::size_t i = 0; i < exercises.size(); ++i) {
    const Json& exercise = exercises[i];
    const std::string status = text(exercise, "status");
    if (statuses(exercise) != statuses(told["exercises"][i])) {
      fmt::format_to(Out(lines), "\n{} {}, {} of {}\n", painted(text(exercise, "id"), kBold, style),
                     painted(status, color_of(status), style), text(exercise, "score"),
                     text(exercise, "max_score"));
      write_failures(Out(lines), exercise, style);
    }
  }
  const Json gpu_code = report.value("gpu_code", Json::object());
  if (const std::string fault = text(gpu_code, "fault"); !fault.empty()) {
    fmt::format_to(Out(lines), "  Not all could be, which is no fault of yours:\n");
    write_indented(Out(lines), fault);
  }
  return lines.empty()
             ? ""
             : fmt::format("\nCompiled for a GPU as well (nvcc, {}):\n{}", kArchitecture, lines);
}

}  // namespace onepass::driver
