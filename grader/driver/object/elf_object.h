// What a compiled file, not linked yet, is made of: sections, symbols, and the functions that it
// wants to be run before or after main(). Read from the file's bytes; 64-bit ELF, as Linux has it.
#pragma once

#include <string>
#include <vector>

namespace onepass::driver {

struct ObjectSymbol {
  enum class Kind { undefined, strong, weak, local };

  std::string name;  // mangled
  Kind kind;
  bool is_variable;
  bool is_resolver;      // its address is chosen when the program is loaded
  bool is_data_in_code;  // a variable where only instructions belong
};

struct ObjectFile {
  std::vector<std::string> sections;
  std::vector<ObjectSymbol> symbols;
  // Functions before or after main(), mangled; the section (".init_array") for what is none.
  std::vector<std::string> run_unasked;
};

/// Throws GraderFault if the bytes are no such file.
ObjectFile read_object(const std::string& bytes);

}  // namespace onepass::driver
