// What the pages name is there: the pages and headings that they link to, files of the project,
// what `make -C build` is told to make, the commands and options of build/onepass, and the checks
// that it is quoted to report.
#pragma once

#include "page.h"

namespace onepass::docs {

/// Links to other pages, figures and headings. Addresses on the web are left alone.
/// `exists`: is there such a file or folder, by its path from the project's root?
Complaints check_links(const Page& page, const ReadFile& read,
                       const std::function<bool(const std::string& path)>& exists);

/// Files and folders of exercises/, solutions/, grader/ and docs/, wherever a page names them.
Complaints check_paths(const Page& page,
                       const std::function<bool(const std::string& path)>& exists);

/// `make -C build X`: is X one of `targets`?
Complaints check_targets(const Page& page, const std::vector<std::string>& targets);

/// `build/onepass command --option`. help: what the command's --help says, that of the program
/// itself for no command; nothing where there is no such command.
using Help = std::function<std::optional<std::string>(const std::string& command)>;
Complaints check_commands(const Page& page, const Help& help);

/// The checks in quoted outputs of the grader, "failed: <name> (TODO 1, 2 points)": is there such a
/// check in `sources`, the text of all files with checks?
Complaints check_check_names(const Page& page, const std::string& sources);

}  // namespace onepass::docs
