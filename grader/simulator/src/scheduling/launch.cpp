// A launch: is its shape one that the device accepts, then run it and keep what it moved.
#include <string>
#include <utility>

#include "findings/findings.h"
#include "memory/shared_memory.h"
#include "races/ordering.h"
#include "runtime/errors.h"
#include "runtime/kernel_attributes.h"
#include "scheduling/execution.h"
#include "scheduling/launch_log.h"
#include "scheduling/limits.h"
#include "scheduling/scheduler.h"
#include "scheduling/stopping.h"

namespace simulator {
namespace {

Dim3 dim3(const uint3& shape) {
  return {shape.x, shape.y, shape.z};
}

std::string text(const uint3& shape) {
  return std::to_string(shape.x) + " x " + std::to_string(shape.y) + " x " +
         std::to_string(shape.z);
}

/// What is wrong with the shape, in a sentence; empty if nothing is.
std::string complaint(const char* kernel, const LaunchShape& shape) {
  using namespace limits;
  const uint3& grid = shape.grid;
  const uint3& block = shape.block;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) {
    return "The grid is " + text(grid) + ": a launch of no blocks is an error.";
  }
  if (grid.x > kGridX || grid.y > kGridY || grid.z > kGridZ) {
    return "The grid is " + text(grid) + ": at most 2147483647 x 65535 x 65535 blocks can be " +
           "launched.";
  }
  const std::size_t threads = std::size_t{block.x} * block.y * block.z;
  if (threads == 0) {
    return "The block is " + text(block) + ": it has no threads.";
  }
  if (block.x > kBlockX || block.y > kBlockY || block.z > kBlockZ || threads > kThreadsPerBlock) {
    return "The block is " + text(block) + ": it may have 1024 threads, and 64 in z.";
  }
  const std::size_t shared = shape.dynamic_shared_bytes;
  if (shared > kSharedPerBlockOptin) {
    return "The launch asks for " + std::to_string(shared) +
           " bytes of dynamic shared memory: a block can have " +
           std::to_string(kSharedPerBlockOptin) + '.';
  }
  if (shared > allowed_dynamic_shared(kernel)) {
    return "The launch asks for " + std::to_string(shared) +
           " bytes of dynamic shared memory. More than " + std::to_string(kSharedPerBlock) +
           " must be allowed first: cudaFuncSetAttribute(kernel, " +
           "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes).";
  }
  return "";
}

void refuse(const char* kernel, const std::string& message, int error) {
  Finding finding{Kind::invalid_launch, kernel, message, false, {}, "", -1};
  if (now.thread != nullptr) finding.kernel = now.launch->kernel;
  findings().add(std::move(finding));
  errors().note(error);
}

}  // namespace

void launch(const char* kernel, const LaunchShape& shape, void (*body)(void* arguments),
            void* arguments, std::size_t argument_bytes) {
  if (now.thread != nullptr) {
    const ReportInProgress guard;
    refuse(kernel, "A kernel launches another kernel: the simulator has no dynamic parallelism.",
           kErrorNotSupported);
    return;
  }
  if (errors().sticky() != kSuccess) return;
  const std::string wrong = complaint(kernel, shape);
  if (!wrong.empty()) {
    refuse(kernel, wrong, kErrorInvalidConfiguration);
    return;
  }
  Launch run;
  run.kernel = kernel;
  run.shape = shape;
  run.body = body;
  run.arguments = arguments;
  run.argument_bytes = argument_bytes;
  run.traffic = TrafficCounter(launch_log().count_requests, launch_log().most_traced);
  shared_memory().prepare(shape.dynamic_shared_bytes);
  findings().begin_launch();
  begin_ordering(run);
  now.launch = &run;
  {
    const Watchdog watchdog;
    scheduler().run(run);
  }
  findings().end_launch();
  now.launch = nullptr;
  now.block = nullptr;
  LaunchTraffic traffic;
  traffic.kernel = run.kernel;
  traffic.grid = dim3(shape.grid);
  traffic.block = dim3(shape.block);
  launch_log().trace.emplace_back();
  run.traffic.finish(traffic, launch_log().trace.back());
  launch_log().traffic.push_back(std::move(traffic));
}

}  // namespace simulator
