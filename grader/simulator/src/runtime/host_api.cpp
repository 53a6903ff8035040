// The functions of simulator.h.
#include "simulator.h"

#include <cstring>
#include <utility>

#include "device_limits.h"
#include "scheduling/host_faults.h"
#include "scheduling/machine.h"

namespace simulator {

std::vector<Finding> take_findings() {
  Machine& device = machine();
  if (device.settings.wanted.initialised) {
    report_host_writes(device.memory.device, device.shadow.initialised, device.findings);
  }
  device.shadow.initialised.host_writes.clear();
  return device.findings.take();
}

std::vector<LaunchTraffic> take_traffic() {
  return std::exchange(machine().traffic, {});
}

void count_requests(bool wanted) {
  machine().settings.count_requests = wanted;
}

void trace_requests(std::size_t most) {
  machine().settings.most_traced = most;
}

std::vector<std::vector<TracedRequest>> take_trace() {
  return std::exchange(machine().trace, {});
}

void* allocate(std::size_t bytes, std::size_t offset, const Label& label) {
  const Allocation* memory = machine().memory.device.allocate(bytes, offset, label);
  if (memory == nullptr) return nullptr;
  machine().shadow.allocated(*memory);
  return reinterpret_cast<void*>(memory->begin);
}

void name_part(void* first, std::size_t bytes, const Label& label) {
  const auto begin = reinterpret_cast<std::uintptr_t>(first);
  if (Allocation* memory = machine().memory.device.containing(begin, bytes)) {
    memory->parts.push_back({begin, bytes, label});
  }
}

void release(void* device) {
  Allocation* memory = machine().memory.device.starting_at(device);
  if (memory == nullptr) return;
  machine().memory.device.release(*memory);
  machine().shadow.released(*memory);
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
  const auto begin = reinterpret_cast<std::uintptr_t>(device);
  const Allocation* memory = machine().memory.device.containing(begin, bytes);
  if (memory == nullptr) return;
  machine().shadow.initialised[memory->number].fill(begin - memory->begin, bytes, initialised);
}

void set_block_order(BlockOrder order, std::uint64_t seed) {
  machine().blocks.order = order;
  machine().blocks.seed = seed;
}

void run_sample_of_blocks(std::uint64_t most) {
  machine().blocks.most = most;
  machine().settings.wanted.initialised = true;  // until some blocks have not run
}

void run_no_blocks(bool wanted) {
  machine().blocks.none = wanted;
}

void expect_stream(const void* stream) {
  machine().host_calls.expect(stream, machine().findings);
  machine().kernel_before.reset();
  if (stream != nullptr) {
    machine().kernel_before = stream;
    machine().shadow.races.begin_call();
  }
  keep_host_from_memory(stream != nullptr);
}

void hold_work(bool wanted) {
  machine().streams.hold(wanted);
}

void set_multiprocessors(int number) {
  machine().multiprocessors = number;
}

void refuse_launches(bool wanted) {
  machine().refuses_launches = wanted;
}

void set_generation(int capability) {
  machine().generation = &limits::generation_of(capability);
}

void set_time_limit(double cpu_seconds_per_launch) {
  machine().time_limit = cpu_seconds_per_launch;
}

void limit_accesses(std::uint64_t per_launch) {
  machine().access_limit = per_launch;
  machine().settings.wanted.initialised = true;  // until a launch has been under the limit
}

void reset() {
  machine().errors.clear();
  machine().shadow.initialised.host_writes.clear();
  machine().findings.take();
  machine().traffic.clear();
  machine().trace.clear();
}

DeviceFacts device_facts() {
  return {"CPU simulator", limits::kMemoryBytes, machine().multiprocessors};
}

}  // namespace simulator
