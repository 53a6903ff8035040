#include "source/source_lines.h"

#include <unordered_map>

namespace simulator {
namespace {

/// True for code that the student did not write.
bool is_header_of_others(const std::string& file) {
  return file.empty() || file.find("simulator/include/") != std::string::npos ||
         file.rfind("/usr/", 0) == 0;
}

SourceLine first_own_frame(std::uintptr_t address) {
  const std::vector<SourceLine> frames = read_frames(address);
  for (const SourceLine& frame : frames) {
    if (!is_header_of_others(frame.file)) {
      return frame;
    }
  }
  return frames.empty() ? SourceLine{} : frames.front();
}

}  // namespace

const SourceLine& source_line(CodeAddress address) {
  static std::unordered_map<CodeAddress, SourceLine> known;
  const auto [entry, is_new] = known.try_emplace(address);
  if (is_new) {
    entry->second = first_own_frame(address - 1);  // the call itself ends before its return address
  }
  return entry->second;
}

}  // namespace simulator
