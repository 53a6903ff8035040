// Source lines by the program addr2line (see source_lines.h), for compilers without libbacktrace.
#include <cstdio>
#include <cstdlib>

#include "source/elf_symbols.h"
#include "source/source_lines.h"

namespace simulator {
namespace {

/// "dir/file.cu:41 (discriminator 3)" → file and line.
SourceLine parse_place(std::string text) {
  text = text.substr(0, text.find_first_of(" \n"));
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || text.rfind("??", 0) == 0) {
    return {};
  }
  return {text.substr(0, colon), std::atoi(text.c_str() + colon + 1)};
}

}  // namespace

std::vector<SourceLine> read_frames(std::uintptr_t address) {
  char command[4352];
  std::snprintf(command, sizeof command, "addr2line -i -e '%s' 0x%lx 2>/dev/null",
                program_path().c_str(), static_cast<unsigned long>(address - program_base()));
  std::vector<SourceLine> frames;
  if (std::FILE* answer = popen(command, "r")) {
    char text[4096];
    while (std::fgets(text, sizeof text, answer) != nullptr) {
      frames.push_back(parse_place(text));
    }
    pclose(answer);
  }
  return frames;
}

}  // namespace simulator
