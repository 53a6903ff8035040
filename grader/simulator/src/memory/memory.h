// The memory of the device: where does an access land?
#pragma once

#include "events/events.h"
#include "memory/device_memory.h"
#include "memory/device_variables.h"
#include "memory/shared_memory.h"

namespace simulator {

struct Memory {
  DeviceMemory device;
  DeviceVariables variables;
  SharedMemory shared;

  /// Of an address outside of the device's range: Area::elsewhere if it is not in shared memory.
  /// Notes which variables the kernel uses.
  Place place_in_shared(std::uintptr_t address, unsigned size) {
    if (shared.in_static(address)) {
      return {shared.is_guard(address)             ? Area::own
              : shared.use_variable(address, size) ? Area::inside
                                                   : Area::outside_shared,
              MemorySpace::shared, kStaticShared, address - shared.static_begin()};
    }
    if (shared.in_dynamic(address)) {
      const std::size_t offset = address - shared.dynamic_begin();
      return {offset + size > shared.dynamic_size() ? Area::outside_shared : Area::inside,
              MemorySpace::shared, kDynamicShared, offset};
    }
    if (!shared.windows().contain(address)) return {Area::elsewhere};
    const bool is_dynamic = shared.windows().is_dynamic(address);
    const std::size_t offset = shared.windows().offset_of(address);
    const bool is_inside = is_dynamic ? offset + size <= shared.dynamic_size()
                                      : shared.use_variable(shared.home(address), size);
    return {is_inside ? Area::inside : Area::outside_shared, MemorySpace::shared,
            kFirstRemote + 2 * shared.windows().seat_of(address) + is_dynamic, offset};
  }
};

/// Something that a checker keeps beside each allocation, by its number.
template <typename Shadow>  // made from a number of bytes, or of nothing
class BesideAllocations {
 public:
  void allocated(const Allocation& memory) {
    if (shadows_.size() <= memory.number) shadows_.resize(memory.number + 1);
    shadows_[memory.number] = Shadow(memory.size);
  }
  void released(const Allocation& memory) { shadows_[memory.number] = Shadow(); }

  Shadow& operator[](std::uint32_t number) { return shadows_[number]; }

 private:
  std::vector<Shadow> shadows_;
};

}  // namespace simulator
