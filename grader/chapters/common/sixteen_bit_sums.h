// Sums as a kernel makes them that adds up in the tensor's own 16-bit type instead of fp32. The
// result depends on who adds what to what, so the usual ways are tried.
#pragma once

#include <cstdint>

#include "verdict/values/dtype.h"
#include "verdict/values/field.h"

namespace onepass::common {

struct SixteenBitSum {
  std::int64_t threads;   // thread t adds up packs t, t + threads, t + 2 threads, ...
  bool tree;              // are the threads' shares added in 16 bits too, or in fp32?
  std::int64_t pack = 1;  // columns
};

/// The sum of each row in `dtype`.  terms: [rows, cols]. Returns [rows, 1].
verdict::Field sum_in(verdict::Dtype dtype, const verdict::Field& terms, SixteenBitSum how);

}  // namespace onepass::common
