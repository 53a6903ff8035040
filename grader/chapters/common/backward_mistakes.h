// The mistakes of a backward pass that LayerNorm's and RMSNorm's have in common.
#pragma once

#include <functional>
#include <vector>

#include "chapters/common/backward.h"
#include "chapters/common/mistakes.h"

namespace onepass::common {

/// Of outputs "dx", "dweight" and "dbias": these, and a chapter's own. centred: does it subtract a
/// mean, and speak of one? given(call): what its pass is given.
std::vector<verdict::Oracle> backward_mistakes(
    bool centred, const Table<BackwardHooks>& own,
    const std::function<Backward(const verdict::Case& call)>& given);

/// Where a second rounding shows.
bool in_sixteen_bits(const verdict::Case& call);

}  // namespace onepass::common
