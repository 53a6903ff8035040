// From what compilers and linkers print to the one thing that a student needs to know first.
#pragma once

#include <optional>
#include <string>

namespace onepass::driver {

struct CompileError {
  std::string message;   // one line, without "error:"
  std::string location;  // "exercises/01_rmsnorm/forward.cu:52", or empty if no line is named

  /// The place, or `file` if no line is named, and the message.
  std::string told(const std::string& file) const;
};

struct FirstError : CompileError {
  bool is_theirs;  // surely; else it may be a fault of the machine that only came up here
};

/// The first error in `output`, at the student's own line if there is one: an error in `file`, the
/// path by which the compiler names it; one in a header with the line of `file` that led there; one
/// in `binding`, which includes it; an undefined symbol; what ptxas, nvlink or the assembler find.
/// Nothing if the compiler does not say, as when it was killed. Understands g++, nvcc, ptxas,
/// nvlink and ld, if the lines are not too long for std::regex.
/// For the simulator, a name of CUDA's that it does not have gets its sentence (cuda_names.h).
std::optional<FirstError> first_error(const std::string& output, const std::string& file,
                                      const std::string& binding, bool for_simulator);

/// Is a function of the contract missing? "forward.cu does not define rmsnorm_forward<__half>", or
/// an empty string. `file` as above.
std::string missing_function(const std::string& linker_output, const std::string& file);

}  // namespace onepass::driver
