// From what compilers and linkers print to the one thing that a student needs to know first.
#pragma once

#include <string>

namespace onepass::driver {

struct CompileError {
  std::string message;   // one line, without "error:"
  std::string location;  // "exercises/01_rmsnorm/forward.cu:52", or empty if no line is named

  /// The place, or `file` if no line is named, and the message.
  std::string told(const std::string& file) const;
};

/// The first error in `output`, at the student's own line. If the error itself lies in a header,
/// the line of the student's file that led there is given. `file` is the path by which the compiler
/// names the student's file.
/// Understands g++, nvcc, ptxas, nvlink and ld; of anything else it takes the first line.
CompileError first_error(const std::string& output, const std::string& file);

/// Is a function of the contract missing? "forward.cu does not define rmsnorm_forward<__half>", or
/// an empty string. `file` as above.
std::string missing_function(const std::string& linker_output, const std::string& file);

}  // namespace onepass::driver
