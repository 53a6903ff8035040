// The errors by which the CUDA runtime tells of a failed launch or a wrong call.
#pragma once

namespace simulator {

/// The numbers are CUDA's (cudaError_t); the simulator's core needs only these.
enum ErrorCode : int {
  kSuccess = 0,
  kErrorInvalidValue = 1,
  kErrorMemoryAllocation = 2,
  kErrorInvalidConfiguration = 9,
  kErrorIllegalAddress = 700,
  kErrorLaunchOutOfResources = 701,
  kErrorLaunchTimeout = 702,
  kErrorAssert = 710,
  kErrorHardwareStack = 714,
  kErrorIllegalInstruction = 715,
  kErrorMisalignedAddress = 716,
  kErrorLaunchFailure = 719,
  kErrorCooperativeLaunchTooLarge = 720,
  kErrorNotSupported = 801,
  kErrorInvalidClusterSize = 912,
};

}  // namespace simulator
