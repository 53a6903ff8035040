// The answer of a CUDA runtime function: its own error, unless a failed kernel's error rules.
#pragma once

#include "scheduling/machine.h"

// After the standard headers: CUDA's macros (__noinline__) clash with names inside them.
#include "cuda_runtime.h"

namespace simulator {

inline cudaError_t result(int error) {
  return static_cast<cudaError_t>(machine().errors.note(error));
}

}  // namespace simulator
