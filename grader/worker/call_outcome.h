// Makes a call and tells errors of launching from errors of running, with CUDA's own functions; the
// simulator has the same ones.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "worker/device.h"

namespace onepass::worker {

/// "cudaErrorIllegalAddress: an illegal memory access was encountered"
inline std::string error_text(cudaError_t error) {
  return std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error);
}

/// What became of a call. at_launch: cudaGetLastError() right after the launcher returned, which a
/// refused launch sets and which is gone once asked for. at_end: what waiting for the device
/// returned; an error there comes from a kernel that ran, even if the launcher saw it first.
inline Ending classify(const std::string& launcher_error, cudaError_t at_launch,
                       cudaError_t at_end) {
  if (at_end != cudaSuccess) {
    return {Outcome::device_error, error_text(at_end)};
  }
  if (at_launch != cudaSuccess) {
    return {Outcome::launch_error, error_text(at_launch)};
  }
  if (!launcher_error.empty()) {
    return {Outcome::launch_error, launcher_error};
  }
  return {};
}

/// Waits until the device is idle. launcher_error: what enter() returned.
inline Ending wait_for_end(const std::string& launcher_error) {
  const cudaError_t at_launch = cudaGetLastError();
  const cudaError_t at_end = cudaDeviceSynchronize();
  return classify(launcher_error, at_launch, at_end);
}

}  // namespace onepass::worker
