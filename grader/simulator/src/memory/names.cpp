#include "memory/names.h"

#include <algorithm>

namespace simulator {
namespace {

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}

std::string in_brackets(std::int64_t index) {
  return '[' + std::to_string(index) + ']';
}

/// "2 elements past the end of x", for an access at `offset` in a buffer of `size` bytes.
std::string distance_from(const std::string& name, std::int64_t offset, std::int64_t access_bytes,
                          std::int64_t size, std::int64_t unit) {
  const std::int64_t excess = offset < 0 ? -offset : offset + access_bytes - size;
  const std::int64_t elements = (excess + unit - 1) / unit;
  return std::to_string(elements) + (elements == 1 ? " element " : " elements ") +
         (offset < 0 ? "before the start of " : "past the end of ") + name;
}

/// Shared memory is spoken of in units of the access.
ElementName describe_shared(const std::string& name, std::int64_t offset, std::int64_t size,
                            std::int64_t unit) {
  ElementName element{name, name, floor_divide(offset, unit), ""};
  if (size > unit) element.text += in_brackets(element.index);
  element.distance =
      distance_from(name, offset, unit, size, unit) + " (" + std::to_string(size) + " bytes)";
  return element;
}

}  // namespace

ElementName device_element(const Allocation& memory, std::uintptr_t address, std::size_t size) {
  const Part& part = memory.part_at(address);
  const Label& label = part.label;
  // Memory from a plain cudaMalloc has no element type: the unit is the access.
  const auto unit = static_cast<std::int64_t>(
      std::max<std::size_t>(label.element_bytes > 0 ? label.element_bytes : size, 1));
  const auto offset = static_cast<std::int64_t>(address - part.begin);
  ElementName element{label.name, label.name, floor_divide(offset, unit), ""};
  element.text +=
      label.cols > 0 && label.stride > 0 && element.index >= 0
          ? in_brackets(element.index / label.stride) + in_brackets(element.index % label.stride)
          : in_brackets(element.index);
  element.distance = distance_from(label.name, offset, static_cast<std::int64_t>(size),
                                   static_cast<std::int64_t>(part.size), unit);
  return element;
}

ElementName shared_element(const SharedMemory& memory, std::uintptr_t address, std::size_t size) {
  address = memory.home(address);
  const auto unit = static_cast<std::int64_t>(size);
  if (memory.in_dynamic(address)) {
    return describe_shared("dynamic shared memory",
                           static_cast<std::int64_t>(address - memory.dynamic_begin()),
                           static_cast<std::int64_t>(memory.dynamic_size()), unit);
  }
  const SharedVariable* variable = memory.variable_before(address);
  if (variable == nullptr) return describe_shared("shared memory", 0, 0, unit);
  return describe_shared(variable->name,
                         static_cast<std::int64_t>(address - memory.static_begin()) -
                             static_cast<std::int64_t>(variable->begin),
                         static_cast<std::int64_t>(variable->size), unit);
}

ElementName element_at(const Memory& memory, MemorySpace space, std::uintptr_t address,
                       std::size_t size) {
  return space == MemorySpace::shared
             ? shared_element(memory.shared, address, size)
             : device_element(*memory.device.candidate(address), address, size);
}

}  // namespace simulator
