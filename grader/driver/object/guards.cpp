#include "driver/object/guards.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace onepass::driver {
namespace {

constexpr std::string_view kSection = "\t.section\t.tbss", kZeros = "\t.zero\t";
constexpr unsigned long kBanks = 128;  // bytes, those of a line of shared memory
constexpr unsigned long kMostRoom = 4096;

unsigned long room_behind(unsigned long size) {
  return std::min((size + kBanks - 1) / kBanks * kBanks, kMostRoom);
}

bool begins_section(std::string_view line) {
  for (const std::string_view other : {"\t.section\t", "\t.text", "\t.data", "\t.bss"}) {
    if (line.substr(0, other.size()) == other) {
      return true;
    }
  }
  return false;
}

}  // namespace

// In such a section each variable is a label, and a line with the number of its bytes.
std::string with_room_behind_shared(const std::string& assembly) {
  std::string result;
  std::size_t copied = 0;
  for (std::size_t at = assembly.find(kSection); at != std::string::npos;
       at = assembly.find(kSection, at)) {
    at = std::min(assembly.find('\n', at), assembly.size() - 1) + 1;
    while (at < assembly.size()) {
      const std::size_t end = std::min(assembly.find('\n', at), assembly.size() - 1) + 1;
      const std::string_view line = std::string_view(assembly).substr(at, end - at);
      if (begins_section(line)) {
        break;
      }
      if (line.substr(0, kZeros.size()) == kZeros) {
        const unsigned long size = std::strtoul(assembly.c_str() + at + kZeros.size(), nullptr, 10);
        result.append(assembly, copied, end - copied);
        result.append(kZeros).append(std::to_string(room_behind(size))).append("\n");
        copied = end;
      }
      at = end;
    }
  }
  return result.append(assembly, copied, std::string::npos);
}

}  // namespace onepass::driver
