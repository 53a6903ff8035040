// The functions that g++ -fsanitize=thread calls: one before each load and store of a kernel; and
// those that -fsanitize=bounds-strict calls for an index that is out of bounds.
//
// Only the calls of these options are used, never their libraries (the Linux kernel's race detector
// works in the same way). The return address is the place in the student's code.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "access/access.h"
#include "scheduling/running.h"
#include "scheduling/stopping.h"

namespace {

using simulator::AccessType;
using simulator::CodeAddress;

/// memcpy-like accesses, and structures copied whole: taken in aligned pieces of up to 16 bytes.
/// alignment: that the compiler counts on; 0 if it does not tell.
void check_range(std::uintptr_t address, std::size_t size, unsigned alignment, AccessType type,
                 CodeAddress site) {
  const unsigned known = alignment == 0 ? 16 : alignment;
  if (alignment != 0 && address % alignment != 0) {
    simulator::check_access({address, static_cast<unsigned>(size), alignment, type, site});
  }
  while (size > 0) {
    unsigned piece = 16;
    while (piece > size || address % piece != 0) piece /= 2;
    simulator::check_access({address, piece, std::min(piece, known), type, site});
    address += piece;
    size -= piece;
  }
}

/// The first of neighbours of which nvcc makes one access, as far aligned as they have bytes.
void check_joined(std::uintptr_t address, unsigned size, unsigned joined, AccessType type,
                  CodeAddress site) {
  simulator::check_access({address, size, address % joined == 0 ? size : joined, type, site});
}

/// nvcc copies with memcpy() and its kin by single bytes, whatever the pointers' types are.
void check_bytes(const void* memory, std::size_t size, AccessType type, CodeAddress site) {
  check_range(reinterpret_cast<std::uintptr_t>(memory), size, 1, type, site);
}

struct SourcePlace {
  const char* file;
  std::uint32_t line, column;
};

/// What -fsanitize=bounds-strict hands over; the types are those of the array and of the index.
struct IndexOutOfBounds {
  SourcePlace place;
  const struct ArrayType {
    std::uint16_t kind, info;
    char name[1];  // for instance 'float [4]', quoted
  } * array;
  const void* index_type;
};

void tell_index(const char* array_type, std::int64_t index, CodeAddress site) {
  if (simulator::Launch* launch = simulator::launch_of_kernel()) {
    simulator::tell_or_stop(*launch,
                            simulator::IndexEvent{launch->thread->number, array_type, index, site});
  }
}

}  // namespace

#define ONEPASS_SITE reinterpret_cast<CodeAddress>(__builtin_return_address(0))
#define ONEPASS_ADDRESS reinterpret_cast<std::uintptr_t>(address)

#define ONEPASS_ACCESS(check, name, suffix, bytes, alignment, type)                        \
  void __tsan_##name##suffix(void* address) {                                              \
    simulator::check({ONEPASS_ADDRESS, bytes, alignment, AccessType::type, ONEPASS_SITE}); \
  }
#define ONEPASS_RANGE(name, alignment, type)                                       \
  void __tsan_##name(void* address, std::size_t size) {                            \
    check_range(ONEPASS_ADDRESS, size, alignment, AccessType::type, ONEPASS_SITE); \
  }
