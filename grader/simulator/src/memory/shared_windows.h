// The shared memory of the blocks of a cluster, as they see one another's.
//
// All blocks use the same bytes of this program for their shared memory, one after another
// (shared_memory.h). In a cluster a block also reads and writes that of others, which stand still
// meanwhile. So each block of a cluster has a window, by its seat: there its contents lie while
// another block runs, and cluster.map_shared_rank() gives an address in it. What is written there
// is in the block's own memory when it goes on.
//
//     window of seat 5:   [ static variables, up to 1 MiB ][ dynamic shared memory, up to 1 MiB ]
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>

namespace simulator {

class SharedWindows {
 public:
  static constexpr std::size_t kPart = std::size_t{1} << 20;
  static constexpr unsigned kMost = 8192;  // more than the device holds blocks

  /// Before the first is used. Pages that nobody touches cost nothing.
  void open() {
    if (size_ > 0) return;
    void* memory = mmap(nullptr, 2 * kPart * kMost, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    begin_ = reinterpret_cast<std::uintptr_t>(memory);
    size_ = 2 * kPart * kMost;
  }

  bool contain(std::uintptr_t address) const { return address - begin_ < size_; }
  unsigned seat_of(std::uintptr_t address) const {
    return static_cast<unsigned>((address - begin_) / (2 * kPart));
  }
  bool is_dynamic(std::uintptr_t address) const { return (address - begin_) / kPart % 2 != 0; }
  /// In the variables, or in the dynamic memory.
  std::size_t offset_of(std::uintptr_t address) const { return (address - begin_) % kPart; }

  std::uintptr_t statics(unsigned seat) const { return begin_ + 2 * kPart * seat; }
  std::uintptr_t dynamic(unsigned seat) const { return statics(seat) + kPart; }

 private:
  std::uintptr_t begin_ = 0;
  std::size_t size_ = 0;
};

}  // namespace simulator
