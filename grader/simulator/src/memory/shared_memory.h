// A block's shared memory.
//
// Static: the headers make `__shared__` mean thread_local, so every such variable has a place of
// its own in the program's thread-local block, with name and size in the symbol table. All blocks
// use the same bytes, one after another. Dynamic: a buffer of our own, as large as a launch may
// ask.
//
// When a block must wait for another one, the other
// runs in between: the first block's contents are parked, and brought back later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "memory/shared_windows.h"
#include "source/kernel_names.h"

namespace simulator {

/// What uninitialised shared memory holds in each byte.
constexpr unsigned char kNoUsefulNumber = 0xC5;

/// The contents of a block's shared memory while another block runs.
struct ParkedShared {
  std::vector<std::uint16_t> variables;  // the numbers of those in `statics`
  std::vector<unsigned char> statics, dynamic;
};

/// A named piece of shared memory.
struct SharedVariable {
  std::string name;
  std::uintptr_t begin = 0;
  std::size_t size = 0;
  bool used = false;  // by a kernel; the program has thread-local variables for other purposes too
  bool used_in_launch = false;  // in this one
  std::string scope = {};       // what declares it: "ns::k<float>(float*)"; "" if no function does
  std::string function = {};    // its own name: "k"
};

class SharedMemory {
 public:
  SharedMemory();

  /// Called at each launch: finds this thread's block, and takes over the dynamic size.
  void prepare(std::size_t dynamic_bytes);

  /// Fills it with what is no useful number.
  void begin_block();
  void park(ParkedShared& parked) const;
  void restore(const ParkedShared& parked);
  /// The same for a block of a cluster, which keeps its contents where others can reach them.
  void put_in_window(unsigned seat) const;
  void take_from_window(unsigned seat);
  SharedWindows& windows() { return windows_; }
  const SharedWindows& windows() const { return windows_; }

  /// Of an address in a window, where the variable is while its block runs; any other unchanged.
  std::uintptr_t home(std::uintptr_t address) const {
    if (!windows_.contain(address)) return address;
    return windows_.offset_of(address) +
           (windows_.is_dynamic(address) ? dynamic_begin_ : static_begin_);
  }

  /// The other way: of the running block's variable, where it is in the window of this seat.
  std::uintptr_t in_window(std::uintptr_t address, unsigned seat) const {
    return in_static(address) ? windows_.statics(seat) + (address - static_begin_)
                              : windows_.dynamic(seat) + (address - dynamic_begin_);
  }

  bool in_static(std::uintptr_t address) const { return address - static_begin_ < static_size_; }
  bool in_dynamic(std::uintptr_t address) const {
    return address - dynamic_begin_ < kDynamicReserved;
  }
  /// Addresses as PTX counts them: they fit 32 bits and keep the alignment. 0 is none of them.
  std::size_t window_of_static() const { return 1024 + static_begin_ % 1024; }
  std::size_t window_of_dynamic() const {
    return (window_of_static() + static_size_ + 1023) / 1024 * 1024;
  }
  std::size_t window_end() const { return window_of_dynamic() + kDynamicReserved; }
  /// Those of the cluster's block `rank` are so much higher, times 1 + rank.
  static constexpr std::size_t kWindowOfBlock = std::size_t{1} << 24;
  /// Where it is in the running block's own memory; 0 if it is no such address.
  std::uintptr_t at_window(std::size_t address) const {
    if (address < window_of_static() || address >= window_end()) return 0;
    const std::size_t dynamic = window_of_dynamic();
    return address < dynamic ? static_begin_ + address - window_of_static()
                             : dynamic_begin_ + address - dynamic;
  }

  std::uintptr_t static_begin() const { return static_begin_; }
  std::uintptr_t dynamic_begin() const { return dynamic_begin_; }
  std::size_t static_size() const { return static_size_; }
  std::size_t dynamic_size() const { return dynamic_size_; }
  /// Of the static variables that the launch has used.
  std::size_t static_bytes_used() const;
  /// Of those that this kernel declares. The most in one of its instances, if it is open which.
  std::size_t static_bytes_of(const KernelNames& kernel) const;
  const std::vector<SharedVariable>& variables() const { return variables_; }

  /// The static variable that holds this byte, or the one before it; nullptr if there is none.
  const SharedVariable* variable_before(std::uintptr_t address) const;

  /// The static variable that holds this byte; nullptr if none does.
  const SharedVariable* variable_at(std::uintptr_t address) const {
    if (!in_static(address)) return nullptr;
    const std::uint16_t number = variable_at_[address - static_begin_];
    return number == 0 || number == kGuard ? nullptr : &variables_[number - 1u];
  }

  /// A static variable of the running kernel that can be an array of that many bytes, or, if
  /// `bytes` is 0 because the element's type is not known, of that many elements. Of the kernel is
  /// what it has used in this launch, and what `function` declares. nullptr if there is none.
  const SharedVariable* variable_of_size(std::size_t bytes, std::size_t elements,
                                         const std::string& function) const;

  /// g++ guards some thread_local variables with a byte of its own, which says that they have been
  /// constructed. True for these bytes.
  bool is_guard(std::uintptr_t address) const {
    return variable_at_[address - static_begin_] == kGuard;
  }

  /// Notes a kernel's access. True if all bytes are in one static variable.
  bool use_variable(std::uintptr_t address, unsigned size) {
    const std::size_t offset = address - static_begin_;
    if (offset + size > static_size_ || variable_at_[offset] == 0 ||
        variable_at_[offset] != variable_at_[offset + size - 1]) {
      return false;
    }
    SharedVariable& variable = variables_[variable_at_[offset] - 1u];
    variable.used = variable.used_in_launch = true;
    return true;
  }

 private:
  static constexpr std::uint16_t kGuard = 0xFFFF;
  static constexpr std::size_t kDynamicReserved = std::size_t{1} << 20;  // limit, then a gap

  SharedWindows windows_;
  std::uintptr_t static_begin_ = 0;
  std::size_t static_size_ = 0;
  std::uintptr_t dynamic_begin_ = 0;
  std::size_t dynamic_size_ = 0;
  std::vector<SharedVariable> variables_;
  std::vector<std::uint16_t> variable_at_;  // by byte: 1 + number of the variable, 0 for none,
                                            // or kGuard
};

}  // namespace simulator
