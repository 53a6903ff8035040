// The answer of a CUDA runtime function: its own error, unless a failed kernel's error rules.
#pragma once

#include "cuda_runtime.h"
#include "runtime/errors.h"

namespace simulator {

inline cudaError_t result(int error) {
  return static_cast<cudaError_t>(errors().note(error));
}

}  // namespace simulator
