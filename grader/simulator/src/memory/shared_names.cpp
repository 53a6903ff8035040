#include "memory/shared_names.h"

namespace simulator {
namespace {

SharedElement describe(const std::string& name, std::int64_t offset, std::int64_t size,
                       unsigned access_bytes) {
  const std::int64_t unit = access_bytes;
  SharedElement element;
  element.variable = name;
  element.index = offset >= 0 ? offset / unit : -((-offset + unit - 1) / unit);
  element.text = name + (size > unit ? '[' + std::to_string(element.index) + ']' : "");
  const std::int64_t excess = offset < 0 ? -offset : offset + unit - size;
  const std::int64_t elements = (excess + unit - 1) / unit;
  element.distance = std::to_string(elements) + (elements == 1 ? " element " : " elements ") +
                     (offset < 0 ? "before the start of " : "past the end of ") + name + " (" +
                     std::to_string(size) + " bytes)";
  return element;
}

}  // namespace

SharedElement shared_element(const SharedMemory& memory, std::uintptr_t address,
                             unsigned access_bytes) {
  if (memory.in_dynamic(address)) {
    return describe("dynamic shared memory",
                    static_cast<std::int64_t>(address - memory.dynamic_begin()),
                    static_cast<std::int64_t>(memory.dynamic_size()), access_bytes);
  }
  const SharedVariable* variable = memory.variable_before(address);
  if (variable == nullptr) return describe("shared memory", 0, 0, access_bytes);
  const auto offset = static_cast<std::int64_t>(address - memory.static_begin()) -
                      static_cast<std::int64_t>(variable->begin);
  return describe(variable->name, offset, static_cast<std::int64_t>(variable->size), access_bytes);
}

}  // namespace simulator
