// What a compiled file, not linked yet, is made of: sections, symbols, and the functions that it
// wants to be run before or after main(). Read from the file's bytes; 64-bit ELF, as Linux has it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace onepass::driver {

/// The number of a section, and an offset there.
using ObjectPlace = std::pair<std::size_t, std::uint64_t>;

struct ObjectSymbol {
  enum class Kind { undefined, strong, weak, local };

  std::string name;  // mangled
  Kind kind;
  bool is_variable;
  bool is_resolver;      // its address is chosen when the program is loaded
  bool is_data_in_code;  // a variable where only instructions belong
  bool is_thread_local;
  ObjectPlace place;  // its section is 0 if it is undefined
  std::uint64_t size;
};

struct ObjectFile {
  std::vector<std::string> sections;
  std::vector<ObjectSymbol> symbols;
  // Functions before or after main(), mangled; the section (".init_array") for what is none.
  std::vector<std::string> run_unasked;
};

/// A section as a linker would leave it if all sections were to lie at address 0.
struct DebugSection {
  std::string bytes;
  std::map<std::size_t, ObjectPlace> places;  // by offset: the addresses that a linker fills in
};

/// Throws GraderFault if the bytes are no such file.
ObjectFile read_object(const std::string& bytes);

/// The same; the section is empty if the file has none of this name.
DebugSection read_debug_section(const std::string& bytes, const std::string& name);

}  // namespace onepass::driver
