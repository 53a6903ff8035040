// The inputs that chapter 2's checks share.
#pragma once

#include "chapters/layernorm/calls.h"

namespace onepass::layernorm {

/// Random dy, x (of this mean) and weight, with x's own statistics.
inline Gradients random_gradients(Dtype dtype, std::int64_t rows, std::int64_t cols,
                                  double mean = 0.5) {
  return common::random_gradients(kNorm, dtype, rows, cols, mean);
}

}  // namespace onepass::layernorm
