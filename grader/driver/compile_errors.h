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

/// The first error in `output` that is the student's, at the student's own line: an error in
/// `file`, the path by which the compiler names it; one in a header with the line of `file` that
/// led there; one in `binding`, which includes it; an undefined symbol of theirs; what ptxas,
/// nvlink or the assembler find in their code. Nothing if none is: that a compiler was killed, say,
/// or found no room on the disk, is none of theirs. Understands g++, nvcc, ptxas, nvlink and ld, if
/// the lines are not too long for std::regex.
std::optional<CompileError> first_error(const std::string& output, const std::string& file,
                                        const std::string& binding);

/// The first error in `output` in a file that is not theirs. If that file is in order, an open
/// bracket of theirs may have led there, of which a compiler says nothing.
std::optional<CompileError> error_elsewhere(const std::string& output);

/// Is a function of the contract missing? "forward.cu does not define rmsnorm_forward<__half>", or
/// an empty string. `file` as above.
std::string missing_function(const std::string& linker_output, const std::string& file);

}  // namespace onepass::driver
