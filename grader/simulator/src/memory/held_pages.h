// Which pages of device memory hold something. There may be more of it than this computer has
// memory for: pages that nobody has touched are zeros, and a copy leaves them so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace simulator {

class HeldPages {
 public:
  /// Of these bytes; of a few, or of the host's, all pages count as held.
  HeldPages(const void* memory, std::size_t bytes);

  /// Does the page of this address, one of those bytes, hold something?
  bool hold(std::uintptr_t address) const;

 private:
  std::uintptr_t first_ = 0;  // page
  std::vector<unsigned char> in_memory_;
  bool some_swapped_out_ = false;
};

/// Copies bytes, or writes zeros if `from` is nullptr, where the one or the other changes anything.
void write_held(char* to, const HeldPages& to_pages, const char* from, const HeldPages& from_pages,
                std::size_t bytes);

}  // namespace simulator