#define ONEPASS_RANGES(suffix, alignment)            \
  ONEPASS_RANGE(read_range##suffix, alignment, read) \
  ONEPASS_RANGE(write_range##suffix, alignment, write)
#define ONEPASS_JOINED_ONE(name, joined, bytes, type)                             \
  void __tsan_##name##_aligned_##joined(void* address) {                          \
    check_joined(ONEPASS_ADDRESS, bytes, joined, AccessType::type, ONEPASS_SITE); \
  }
#define ONEPASS_JOINED(bytes, joined)                  \
  ONEPASS_JOINED_ONE(read##bytes, joined, bytes, read) \
  ONEPASS_JOINED_ONE(write##bytes, joined, bytes, write)
#define ONEPASS_SIZE(bytes)                                                      \
  ONEPASS_ACCESS(check_access, read, bytes, bytes, bytes, read)                  \
  ONEPASS_ACCESS(check_access, write, bytes, bytes, bytes, write)                \
  ONEPASS_ACCESS(check_access, unaligned_read, bytes, bytes, 1, read)            \
  ONEPASS_ACCESS(check_access, unaligned_write, bytes, bytes, 1, write)          \
  ONEPASS_ACCESS(check_volatile, volatile_read, bytes, bytes, bytes, read)       \
  ONEPASS_ACCESS(check_volatile, volatile_write, bytes, bytes, bytes, write)     \
  ONEPASS_ACCESS(check_volatile, unaligned_volatile_read, bytes, bytes, 1, read) \
  ONEPASS_ACCESS(check_volatile, unaligned_volatile_write, bytes, bytes, 1, write)

extern "C" {

ONEPASS_SIZE(1)
ONEPASS_SIZE(2)
ONEPASS_SIZE(4)
ONEPASS_SIZE(8)
ONEPASS_SIZE(16)

// Of structures. Which alignment has come into the names tells rewriter/access_alignments.h.
ONEPASS_RANGES(, 0)
ONEPASS_RANGES(_aligned_1, 1)
ONEPASS_RANGES(_aligned_2, 2)
ONEPASS_RANGES(_aligned_4, 4)
ONEPASS_RANGES(_aligned_8, 8)
ONEPASS_RANGES(_aligned_16, 16)
ONEPASS_RANGES(_aligned_32, 32)
ONEPASS_RANGES(_aligned_64, 64)
ONEPASS_RANGES(_aligned_128, 128)
ONEPASS_RANGES(_aligned_256, 256)
ONEPASS_ACCESS(check_access, read16_aligned_, 8, 16, 8, read)
ONEPASS_ACCESS(check_access, write16_aligned_, 8, 16, 8, write)
ONEPASS_ACCESS(check_access, read16_aligned_, 16, 16, 16, read)
ONEPASS_ACCESS(check_access, write16_aligned_, 16, 16, 16, write)

ONEPASS_JOINED(4, 8)
ONEPASS_JOINED(4, 16)
ONEPASS_JOINED(8, 16)

void* __tsan_memcpy(void* to, const void* from, std::size_t size) {
  check_bytes(from, size, AccessType::read, ONEPASS_SITE);
  check_bytes(to, size, AccessType::write, ONEPASS_SITE);
  return std::memcpy(to, from, size);
}
void* __tsan_memmove(void* to, const void* from, std::size_t size) {
  check_bytes(from, size, AccessType::read, ONEPASS_SITE);
  check_bytes(to, size, AccessType::write, ONEPASS_SITE);
  return std::memmove(to, from, size);
}
void* __tsan_memset(void* to, int value, std::size_t size) {
  check_bytes(to, size, AccessType::write, ONEPASS_SITE);
  return std::memset(to, value, size);
}

void __ubsan_handle_out_of_bounds(void* data, std::uintptr_t index) {
  tell_index(static_cast<const IndexOutOfBounds*>(data)->array->name,
             static_cast<std::int64_t>(index), ONEPASS_SITE);
}
void __ubsan_handle_out_of_bounds_abort(void* data, std::uintptr_t index) {
  __ubsan_handle_out_of_bounds(data, index);
}

// Objects with virtual functions: host code.
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}

}  // extern "C"

/// "... [with Array = onepass::Pack<float, 4> [8]; Index = int]", as g++ says it.
void simulator::index_out_of_bounds(const char* function, std::int64_t index) {
  const std::string text = function;
  const std::size_t begin = text.find("Array = ") + 8;
  std::string type = text.substr(begin, text.find("; Index", begin) - begin);
  const std::size_t scope = type.rfind("::", type.find('<'));
  if (scope != std::string::npos) type.erase(0, scope + 2);
  tell_index(('\'' + type + '\'').c_str(), index, ONEPASS_SITE);
}
