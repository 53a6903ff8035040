// What a student's code may be made of, seen in what the compiler made of it, before it is linked:
// whatever macros it was written with, it asks for no function that an exercise has no use for,
// replaces none of ours, runs nothing before main(), and is C++ throughout.
#pragma once

#include <optional>
#include <string>

#include "driver/compile_errors.h"
#include "driver/object/elf_object.h"

namespace onepass::driver {

/// Why this object is not linked; nothing if it may be. The line of `source`, shown as
/// `shown_file`, is the first with the name that is refused, if one has it.
std::optional<CompileError> refused_object(const ObjectFile& object, const std::string& source,
                                           const std::string& shown_file);

/// The same of assembly that stands in what a compiler handed to the assembler. That by which nvcc
/// adds the kernels' code, which is numbers, is none.
std::optional<CompileError> refused_assembly(const std::string& assembly, const std::string& source,
                                             const std::string& shown_file);

}  // namespace onepass::driver
