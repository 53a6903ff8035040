#include "access/bad_access.h"

#include <cstdlib>
#include <string>

#include "findings/findings.h"
#include "memory/device_memory.h"
#include "memory/shared_names.h"
#include "runtime/errors.h"
#include "scheduling/execution.h"
#include "scheduling/stopping.h"

namespace simulator {
namespace {

constexpr std::uintptr_t kNearNull = std::uintptr_t{1} << 20;

std::string verb(const Access& access) {
  switch (access.type) {
    case AccessType::read:
      return "Reads ";
    case AccessType::write:
      return "Writes ";
    case AccessType::atomic:
      return "Updates ";
  }
  return "";
}

std::string bytes_text(unsigned size) {
  return std::to_string(size) + (size == 1 ? " byte" : " bytes");
}

Finding finding(Kind kind, const Access& access, std::string message) {
  return {kind,
          now.launch->kernel,
          std::move(message),
          false,
          {party(*now.thread, access.site, action_text(access))},
          "",
          -1};
}

/// True if the address lies on the stack of another thread of the block.
bool on_another_stack(std::uintptr_t address) {
  for (const Thread& thread : now.block->threads) {
    if (thread.stack.contains(address)) return true;
  }
  return false;
}

/// An address so far from every buffer that none of them can be said to be meant.
std::string far_text(const Allocation& nearest, const Access& access) {
  const std::size_t mebibytes = nearest.distance(access.address) >> 20;
  return verb(access) + bytes_text(access.size) +
         " at an address that belongs to no buffer: the nearest one, " + nearest.label.name +
         ", is " + std::to_string(mebibytes) +
         " MiB away. The index is probably wrong: not set, negative, or too large for its type.";
}

}  // namespace

std::string action_text(const Access& access) {
  switch (access.type) {
    case AccessType::read:
      return "reads " + bytes_text(access.size);
    case AccessType::write:
      return "writes " + bytes_text(access.size);
    case AccessType::atomic:
      return "updates " + bytes_text(access.size) + " atomically";
  }
  return "";
}

void stop_for_misaligned(const Access& access) {
  {
    const ReportInProgress guard;
    Finding found = finding(
        Kind::misaligned, access,
        verb(access) + bytes_text(access.size) + " at an address that is " +
            std::to_string(access.address % access.alignment) + " past a multiple of " +
            std::to_string(access.alignment) + ": a " + std::to_string(access.size) +
            "-byte access needs an address that " + std::to_string(access.alignment) + " divides.");
    if (DeviceMemory::in_range(access.address)) {
      if (const Allocation* memory = device_memory().candidate(access.address)) {
        element_name(*memory, access.address, access.size, found.index);
        found.buffer = memory->label.name;
      }
    }
    findings().add(std::move(found));
  }
  stop_launch(kErrorMisalignedAddress);
}

void stop_for_stray_device_address(const Access& access) {
  {
    const ReportInProgress guard;
    const Allocation* memory = device_memory().nearest(access.address);
    Finding found = finding(Kind::out_of_bounds_global, access, "");
    if (memory == nullptr) {
      found.message = verb(access) + "device memory, of which nothing is allocated.";
    } else if (memory->distance(access.address) > DeviceMemory::kGap) {
      found.message = far_text(*memory, access);
    } else {
      const std::string element = element_name(*memory, access.address, access.size, found.index);
      found.buffer = memory->label.name;
      if (memory->freed) {
        found.kind = Kind::use_after_free;
        found.message = verb(access) + element + " after its memory was freed.";
      } else {
        found.message = verb(access) + element + ": " +
                        distance_from(*memory, access.address, access.size) + '.';
      }
    }
    findings().add(std::move(found));
  }
  stop_launch(kErrorIllegalAddress);
}

void stop_for_stray_shared_address(const Access& access) {
  {
    const ReportInProgress guard;
    const SharedElement element = shared_element(access.address, access.size);
    Finding found = finding(Kind::out_of_bounds_shared, access,
                            verb(access) + element.text + ": " + element.distance + '.');
    found.buffer = element.variable;
    found.index = element.index;
    findings().add(std::move(found));
  }
  stop_launch(kErrorIllegalAddress);
}

void stop_for_foreign_address(const Access& access) {
  {
    const ReportInProgress guard;
    if (access.address < kNearNull || access.address >= ~kNearNull) {
      findings().add(finding(Kind::null_pointer, access,
                             verb(access) + "through a null pointer (address " +
                                 std::to_string(static_cast<std::intptr_t>(access.address)) +
                                 ")."));
    } else if (on_another_stack(access.address)) {
      findings().add(finding(Kind::out_of_bounds_local, access,
                             verb(access) + "the local memory of another thread: an index into a "
                                            "local array is out of bounds, or its address was "
                                            "handed on."));
    } else {
      findings().add(finding(Kind::host_pointer, access,
                             verb(access) + "an address that is not the device's: host memory, or "
                                            "a pointer that was never set. Kernels can use only "
                                            "what cudaMalloc() and its kin give."));
    }
  }
  stop_launch(kErrorIllegalAddress);
}

void stop_for_fault(std::uintptr_t address, CodeAddress site) {
  const Access access = {address, 1, 1, AccessType::read, site};
  if (DeviceMemory::in_range(address)) stop_for_stray_device_address(access);
  stop_for_foreign_address(access);
}

void report_uninitialised_global(const Access& access) {
  if (!findings().is_first(Kind::uninitialised_global, access.site)) return;
  const ReportInProgress guard;
  const Allocation* memory = device_memory().candidate(access.address);
  Finding found = finding(Kind::uninitialised_global, access, "");
  found.buffer = memory->label.name;
  found.message = "Reads " + element_name(*memory, access.address, access.size, found.index) +
                  ", which nobody has written.";
  findings().add(std::move(found));
}

void report_device_memory_on_host(const Access& access) {
  if (!findings().is_first(Kind::device_pointer, access.site)) return;
  const Allocation* memory = device_memory().nearest(access.address);
  Finding found{Kind::device_pointer, "", "", false, {}, "", -1};
  if (memory != nullptr) {
    found.buffer = memory->label.name;
    found.message = "Host code " + action_text(access) + " at " +
                    element_name(*memory, access.address, access.size, found.index) +
                    ", which is device memory: only kernels and cudaMemcpy() can reach it.";
  }
  const SourceLine& line = source_line(access.site);
  found.parties.push_back({action_text(access), line.file, line.line, {}, {}, 0, 0});
  findings().add(std::move(found));
}

}  // namespace simulator
