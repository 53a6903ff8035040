// How the table writes the name of an instruction, "ld .global .nc? @vector? @type": read here.
#pragma once

#include <string>
#include <vector>

namespace onepass::rewriter {

std::vector<std::string> split(const std::string& text, char at);

/// "ld.global.v4.f32" as "ld", ".global", ".v4", ".f32".
std::vector<std::string> parts_of(const std::string& name);

/// Is this part of an instruction's name one of ".v2|.v4|@type"?
bool is_one_of(const std::string& part, const std::string& choices);

/// Does the name of these parts have the pattern?
bool fits(const std::string& pattern, const std::vector<std::string>& name);

}  // namespace onepass::rewriter
