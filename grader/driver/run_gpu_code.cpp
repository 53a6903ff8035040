// Where the simulator grades and there is nvcc, a file is compiled for a GPU as well: on
// processors that are idle before the verdict, else after it. No verdict waits for it.
#include <algorithm>
#include <chrono>
#include <utility>

#include "driver/bad_input.h"
#include "driver/files.h"
#include "driver/gpu_code/judge.h"
#include "driver/parallel.h"
#include "driver/printable.h"
#include "driver/run.h"
#include "process/interrupt.h"

namespace onepass::driver {

void Run::find_gpu_code() {
  if (device_ != Device::cpu || !config_.gpu_code || !options_.nvcc) {
    return;
  }
  try {
    gpu_code_builder_.emplace(Builder::of_gpu_code(config_));
    for (std::size_t index = 0; index < items_.size(); ++index) {
      Item& item = items_[index];
      if (item.worker.empty() || is_untouched(item.task)) {
        continue;
      }
      if (const auto built = gpu_code_builder_->built(item.task)) {
        item.gpu_code = *built;
      } else {
        to_compile_.push_back(index);
      }
    }
  } catch (const GraderFault& fault) {
    gpu_code_fault_ = printable(fault.what());
  }
}

void Run::begin_gpu_code(std::size_t idle) {
  if (idle == 0 || to_compile_.empty() || gpu_code_.valid() || process::interrupted()) {
    return;
  }
  gpu_code_ = std::async(std::launch::async, [this, idle] {
    try {
      parallel_for(to_compile_.size(), idle, [&](std::size_t i) {
        Item& item = items_[to_compile_[i]];
        item.gpu_code = gpu_code_builder_->build(item.task);
      });
    } catch (const std::exception& fault) {
      gpu_code_fault_ = printable(fault.what());
    }
  });
}

void Run::add_known_gpu_code() {
  using namespace std::chrono_literals;
  if (gpu_code_.valid() && gpu_code_.wait_for(0s) == std::future_status::ready) {
    to_compile_.clear();
  }
  for (std::size_t index = 0; index < items_.size(); ++index) {
    if (std::count(to_compile_.begin(), to_compile_.end(), index) == 0) {
      judge_gpu_code(index);
    }
  }
}

void Run::add_gpu_code() {
  begin_gpu_code(threads());
  if (gpu_code_.valid()) {
    progress_.show("compiling for a GPU as well");
    gpu_code_.wait();
    progress_.show("");
  }
  add_known_gpu_code();
  if (!gpu_code_fault_.empty() && !process::interrupted()) {
    report_["gpu_code"] = {{"fault", gpu_code_fault_}};
  }
}

// Each once.
void Run::judge_gpu_code(std::size_t index) {
  Item& item = items_[index];
  const BuildResult gpu_code = std::exchange(item.gpu_code, {});
  if (gpu_code.error) {
    update(index, [&](Json& exercise) { refuse_file(exercise, *gpu_code.error); });
  } else if (!gpu_code.worker.empty()) {
    const auto kernels = read_resources(read_file(gpu_code.worker));
    update(index, [&](Json& exercise) {
      exercise["gpu_code"] = describe_gpu_code(kernels, item.launches);
      refuse_launches(exercise, kernels, item.launches, item.task.source);
      refuse_spills(exercise, kernels, item.launches);
      for (Json& check : exercise["checks"]) {
        if ((check["status"] == "launch error" || check["status"] == "failed") &&
            !check.contains("replay")) {
          check["replay"] = replay(*item.task.exercise, options_.device);
        }
      }
    });
  }
}

}  // namespace onepass::driver
