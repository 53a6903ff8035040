// Chapter 3's functions as data: what onepass/rope.h says of each.
#pragma once

#include "verdict/contract/function.h"

namespace onepass::rope {

const verdict::contract::Function& interleaved_function();
const verdict::contract::Function& backward_function();

/// What the binding has of rope_half_split's types: tables in fp32 or in the tensor's own type,
/// positions of 32 or 64 bits.
enum class Types { fp32_int32, fp32_int64, own_int64 };
const verdict::contract::Function& half_split_function(Types types);

}  // namespace onepass::rope
