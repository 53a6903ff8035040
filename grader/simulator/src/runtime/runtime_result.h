// The answer of a CUDA runtime function: its own error, unless a failed kernel's error rules.
#pragma once

#include <string>

#include "scheduling/machine.h"

// After the standard headers: CUDA's macros (__noinline__) clash with names inside them.
#include "cuda_runtime.h"

namespace simulator {

inline cudaError_t result(int error) {
  return static_cast<cudaError_t>(machine().errors.note(error));
}

/// The runtime function that is called puts work on a stream, or waits for the device.
inline void note_work(const void* stream, const char* call, const void* site) {
  Machine& device = machine();
  device.kernel_before.reset();
  device.host_calls.note_work(stream, call, reinterpret_cast<CodeAddress>(site), device.findings);
}
inline void note_taken(const void* memory, std::size_t bytes, const char* call, const void* site) {
  machine().host_calls.note_taken(memory, bytes, call, reinterpret_cast<CodeAddress>(site));
}
inline void note_wait(const std::string& call, const void* site) {
  Machine& device = machine();
  device.kernel_before.reset();
  device.host_calls.note_wait(call, reinterpret_cast<CodeAddress>(site), device.findings);
  device.streams.finish();
  device.host_calls.finish();
}

}  // namespace simulator
