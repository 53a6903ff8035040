// In front of the first launch of a call is what the caller has put on the stream: if the launch
// may begin early, that may not have ended.
#include "simulator/simulator.h"
#include "tests/simulator/case_kernels.h"

namespace {

/// A call, as a launcher makes one, on a stream of its own, with a launch that may begin early.
struct Call {
  cudaStream_t stream;
  cudaLaunchAttribute early;
  cudaLaunchConfig_t config;
  Call() {
    cudaStreamCreate(&stream);
    simulator::expect_stream(stream);
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    config = {2, 64, 0, stream, &early, 1};
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    simulator::expect_stream(nullptr);
    cudaStreamDestroy(stream);
  }
};

enum class Waits { never, first, triggers_before, triggers_behind };
__global__ void copies(const float* x, float* y, Waits waits) {
  if (waits == Waits::triggers_before) cudaTriggerProgrammaticLaunchCompletion();
  if (waits != Waits::never) cudaGridDependencySynchronize();
  if (waits == Waits::triggers_behind) cudaTriggerProgrammaticLaunchCompletion();
  y[blockIdx.x * 64 + threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];  // read
}

CASE(the_first_of_a_call_waits_for_nobody, "early-begin",
     {"Reads", "before what the caller has put on the stream is sure to have ended",
      "has not called cudaGridDependencySynchronize()"},
     {{"read", 0, 0}}) {
  float *x = zeros<float>(), *y = zeros<float>(1);
  const Call call;
  cudaLaunchKernelEx(&call.config, copies, x, y, Waits::never);
}
CASE(the_first_of_a_call_waits, "") {
  float *x = zeros<float>(), *y = zeros<float>(1);
  const Call call;
  cudaLaunchKernelEx(&call.config, copies, x, y, Waits::first);
}
CASE(the_first_of_a_call_is_a_fill, "") {
  float *x = zeros<float>(), *y = zeros<float>(1);
  const Call call;
  cudaMemsetAsync(y, 0, 4, call.stream);
  cudaLaunchKernelEx(&call.config, copies, x, y, Waits::never);
}
CASE(the_first_of_a_call_begins_when_all_has_ended, "") {
  float *x = zeros<float>(), *y = zeros<float>(1), *other = zeros<float>(2),
        *copy = zeros<float>(3);
  const Call call;
  copies<<<2, 64, 0, call.stream>>>(other, copy, Waits::never);
  cudaLaunchKernelEx(&call.config, copies, x, y, Waits::never);
}

__constant__ float of_the_module[64];
__global__ void reads_of_the_module(float* y) {
  const float value = of_the_module[threadIdx.x];  // which no caller writes
  cudaGridDependencySynchronize();
  y[blockIdx.x * 64 + threadIdx.x] = value;
}
CASE(the_first_of_a_call_reads_a_constant, "") {
  float* y = zeros<float>();
  const Call call;
  cudaLaunchKernelEx(&call.config, reads_of_the_module, y);
}

/// The first one waits, and lets the second begin before or behind that.
void two_of_a_call(Waits first) {
  float *x = zeros<float>(), *y = zeros<float>(1), *other = zeros<float>(2),
        *copy = zeros<float>(3);
  const Call call;
  cudaLaunchKernelEx(&call.config, copies, other, copy, first);
  cudaLaunchKernelEx(&call.config, copies, x, y, Waits::never);
}
CASE(the_first_of_a_call_triggers_and_waits, "early-begin",
     {"what the caller has put on the stream",
      "as may those of this call before it, which trigger before they have waited"},
     {{"read", 0, 0}}) {
  two_of_a_call(Waits::triggers_before);
}
CASE(the_first_of_a_call_waits_and_triggers, "") {
  two_of_a_call(Waits::triggers_behind);
}

}  // namespace
