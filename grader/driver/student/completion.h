// `onepass completion`: what a shell needs to complete the words of a command.
#pragma once

#include <string>
#include <vector>

namespace onepass::driver {

struct CommandWords {
  std::string command;             // "grade"; empty: what may come first
  std::vector<std::string> words;  // that may come behind it
};

/// A script for bash, zsh or fish, to be read by it when it starts. Throws BadInput for another
/// shell.
std::string completion(const std::string& shell, const std::vector<CommandWords>& commands);

}  // namespace onepass::driver
