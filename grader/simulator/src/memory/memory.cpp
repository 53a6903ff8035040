#include "memory/memory.h"

#include "memory/shared_names.h"

namespace simulator {

ElementName element_at(const Memory& memory, MemorySpace space, std::uintptr_t address,
                       unsigned size) {
  if (space == MemorySpace::shared) {
    const SharedElement element = shared_element(memory.shared, address, size);
    return {element.text, element.variable, element.index};
  }
  const Allocation* allocation = memory.device.candidate(address);
  ElementName name;
  name.buffer = allocation->label.name;
  name.text = element_name(*allocation, address, size, name.index);
  return name;
}

}  // namespace simulator
