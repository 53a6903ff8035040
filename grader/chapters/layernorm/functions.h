// Chapter 2's functions as data: what onepass/layernorm.h says of each.
#pragma once

#include "verdict/contract/function.h"

namespace onepass::layernorm {

const verdict::contract::Function& forward_function();
const verdict::contract::Function& backward_dx_function();
const verdict::contract::Function& backward_dweight_dbias_function();
const verdict::contract::Function& backward_function();

}  // namespace onepass::layernorm
