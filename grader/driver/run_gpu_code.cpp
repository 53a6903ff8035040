// Where the simulator grades and there is nvcc, a file is compiled for a GPU as well: on
// processors that are idle before the verdict, else after it. No verdict waits for it.
#include "driver/files.h"
#include "driver/gpu_code/judge.h"
#include "driver/parallel.h"
#include "driver/printable.h"
#include "driver/run.h"
#include "process/interrupt.h"

namespace onepass::driver {

void Run::begin_gpu_code(std::size_t idle) {
  if (idle == 0 || gpu_code_begun_ || device_ != Device::cpu || !config_.gpu_code ||
      !options_.nvcc || process::interrupted()) {
    return;
  }
  gpu_code_begun_ = true;
  gpu_code_ = std::async(std::launch::async, [this, idle] {
    try {
      const Builder builder = Builder::of_gpu_code(config_);
      parallel_for(items_.size(), idle,
                   [&](std::size_t index) { compile_gpu_code(builder, index); });
    } catch (const std::exception& fault) {
      gpu_code_fault_ = printable(fault.what());
    }
  });
}

void Run::compile_gpu_code(const Builder& builder, std::size_t index) {
  Item& item = items_[index];
  if (!item.worker.empty() && !process::interrupted() && !is_untouched(item.task)) {
    item.gpu_code = builder.build(item.task);
  }
}

void Run::add_gpu_code() {
  begin_gpu_code(processors());
  if (!gpu_code_.valid()) {
    return;
  }
  progress_.show("compiling for a GPU as well");
  gpu_code_.get();
  progress_.show("");
  if (!gpu_code_fault_.empty() && !process::interrupted()) {
    report_["gpu_code"] = {{"fault", gpu_code_fault_}};
  }
  for (std::size_t index = 0; index < items_.size(); ++index) {
    judge_gpu_code(index);
  }
}

void Run::judge_gpu_code(std::size_t index) {
  const Item& item = items_[index];
  if (item.gpu_code.error) {
    update(index, [&](Json& exercise) { refuse_file(exercise, *item.gpu_code.error); });
  } else if (!item.gpu_code.worker.empty()) {
    const auto kernels = read_resources(read_file(item.gpu_code.worker));
    update(index, [&](Json& exercise) {
      exercise["gpu_code"] = describe_gpu_code(kernels, item.launches);
      refuse_launches(exercise, kernels, item.launches, item.task.source);
      for (Json& check : exercise["checks"]) {
        if (check["status"] == "launch error" && !check.contains("replay")) {
          check["replay"] = replay(*item.task.exercise, options_.device);
        }
      }
    });
  }
}

}  // namespace onepass::driver
