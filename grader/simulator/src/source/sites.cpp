#include "source/sites.h"

#include <vector>

#include "memory/lazy_array.h"

extern char __executable_start, _end;  // the linker's names for the program's first and last byte

namespace simulator {
namespace {

std::uintptr_t program_begin() {
  return reinterpret_cast<std::uintptr_t>(&__executable_start);
}

/// By distance from the program's first byte. Only the pages of kernels are ever touched.
LazyArray<std::uint16_t> numbers(reinterpret_cast<std::uintptr_t>(&_end) - program_begin());

struct Site {
  CodeAddress address;
};
std::vector<Site> sites = {{0}};

}  // namespace

std::uint32_t site_number(CodeAddress site) {
  const std::size_t offset = site - program_begin();
  if (offset >= numbers.size()) return 0;
  std::uint16_t& number = numbers[offset];
  if (number == 0 && sites.size() < kMostSites) {
    number = static_cast<std::uint16_t>(sites.size());
    sites.push_back({site});
  }
  return number;
}

CodeAddress site_address(std::uint32_t number) {
  return sites[number].address;
}

}  // namespace simulator
