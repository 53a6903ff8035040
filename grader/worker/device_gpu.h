// What the two halves of the GPU device share.
#pragma once

#include <cuda_runtime.h>

#include <memory>

#include "worker/device.h"

namespace onepass::worker {

/// Throws unless `error` is cudaSuccess. `what`: what the worker was doing, for
/// instance "fill a buffer".
void check(cudaError_t error, const char* what);

/// Device memory. Throws OutOfMemory. `what` it is for: "the buffer x".
std::byte* allocate_on_gpu(size_t bytes, const std::string& what);

/// The functions that the GPU worker adds to the binding's: "copy".
FunctionTable gpu_functions();

/// Times calls on `stream`.
std::unique_ptr<Stopwatch> make_gpu_stopwatch(cudaStream_t stream);

}  // namespace onepass::worker
