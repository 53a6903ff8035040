// What a call was made from, to make another one of it.
#pragma once

#include <optional>

#include "verdict/contract/call.h"

namespace onepass::verdict::contract {

struct Taken {
  Arguments arguments;
  Arrangement arrangement;
};

/// Nothing of a call that was put together by hand, or spread. The values of its inputs are named,
/// and left to be given.
std::optional<Taken> taken_apart(const Case& call);
/// With them. Nothing of a hash filled one.
std::optional<Taken> taken_with_values(const Case& call);

/// A call of the same function and type.
Case made_of(const Case& call, Taken taken);

bool is_hash_filled(const Case& call);
/// Those that the function is told, and those that its inputs tell.
Sizes every_size(const Case& call);

}  // namespace onepass::verdict::contract
