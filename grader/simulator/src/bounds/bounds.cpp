#include "bounds/bounds.h"

#include <algorithm>
#include <utility>

#include "findings/texts.h"
#include "memory/names.h"
#include "source/source_lines.h"

namespace simulator {
namespace {

constexpr std::uintptr_t kNearNull = std::uintptr_t{1} << 20;

std::string verb(const Access& access) {
  return words_for(access.type).begin;
}

/// An address so far from every buffer that none of them can be said to be meant.
std::string far_text(const Allocation& nearest, const Access& access) {
  const std::size_t mebibytes = nearest.distance(access.address) >> 20;
  return verb(access) + bytes_text(access.size) + " at an address that belongs to no buffer" +
         (nearest.freed ? ""
                        : ": the nearest one, " + nearest.label.name + ", is " +
                              std::to_string(mebibytes) + " MiB away") +
         ". The index is probably wrong: not set, negative, or too large for its type.";
}

/// Where a null pointer may come from.
std::string refused_text(std::size_t bytes) {
  if (bytes == 0) return "";
  return " An allocation of " + std::to_string(bytes) +
         " bytes has failed before (cudaErrorMemoryAllocation): the device has no room for it.";
}

}  // namespace

Finding BoundsChecker::finding(Kind kind, const AccessEvent& event, std::string message) const {
  const Access& access = event.access;
  const Party who =
      party(launch_, blocks_.running(), event.thread, access.site, action_text(access));
  return {kind, launch_.kernel, std::move(message), false, {who}};
}

ErrorCode BoundsChecker::report_misaligned(AccessEvent event) {
  const Findings::Writing writing(findings_);
  const Access& access = event.access;
  const std::string alignment = std::to_string(access.alignment);
  Finding found = finding(Kind::misaligned, event,
                          verb(access) + bytes_text(access.size) + " at an address that is " +
                              std::to_string(access.address % access.alignment) +
                              " past a multiple of " + alignment + ": " +
                              (access.size == access.alignment && access.size <= 16
                                   ? (access.size == 8 ? "an " : "a ") +
                                         std::to_string(access.size) + "-byte access needs"
                                   : "their type, or what is said of the pointer, promises") +
                              " an address that " + alignment + " divides.");
  if (DeviceMemory::in_range(access.address)) {
    if (const Allocation* memory = memory_.device.candidate(access.address)) {
      const ElementName element = device_element(*memory, access.address, access.size);
      found.buffer = element.buffer;
      found.index = element.index;
      if (!element.buffer.empty()) found.message += " It is that of " + element.text + '.';
    }
  } else if (memory_.shared.in_dynamic(access.address)) {
    found.buffer = "dynamic shared memory";
    found.message += " It lies " + bytes_text(access.address - memory_.shared.dynamic_begin()) +
                     " behind the beginning of dynamic shared memory.";
  }
  findings_.add(std::move(found));
  return kErrorMisalignedAddress;
}

Finding BoundsChecker::outside_device(const AccessEvent& event) const {
  const Access& access = event.access;
  const Allocation* memory = memory_.device.nearest(access.address);
  Finding found = finding(Kind::out_of_bounds_global, event, "");
  if (memory == nullptr) {
    found.message = verb(access) + "device memory, of which nothing is allocated.";
  } else if (memory->distance(access.address) > (memory->freed ? 0 : DeviceMemory::kGap)) {
    found.message = far_text(*memory, access);
  } else {
    const ElementName element = device_element(*memory, access.address, access.size);
    found.buffer = element.buffer;
    found.index = element.index;
    found.message = verb(access) + element.text;
    if (memory->freed) {
      found.kind = Kind::use_after_free;
      found.message +=
          " after its memory was freed: the pointer was kept, or an index leads there from another "
          "buffer.";
    } else {
      found.message += ": " + element.distance + '.';
    }
  }
  return found;
}

Finding BoundsChecker::outside_shared(const AccessEvent& event) const {
  const Access& access = event.access;
  const ElementName element = shared_element(memory_.shared, access.address, access.size);
  Finding found = finding(Kind::out_of_bounds_shared, event,
                          verb(access) + element.text + ": " + element.distance + '.');
  found.buffer = element.buffer;
  found.index = element.index;
  return found;
}

Finding BoundsChecker::elsewhere(const AccessEvent& event) const {
  const Access& access = event.access;
  if (access.address < kNearNull || access.address >= ~kNearNull) {
    return finding(Kind::null_pointer, event,
                   verb(access) + "through a null pointer (address " +
                       std::to_string(static_cast<std::intptr_t>(access.address)) + ")." +
                       refused_text(memory_.device.refused_bytes()));
  }
  if (event.place.area == Area::other_stack) {
    return finding(Kind::out_of_bounds_local, event,
                   verb(access) +
                       "the local memory of another thread: an index into a local "
                       "array is out of bounds, or its address was handed on.");
  }
  return finding(Kind::host_pointer, event,
                 verb(access) +
                     "an address that is not the device's: host memory, a pointer that was "
                     "never set, or an index that leads far away. Kernels can use only what "
                     "cudaMalloc() and its kin give.");
}

ErrorCode BoundsChecker::report_outside(AccessEvent event) {
  const Findings::Writing writing(findings_);
  findings_.add(event.place.area == Area::outside_device   ? outside_device(event)
                : event.place.area == Area::outside_shared ? outside_shared(event)
                                                           : elsewhere(event));
  return kErrorIllegalAddress;
}

void report_device_memory_on_host(const Access& access, const DeviceMemory& device,
                                  Findings& findings) {
  if (!findings.is_first(Kind::device_pointer, access.site)) return;
  const Allocation* memory = device.nearest(access.address);
  const std::string action =
      access.size > 0 ? action_text(access.type, access.size) : "reaches device memory";
  Finding found{Kind::device_pointer, "", ""};
  if (memory != nullptr) {
    const ElementName element = device_element(*memory, access.address, std::max(access.size, 1u));
    found.buffer = element.buffer;
    found.index = element.index;
    found.message = "Host code " + (access.size > 0 ? action + " at " : "reaches ") + element.text +
                    ", which is device memory: only kernels and cudaMemcpy() can reach it.";
  }
  found.parties.push_back(host_party(access.site, action));
  findings.add(std::move(found));
}

}  // namespace simulator
