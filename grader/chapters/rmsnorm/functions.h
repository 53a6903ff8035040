// Chapter 1's functions as data: what onepass/rmsnorm.h says of each.
#pragma once

#include "verdict/contract/function.h"

namespace onepass::rmsnorm {

const verdict::contract::Function& block_sum_function();
const verdict::contract::Function& forward_function();
const verdict::contract::Function& forward_fast_function();
const verdict::contract::Function& backward_function();
const verdict::contract::Function& residual_function();

}  // namespace onepass::rmsnorm
