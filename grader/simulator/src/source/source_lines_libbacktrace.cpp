// Source lines by libbacktrace (see source_lines.h).
#include <backtrace.h>

#include "source/elf_symbols.h"
#include "source/source_lines.h"

namespace simulator {
namespace {

void ignore_error(void*, const char*, int) {}

int collect_frame(void* frames, std::uintptr_t, const char* file, int line, const char*) {
  if (file != nullptr) {
    static_cast<std::vector<SourceLine>*>(frames)->push_back({file, line});
  }
  return 0;
}

}  // namespace

std::vector<SourceLine> read_frames(std::uintptr_t address) {
  static backtrace_state* state =
      backtrace_create_state(program_path().c_str(), 0, ignore_error, nullptr);
  std::vector<SourceLine> frames;
  if (state != nullptr) {
    backtrace_pcinfo(state, address, collect_frame, ignore_error, &frames);
  }
  return frames;
}

}  // namespace simulator
