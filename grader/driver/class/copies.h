// Copies of the workbook for others: a student's, and what Gradescope grades with.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "driver/config.h"

namespace onepass::driver::course {

/// The files of the workbook, from its root on: those that git knows, or without git all but build
/// folders. Throws GraderFault.
std::vector<std::string> workbook_files(const Config& config);

/// Copies those that are `wanted`, with their permissions. Throws GraderFault.
void copy_workbook(const Config& config, const std::filesystem::path& to,
                   const std::function<bool(const std::string& file)>& wanted);

/// `onepass handout`: a student's copy in a folder that is empty or not there yet. It has the
/// exercises as skeletons, whatever yours are, and of the solutions no more than where they would
/// stand. Returns what to tell. Throws BadInput and GraderFault.
std::string hand_out(const Config& config, const std::filesystem::path& folder);

/// A page of docs/ without the code that it quotes from a solution and the skeleton has not.
std::string without_solutions(const Config& config, const std::string& page);

/// `onepass gradescope`: the zip that Gradescope makes an autograder of. `policy`: empty for none.
/// Returns what to tell. Throws BadInput and GraderFault.
std::string pack_autograder(const Config& config, const std::filesystem::path& zip,
                            const std::filesystem::path& policy);

}  // namespace onepass::driver::course
