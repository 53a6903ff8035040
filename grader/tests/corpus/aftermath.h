// What a program leaves behind when it has ended: processes, files, changed modes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace onepass::corpus {

/// Runs a command as a shell would, which kills nothing that is left, and writes all that it says
/// to `output`. Its exit code, or 128 and the number of the signal that ended it; 124 or 137 if it
/// took more than `seconds`. Its orphans become children of this process.
int run_as_a_shell(const std::vector<std::string>& command, const std::filesystem::path& output,
                   int seconds);

/// How many processes are still there a moment after what started them has ended; they are killed.
/// For a process that has no other children.
int count_leftovers();

/// Of each file and folder: mode, bytes, time of the last change (of folders none of the two).
using Files =
    std::map<std::string, std::tuple<unsigned, std::uintmax_t, std::filesystem::file_time_type>>;

/// All that lies there.
Files files_below(const std::filesystem::path& folder);

/// Of a workbook, all but what is built.
Files files_of_workbook(const std::filesystem::path& repository);

/// What was added, removed or changed, a line each.
std::string difference(const Files& before, const Files& after);

}  // namespace onepass::corpus
