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

  /// For an address outside of the device's range: leaves the event alone if that is not in shared
  /// memory. Notes which variables the kernel uses.
  void locate_in_shared(AccessEvent& event) {
    const std::uintptr_t address = event.access.address;
    const unsigned size = event.access.size;
    Place& place = event.place;
    if (shared.in_static(address)) {
      place.space = MemorySpace::shared;
      place.piece = kStaticShared;
      place.offset = address - shared.static_begin();
      place.area = shared.is_guard(address)             ? Area::own
                   : shared.use_variable(address, size) ? Area::inside
                                                        : Area::outside_shared;
    } else if (shared.in_dynamic(address)) {
      place.space = MemorySpace::shared;
      place.piece = kDynamicShared;
      place.offset = address - shared.dynamic_begin();
      place.area =
          place.offset + size > shared.dynamic_size() ? Area::outside_shared : Area::inside;
    } else if (shared.windows().contain(address)) {
      const bool is_dynamic = shared.windows().is_dynamic(address);
      place.space = MemorySpace::shared;
      place.piece = kFirstRemote + 2 * shared.windows().seat_of(address) + is_dynamic;
      place.offset = shared.windows().offset_of(address);
      const bool is_inside = is_dynamic ? place.offset + size <= shared.dynamic_size()
                                        : shared.use_variable(shared.home(address), size);
      place.area = is_inside ? Area::inside : Area::outside_shared;
    }
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
