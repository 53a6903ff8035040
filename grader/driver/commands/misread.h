// What is wrong on the command line, in one sentence that says what to do. CLI11 has sentences of
// its own; they know neither the nearest word nor what a value is for.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

namespace onepass::driver {

/// The names of all commands.
std::vector<std::string> commands_of(const CLI::App& app);

/// The options of a command as they are typed: "--seed".
std::vector<std::string> options_of(const CLI::App& command);

/// Throws BadInput for what could not be read, unless that is a question for help.
void refuse(const CLI::App& app, const CLI::ParseError& error,
            const std::filesystem::path& workbook);

/// That a flag takes no value, of all commands.
void refuse_values_of_flags(CLI::App& app);

/// Values of an option, for Option::check().
CLI::Validator whole_number(std::int64_t least, std::int64_t most);
CLI::Validator number_above_0();
CLI::Validator one_of(const std::vector<std::string>& words);

}  // namespace onepass::driver
