#include "access/access.h"

#include <cstring>

#include "scheduling/running.h"
#include "scheduling/stopping.h"

namespace simulator {
namespace {

/// Of an address that is neither device nor shared memory.
Area area_on_host(Launch& launch, const Access& access) {
  const std::uintptr_t address = access.address;
  if (DeviceVariables::contains(address, access.size)) {
    if (access.type != AccessType::read) {
      launch.machine.memory.variables.note_write(address, access.size);
      launch.machine.shadow.initialised.host_writes.cut(address, address + access.size);
    }
    return Area::own;
  }
  const auto arguments = reinterpret_cast<std::uintptr_t>(launch.arguments);
  if (launch.thread->stack.contains(address) || address - arguments < launch.argument_bytes) {
    return Area::own;
  }
  return on_stack_of_block(*launch.block, address) ? Area::other_stack : Area::elsewhere;
}

[[gnu::noinline]] void tell_cold(Launch& launch, AccessEvent event) {
  tell_or_stop(launch, event);
}

/// Of shared memory of another block.
[[gnu::noinline]] void tell_remote(Launch& launch, AccessEvent event) {
  ErrorCode error = kSuccess;
  {
    const Findings::Writing writing(launch.machine.findings);  // what checkers touch is not its own
    error = launch.checkers.tell_remote(event);
  }
  if (error != kSuccess) stop_launch(launch, error);
}

}  // namespace

Place place_of(Launch& launch, const Access& access) {
  Memory& memory = launch.machine.memory;
  if (DeviceMemory::in_range(access.address)) {
    const Allocation* found = memory.device.containing(access.address, access.size);
    if (found == nullptr) return {Area::outside_device};
    return {Area::inside, MemorySpace::global, found->number, access.address - found->begin};
  }
  Place place = memory.place_in_shared(access.address, access.size);
  if (place.area == Area::elsewhere) place.area = area_on_host(launch, access);
  return place;
}

// It runs tens of millions of times: all that it calls is inlined.
__attribute__((flatten)) void check_access(const Access& access) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) {
    if (__builtin_expect(DeviceMemory::in_range(access.address), 0)) {
      report_device_memory_on_host(access, machine().memory.device, machine().findings);
      machine().memory.device.set_in_reach(true);
    }
    return;
  }
  if (__builtin_expect(launch->machine.findings.is_being_written(), 0)) return;
  obey_stop(*launch, access.site);
  if (__builtin_expect(--launch->accesses_left == 0, 0)) stop_as_endless(*launch, access.site);
  Thread& thread = *launch->thread;
  thread.last_site = access.site;
  if (__builtin_expect(launch->checkers.is_ahead(thread.number), 0) && !access.is_atomic &&
      !access.is_volatile) {
    let_warp_catch_up(*launch);
  }
  // Two copies of the way through the checkers, each without the other's branches.
  Memory& memory = launch->machine.memory;
  if (DeviceMemory::in_range(access.address)) {
    const Allocation* found = memory.device.containing(access.address, access.size);
    if (__builtin_expect(found == nullptr, 0)) {
      tell_cold(*launch, {thread.number, access, {Area::outside_device}});
      return;
    }
    tell_or_stop(*launch, AccessEvent{thread.number,
                                      access,
                                      {Area::inside, MemorySpace::global, found->number,
                                       access.address - found->begin}});
  } else if (!thread.stack.contains(access.address) ||
             (access.address & (access.alignment - 1)) != 0) {
    AccessEvent event = {thread.number, access,
                         memory.place_in_shared(access.address, access.size)};
    if (event.place.area == Area::elsewhere) {
      event.place.area = area_on_host(*launch, access);
    }
    if (__builtin_expect(is_remote(event.place) && event.place.area == Area::inside, 0)) {
      tell_remote(*launch, event);
      return;
    }
    tell_or_stop(*launch, event);
  }
}

AccessedWords load(const void* memory, unsigned bytes) {
  check_access({reinterpret_cast<std::uintptr_t>(memory), bytes, bytes, AccessType::read,
                reinterpret_cast<CodeAddress>(__builtin_return_address(0))});
  AccessedWords words = {0, 0};
  std::memcpy(&words, memory, bytes);
  return words;
}

const void* read_only(const void* memory, unsigned bytes) {
  Launch* launch = launch_of_kernel();
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  if (launch == nullptr || !DeviceMemory::in_range(address)) return memory;
  const Access access = {address, bytes, bytes, AccessType::read,
                         reinterpret_cast<CodeAddress>(__builtin_return_address(0))};
  const Allocation* found = launch->machine.memory.device.containing(address, bytes);
  if (found == nullptr) return memory;  // which the load itself is told for
  launch->checkers.tell(
      ReadOnlyLoad{{launch->thread->number,
                    access,
                    {Area::inside, MemorySpace::global, found->number, address - found->begin}}});
  return memory;
}

void store(void* memory, unsigned bytes, AccessedWords words) {
  check_access({reinterpret_cast<std::uintptr_t>(memory), bytes, bytes, AccessType::write,
                reinterpret_cast<CodeAddress>(__builtin_return_address(0))});
  std::memcpy(memory, &words, bytes);
}

}  // namespace simulator
