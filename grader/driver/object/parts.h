// A text that is compiled several times, each time into another part of its functions, and is to be
// one program all the same. What the text names is there once, whichever part uses it: a static
// variable, a __device__ one, a function whose address is taken.
//
// C++ sees to that for templates and inline functions. For what else has a name, the assembly is
// changed: each part offers what is only its own to the linker, which takes one for all.
#pragma once

#include <string>

#include "driver/object/elf_object.h"

namespace onepass::driver {

/// The assembly of a part. In the first what others may see stays a name that only one may have.
std::string with_names_for_all(const std::string& assembly, bool is_first);

/// Are the parts one program? Not if a part has a variable, or a function, by a name that another
/// part may give to something else; nor if something is done before main(), by each part.
bool can_be_part(const ObjectFile& object);

}  // namespace onepass::driver
