// Small questions about text that several parts of the driver ask.
#pragma once

#include <string>
#include <vector>

#include "driver/report.h"

namespace onepass::driver {

/// The value as text; an absent or null one is empty.
std::string text(const Json& object, const char* key);

/// As a shell reads it as one word: in quotes if it needs them.
std::string shell_word(const std::string& word);

/// "a, b or c".
std::string alternatives(const std::vector<std::string>& words);

/// Its lines, each without its end.
std::vector<std::string> lines_of(const std::string& text);
std::string first_line(const std::string& text);

/// Its lines, each so short that std::regex bears it.
std::string cut_lines(const std::string& text);

}  // namespace onepass::driver
