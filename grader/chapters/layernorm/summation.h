// For the bindings of 2.3 and 2.4: the order of summation that a launcher returns travels to the
// deciding process in a buffer, as the results do.
#pragma once

#include <onepass/layernorm.h>

#include "worker/arguments.h"

namespace onepass {

/// Sets the int32 "fixed_order" to 0 for any order, to something else for a fixed one.
inline void tell(Summation summation, const worker::Arguments& arguments) {
  const int byte = summation == Summation::fixed_order ? 1 : 0;
  cudaMemsetAsync(arguments.buffer<int>("fixed_order"), byte, sizeof(int), arguments.stream());
}

}  // namespace onepass
