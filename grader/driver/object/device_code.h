// What only nvcc would refuse: it compiles kernels for another machine, where host functions and
// host variables are not. The simulator's headers mark what is __device__ or __global__ by an
// alignment, which debug information tells of every function, one that is inlined too.
#pragma once

#include <optional>
#include <string>

#include "driver/compile_errors.h"
#include "driver/object/elf_object.h"
#include "driver/object/written_calls.h"

namespace onepass::driver {

/// Why nvcc does not compile the kernels of this object for a GPU, in its words; nothing if it may.
/// `bytes` and `assembly` are the object's own and what it was assembled from, `written` its calls
/// before the compiler inlined any; `source`, shown as `shown_file`, is the student's file.
std::optional<CompileError> refused_device_code(const ObjectFile& object, const std::string& bytes,
                                                const std::string& assembly,
                                                const WrittenFunctions& written,
                                                const std::string& source,
                                                const std::string& shown_file);

}  // namespace onepass::driver
