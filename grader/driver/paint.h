// The small pieces of what a terminal shows.
#pragma once

#include <iterator>
#include <string>

#include "driver/terminal.h"

namespace onepass::driver {

using Out = std::back_insert_iterator<std::string>;

/// Codes of colours and of weights.
inline constexpr const char* kGreen = "32";
inline constexpr const char* kRed = "31";
inline constexpr const char* kYellow = "33";
inline constexpr const char* kDim = "2";
inline constexpr const char* kBold = "1";

std::string painted(const std::string& text, const char* code, Style style);

/// The colour of a check's status, or an exercise's.
const char* color_of(const std::string& status);

/// Every line of `lines` behind four blanks.
void write_indented(Out out, const std::string& lines);

/// "3 points", "1 check".
std::string counted(int count, const std::string& what);

}  // namespace onepass::driver
