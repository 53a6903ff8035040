// What a failure that nothing explains is a matter of, found by further calls of the same function:
// true by experiment, whatever the reason is.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "verdict/case.h"
#include "verdict/session/boundary.h"

namespace onepass::verdict {

/// Right where each row begins at a multiple of 16 bytes, and not one element further on.
std::optional<std::string> matter_of_lost_alignment(const Case& call, const IsRight& is_right);

/// Of two sizes that differ: with either as large as the other the same call is right. What depends
/// on one of them alone is wrong in one of these two calls. So it is with both as large as a third
/// number, and wrong where they are large and differ.
std::optional<std::string> matter_of_two_sizes(const Case& call, const IsRight& is_right);

/// Right with a size that is a power of two, be it half or twice as much, and wrong with three
/// quarters and three halves of it. So it is no matter of multiples, or of more or less.
std::optional<std::string> matter_of_powers_of_two(const Case& call, const IsRight& is_right);

/// Of a call of 16 bits: right in fp32, and where nothing needs rounding.
std::optional<std::string> matter_of_rounding(const Case& call, const IsRight& is_right);

/// Of the inputs that are null: right if one of them is given, or all.
std::optional<std::string> matter_of_null(const Case& call, const IsRight& is_right);

/// Of the inputs that have no result's shape, such as a weight or tables: right where all numbers
/// of one of them are alike, or those of each.
std::optional<std::string> matter_of_place(const Case& call, const IsRight& is_right);

/// Of one input: right where it is 0 everywhere, or 1. tells: are there other numbers than 0 among
/// the results of that call?
using Tells = std::function<bool(const Case&)>;
std::optional<std::string> matter_of_input(const Case& call, const IsRight& is_right,
                                           const Tells& tells);

/// Of one scalar, such as eps: right where it is 0, and wrong where it is larger.
std::optional<std::string> matter_of_scalar(const Case& call, const IsRight& is_right);

/// Of one tensor that is not aligned, where others are: right where it is.
std::optional<std::string> matter_of_one_address(const Case& call, const IsRight& is_right);

/// Right with inputs that begin one element further on.
std::optional<std::string> matter_of_alignment(const Case& call, const IsRight& is_right);

/// Of one size: right where it fills all warps and blocks, and not with one more; or right from
/// some larger size on. Else of all sizes together.
std::optional<std::string> matter_of_small_sizes(const Case& call, const IsRight& is_right);

}  // namespace onepass::verdict
