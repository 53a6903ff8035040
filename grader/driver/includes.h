// Which headers a student's file may include: the contract, CUDA's own (or the simulator's in their
// place) and the standard library. Judged by the compiler's own list of what it read.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "driver/compile_errors.h"

namespace onepass::driver {

/// The files that a make rule (as g++ -MMD or -MD writes it) depends on.
std::vector<std::filesystem::path> parse_dependencies(const std::string& rule);

/// Does a file lie in a folder? By their names alone.
bool lies_in(const std::filesystem::path& file, const std::filesystem::path& folder);

/// The first file that lies in none of the allowed files and folders, symbolic links followed.
std::optional<std::filesystem::path> first_forbidden(
    const std::vector<std::filesystem::path>& files,
    const std::vector<std::filesystem::path>& allowed);

/// The error that tells a student so, at the line of `source` whose #include ends like `header`.
CompileError forbidden_include(const std::filesystem::path& header, const std::string& source,
                               const std::string& shown_file);

/// The same of "x.h: Permission denied", for a compiler that was kept from reading x.h.
std::optional<CompileError> refused_include(const CompileError& error, const std::string& source,
                                            const std::string& shown_file);

/// For the simulator: an error at an #include of a header of CUDA's that it does not have. Where a
/// toolkit's headers lie in the compiler's own folders it is found there, and cannot be read.
CompileError with_refused_header(CompileError error, const std::string& source);

}  // namespace onepass::driver
