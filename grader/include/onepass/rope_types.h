// Chapter 3: what exercise 3.4 takes besides tensors. Without CUDA's headers, so that the grader
// can include it too.
#pragma once

namespace onepass {

/// Which two of the elements 0 to d - 1 of a head make pair i.
enum class Pairing {
  interleaved,  // 2i and 2i + 1, as in exercise 3.1
  split         // i and i + d / 2, as in exercise 3.3
};

}  // namespace onepass
