// The functions of simulator.h.
#include "simulator.h"

#include <cstring>
#include <utility>

#include "findings/findings.h"
#include "memory/device_memory.h"
#include "runtime/errors.h"
#include "scheduling/launch_log.h"
#include "scheduling/limits.h"
#include "scheduling/stopping.h"

namespace simulator {

LaunchLog& launch_log() {
  static LaunchLog log;
  return log;
}

std::vector<Finding> take_findings() {
  return findings().take();
}

std::vector<LaunchTraffic> take_traffic() {
  return std::exchange(launch_log().traffic, {});
}

void count_requests(bool wanted) {
  launch_log().count_requests = wanted;
}

void trace_requests(std::size_t most) {
  launch_log().most_traced = most;
}

std::vector<std::vector<TracedRequest>> take_trace() {
  return std::exchange(launch_log().trace, {});
}

void* allocate(std::size_t bytes, std::size_t offset, const Label& label) {
  const Allocation* memory = device_memory().allocate(bytes, offset, label);
  return memory == nullptr ? nullptr : reinterpret_cast<void*>(memory->begin);
}

void release(void* device) {
  Allocation* memory = device_memory().starting_at(device);
  if (memory != nullptr) device_memory().release(*memory);
}

void upload(void* device, const void* host, std::size_t bytes) {
  if (bytes == 0) return;
  std::memcpy(device, host, bytes);
  mark_initialised(device, bytes);
}

void download(void* host, const void* device, std::size_t bytes) {
  if (bytes > 0) std::memcpy(host, device, bytes);
}

void mark_initialised(void* device, std::size_t bytes, bool initialised) {
  Allocation* memory = device_memory().containing(device, bytes);
  if (memory == nullptr) return;
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(device) - memory->begin;
  memory->initialised.fill(offset, bytes, initialised);
}

void set_time_limit(double cpu_seconds_per_launch) {
  set_launch_time_limit(cpu_seconds_per_launch);
}

void reset() {
  errors().clear();
  findings().take();
  launch_log().traffic.clear();
  launch_log().trace.clear();
}

DeviceFacts device_facts() {
  return {"CPU simulator", limits::kMemoryBytes, limits::kMultiprocessors};
}

}  // namespace simulator
