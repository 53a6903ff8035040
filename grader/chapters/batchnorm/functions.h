// Chapter 4's functions as data: what onepass/batchnorm.h says of each.
#pragma once

#include "verdict/contract/function.h"

namespace onepass::batchnorm {

const verdict::contract::Function& forward_function();
const verdict::contract::Function& evaluate_function();

}  // namespace onepass::batchnorm
