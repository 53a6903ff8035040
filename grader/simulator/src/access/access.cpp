#include "access/access.h"

#include "access/bad_access.h"
#include "access/uninitialised.h"
#include "memory/device_memory.h"
#include "memory/shared_memory.h"
#include "scheduling/execution.h"
#include "scheduling/stopping.h"

extern char __executable_start, _end;  // the linker's names for the program's first and last byte

namespace simulator {
namespace {

void check_global(Thread& thread, const Access& access) {
  Allocation* memory = device_memory().candidate(access.address);
  if (__builtin_expect(
          memory == nullptr || memory->freed || !memory->contains(access.address, access.size),
          0)) {
    stop_for_stray_device_address(access);
  }
  const std::size_t offset = access.address - memory->begin;
  TrafficCounter& traffic = now.launch->traffic;
  traffic.count_bytes(access.type, access.size);
  if (traffic.counts_requests()) {
    now.block->warp_of(thread).requests.add(thread.lane, access, MemorySpace::global, traffic);
  }
  if (access.type != AccessType::write) {
    if (__builtin_expect(!memory->initialised.all_set(offset, access.size), 0)) {
      report_uninitialised_global(access);
      memory->initialised.set(offset, access.size);  // once is enough
    }
  }
  if (access.type != AccessType::read) {
    memory->initialised.set(offset, access.size);
  }
  memory->races.check(thread, *now.block, offset, access, MemorySpace::global,
                      now.launch->first_interval);
}

void check_shared(Thread& thread, const Access& access, InitialisedBits& initialised,
                  RaceShadow& races, std::size_t offset) {
  Block& block = *now.block;
  block.warp_of(thread).requests.add(thread.lane, access, MemorySpace::shared, now.launch->traffic);
  if (access.type != AccessType::write && !initialised.all_set(offset, access.size)) {
    note_uninitialised_read(block, thread, access);
  }
  if (access.type != AccessType::read) {
    initialised.set(offset, access.size);
    if (!block.shared.uninitialised_reads.empty()) {
      settle_early_reads(block, thread, access);
    }
  }
  races.check(thread, block, offset, access, MemorySpace::shared, block.first_interval);
}

/// The thread's own locals, the launch's arguments, and the program's globals, which stand for
/// __device__ and __constant__ variables.
bool is_harmless(const Thread& thread, std::uintptr_t address) {
  const auto arguments = reinterpret_cast<std::uintptr_t>(now.launch->arguments);
  const auto program = reinterpret_cast<std::uintptr_t>(&__executable_start);
  const auto program_end = reinterpret_cast<std::uintptr_t>(&_end);
  return thread.stack.contains(address) || address - arguments < now.launch->argument_bytes ||
         address - program < program_end - program;
}

}  // namespace

// It runs tens of millions of times: all that it calls is inlined.
__attribute__((flatten)) void check_access(const Access& access) {
  Thread* thread = now.thread;
  if (thread == nullptr) {
    if (__builtin_expect(DeviceMemory::in_range(access.address), 0)) {
      report_device_memory_on_host(access);
    }
    return;
  }
  if (__builtin_expect(now.busy, 0)) return;
  obey_stop(access.site);
  thread->last_site = access.site;
  if (__builtin_expect(now.block->warp_of(*thread).requests.is_ahead(thread->lane), 0) &&
      !access.is_atomic) {
    let_warp_catch_up();
  }
  if (__builtin_expect((access.address & (access.alignment - 1)) != 0, 0)) {
    stop_for_misaligned(access);
  }
  if (DeviceMemory::in_range(access.address)) {
    check_global(*thread, access);
    return;
  }
  SharedMemory& shared = shared_memory();
  SharedState& state = now.block->shared;
  if (shared.in_static(access.address)) {
    if (shared.is_guard(access.address)) return;
    if (!shared.use_variable(access.address, access.size)) stop_for_stray_shared_address(access);
    check_shared(*thread, access, state.static_initialised, state.static_races,
                 access.address - shared.static_begin());
  } else if (shared.in_dynamic(access.address)) {
    const std::size_t offset = access.address - shared.dynamic_begin();
    if (offset + access.size > shared.dynamic_size()) stop_for_stray_shared_address(access);
    check_shared(*thread, access, state.dynamic_initialised, state.dynamic_races, offset);
  } else if (!is_harmless(*thread, access.address)) {
    stop_for_foreign_address(access);
  }
}

}  // namespace simulator
