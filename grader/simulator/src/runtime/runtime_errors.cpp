// CUDA runtime functions: errors, with NVIDIA's names and sentences.
#include "runtime/runtime_result.h"

namespace {

struct ErrorText {
  cudaError_t code;
  const char* name;
  const char* sentence;
};

#define ONEPASS_ERROR(code, sentence) \
  { code, #code, sentence }
constexpr ErrorText kTexts[] = {
    ONEPASS_ERROR(cudaSuccess, "no error"),
    ONEPASS_ERROR(cudaErrorInvalidValue, "invalid argument"),
    ONEPASS_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    ONEPASS_ERROR(cudaErrorInitializationError, "initialization error"),
    ONEPASS_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    ONEPASS_ERROR(cudaErrorInvalidSymbol, "invalid device symbol"),
    ONEPASS_ERROR(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    ONEPASS_ERROR(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    ONEPASS_ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    ONEPASS_ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    ONEPASS_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    ONEPASS_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    ONEPASS_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    ONEPASS_ERROR(cudaErrorNotReady, "device not ready"),
    ONEPASS_ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    ONEPASS_ERROR(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    ONEPASS_ERROR(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    ONEPASS_ERROR(cudaErrorAssert, "device-side assert triggered"),
    ONEPASS_ERROR(cudaErrorHardwareStackError, "hardware stack error"),
    ONEPASS_ERROR(cudaErrorIllegalInstruction, "an illegal instruction was encountered"),
    ONEPASS_ERROR(cudaErrorMisalignedAddress, "misaligned address"),
    ONEPASS_ERROR(cudaErrorInvalidAddressSpace,
                  "operation not supported on global/shared address space"),
    ONEPASS_ERROR(cudaErrorInvalidPc, "invalid program counter"),
    ONEPASS_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    ONEPASS_ERROR(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    ONEPASS_ERROR(cudaErrorNotPermitted, "operation not permitted"),
    ONEPASS_ERROR(cudaErrorNotSupported, "operation not supported"),
    ONEPASS_ERROR(cudaErrorInvalidClusterSize, "cluster size is invalid"),
    ONEPASS_ERROR(cudaErrorUnknown, "unknown error"),
};
#undef ONEPASS_ERROR

const ErrorText* find_text(cudaError_t error) {
  for (const ErrorText& text : kTexts) {
    if (text.code == error) return &text;
  }
  return nullptr;
}

}  // namespace

extern "C" {

cudaError_t cudaGetLastError() {
  return static_cast<cudaError_t>(simulator::machine().errors.take());
}
cudaError_t cudaPeekAtLastError() {
  return static_cast<cudaError_t>(simulator::machine().errors.peek());
}

const char* cudaGetErrorName(cudaError_t error) {
  const ErrorText* text = find_text(error);
  return text != nullptr ? text->name : "unrecognized error code";
}
const char* cudaGetErrorString(cudaError_t error) {
  const ErrorText* text = find_text(error);
  return text != nullptr ? text->sentence : "unrecognized error code";
}

}  // extern "C"
