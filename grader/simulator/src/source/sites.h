// Places in the student's code by small numbers, so that records of accesses stay small.
#pragma once

#include <cstdint>

#include "source/source_lines.h"

namespace simulator {

constexpr std::uint32_t kMostSites = 1u << 13;

/// The number of a place; 0, the unknown place, when there are more than kMostSites.
std::uint32_t site_number(CodeAddress site);

CodeAddress site_address(std::uint32_t number);

}  // namespace simulator
