// A submission that is an archive (.zip, .tar, .tar.gz and the like). It is never unpacked: its
// members are listed, and those that are exercises are read through a pipe. So no name in it (an
// absolute one, one with ..), no link and no size can do anything to a disk.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace onepass::driver::course {

/// Is that the name of one?
bool is_archive(const std::filesystem::path& file);

/// "ada" of "ada.tar.gz".
std::string without_suffix(const std::string& file);

/// The names of its files. Throws BadInput if it is damaged, larger than any submission, or takes
/// too long: the end of a sentence about it. Throws GraderFault where the program is missing that
/// reads such a one.
std::vector<std::string> names_in_archive(const std::filesystem::path& archive);

/// One of its files; a link is empty. Throws as above.
std::string read_from_archive(const std::filesystem::path& archive, const std::string& name);

}  // namespace onepass::driver::course
