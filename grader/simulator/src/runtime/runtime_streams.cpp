// CUDA runtime functions: streams and events. All work is done when the call that asks for it
// returns, so there is nothing to wait for. An event holds the host's clock; it says how long the
// simulation took and nothing about a GPU.
#include <chrono>

#include "runtime/runtime_result.h"

using simulator::note_wait;
using simulator::result;

struct CUstream_st {};

struct CUevent_st {
  bool recorded = false;
  std::chrono::steady_clock::time_point time;
};

extern "C" {

cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) {
  simulator::machine().kernel_before.reset();
  return result(cudaSuccess);  // there is nothing to wait for
}

#define ONEPASS_WAIT(how, name, parameters)                 \
  cudaError_t name parameters {                             \
    note_wait(how #name "()", __builtin_return_address(0)); \
    return result(cudaSuccess);                             \
  }
ONEPASS_WAIT("", cudaDeviceSynchronize, ())
ONEPASS_WAIT("", cudaStreamSynchronize, (cudaStream_t))
ONEPASS_WAIT("", cudaEventSynchronize, (cudaEvent_t))
ONEPASS_WAIT("Asking again and again by ", cudaStreamQuery, (cudaStream_t))
ONEPASS_WAIT("Asking again and again by ", cudaEventQuery, (cudaEvent_t))
#undef ONEPASS_WAIT

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = new CUstream_st;
  return result(cudaSuccess);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return cudaStreamCreate(stream);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread) {
    return result(cudaErrorInvalidResourceHandle);
  }
  delete stream;
  return result(cudaSuccess);
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new CUevent_st;
  return result(cudaSuccess);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return cudaEventCreate(event);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return result(cudaSuccess);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  if (event == nullptr) return result(cudaErrorInvalidResourceHandle);
  event->recorded = true;
  simulator::machine().kernel_before.reset();  // that is work of the stream
  event->time = std::chrono::steady_clock::now();
  return result(cudaSuccess);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (start == nullptr || end == nullptr || !start->recorded || !end->recorded) {
    return result(cudaErrorInvalidResourceHandle);
  }
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
  return result(cudaSuccess);
}

}  // extern "C"
