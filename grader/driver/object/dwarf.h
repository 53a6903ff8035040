// The tree of entries that is the debug information (DWARF 4 or 5) of a compiled file, as far as it
// speaks of functions and variables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "driver/object/elf_object.h"

namespace onepass::driver::dwarf {

// Numbers of the DWARF standard.
enum Tag : unsigned {
  kClass = 0x02,
  kLexicalBlock = 0x0b,
  kStructure = 0x13,
  kUnion = 0x17,
  kInlinedSubroutine = 0x1d,
  kSubprogram = 0x2e,
  kVariable = 0x34,
  kNamespace = 0x39,
};
/// Debug information that is cut short, or of a kind that is not known here.
struct Unreadable : std::runtime_error {
  Unreadable() : std::runtime_error("unreadable debug information") {}
};

/// One entry of the tree, with what is wanted of it.
struct Entry {
  unsigned tag = 0;
  std::size_t offset = 0;
  std::size_t parent = 0;  // an index; that of the unit itself for the unit
  std::size_t end = 0;     // the index after the last one below it
  std::string name, linkage_name;
  std::uint64_t file = 0, line = 0, call_file = 0, call_line = 0, alignment = 0;
  std::uint64_t origin =
      0;  // the offset of the entry that this one completes, or is an instance of
  bool is_generated = false;
  bool is_external = false;
  bool is_compiled = false;
  bool has_place = false;
  ObjectPlace place;
};

/// In the order of the file: what lies below an entry follows it. Throws Unreadable.
std::vector<Entry> read_entries(const std::string& object);

}  // namespace onepass::driver::dwarf
