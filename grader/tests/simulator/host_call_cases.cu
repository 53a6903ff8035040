// What the host code around a launch does: the stream that work is put on, and waiting.
#include "simulator/simulator.h"
#include "tests/simulator/case_kernels.h"

namespace {

__global__ void fill(float* y) {
  y[threadIdx.x] = 1;
}

__global__ void add_one(float* y) {
  y[threadIdx.x] += 1;
}

/// A stream that work is expected on, while this lives.
struct ExpectedStream {
  cudaStream_t stream;
  ExpectedStream() {
    zeros<float>();  // by calls that are not looked at
    cudaStreamCreate(&stream);
    simulator::expect_stream(stream);
  }
  ~ExpectedStream() {
    simulator::expect_stream(nullptr);
    cudaStreamDestroy(stream);
  }
};

float* memory() {
  static float* const y = zeros<float>();
  return y;
}

CASE(work_on_the_given_stream, "") {
  float* y = memory();
  const ExpectedStream expected;
  cudaMemsetAsync(y, 0, 128, expected.stream);
  fill<<<1, 32, 0, expected.stream>>>(y);
  cudaMemcpyAsync(y + 32, y, 128, cudaMemcpyDeviceToDevice, expected.stream);
}
CASE(memory_of_the_given_stream, "") {
  const ExpectedStream expected;
  float* partial = nullptr;
  cudaMallocAsync(&partial, 128, expected.stream);
  fill<<<1, 32, 0, expected.stream>>>(partial);
  cudaFreeAsync(partial, expected.stream);
  cudaFree(nullptr);
}
CASE(any_stream_where_none_is_expected, "") {
  fill<<<1, 32>>>(memory());
  cudaDeviceSynchronize();
}
CASE(launch_on_the_default_stream, "other-stream", {"The launch of fill", "the default stream"}) {
  float* y = memory();
  const ExpectedStream expected;
  fill<<<1, 32>>>(y);  // here
}
/// Two launches of one signature: what launches them is one function.
CASE(launch_functions, "") {
  float* y = memory();
  const ExpectedStream expected;
  void* arguments[] = {&y};
  cudaLaunchKernel(fill, dim3(1), dim3(32), arguments, 0, expected.stream);
  cudaLaunchKernel((const void*)add_one, 1, 32, arguments, 0, expected.stream);
  cudaLaunchConfig_t config = {};
  config.gridDim = 1;
  config.blockDim = 32;
  config.stream = expected.stream;
  cudaLaunchKernelEx(&config, add_one, y);
  cudaLaunchKernelExC(&config, reinterpret_cast<void*>(&add_one), arguments);
}
CASE(launch_function_on_the_default_stream, "other-stream", {"The launch of add_one"}) {
  float* y = memory();
  const ExpectedStream expected;
  void* arguments[] = {&y};
  cudaLaunchKernel(add_one, dim3(1), dim3(32), arguments, 0, nullptr);  // here
}
__global__ void fill_much_shared(float* y) {
  extern __shared__ float tile[];
  tile[20000 + threadIdx.x] = 1;
  y[threadIdx.x] = tile[20000 + threadIdx.x];
}
CASE(launch_function_with_much_shared_memory, "") {
  float* y = memory();
  const ExpectedStream expected;
  void* arguments[] = {&y};
  cudaFuncSetAttribute(fill_much_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 90000);
  cudaLaunchKernel(fill_much_shared, 1, 32, arguments, 90000, expected.stream);
}
CASE(launch_on_a_forked_stream, "other-stream", {"another stream", "unless events order the two"}) {
  float* y = memory();
  const ExpectedStream expected;
  cudaStream_t side;
  cudaEvent_t fork, join;
  cudaStreamCreate(&side);
  cudaEventCreate(&fork);
  cudaEventCreate(&join);
  cudaEventRecord(fork, expected.stream);
  cudaStreamWaitEvent(side, fork, 0);
  fill<<<1, 32, 0, side>>>(y);  // here
  cudaEventRecord(join, side);
  cudaStreamWaitEvent(expected.stream, join, 0);
  cudaEventDestroy(fork);
  cudaEventDestroy(join);
  cudaStreamDestroy(side);
}
CASE(launch_on_another_stream, "other-stream", {"another stream"}) {
  float* y = memory();
  const ExpectedStream expected;
  cudaStream_t other;
  cudaStreamCreate(&other);
  fill<<<1, 32, 0, other>>>(y);  // here
  cudaStreamDestroy(other);
}
void launch_of_a_helper(float* y, int blocks) {
  fill<<<blocks, 32>>>(y);  // launches
}
CASE(no_blocks_by_a_helper, "invalid-launch", {"The grid is 0 x 1 x 1"},
     {{"launches", 0, 0, "calls"}}) {
  launch_of_a_helper(memory(), 0);  // calls
}
CASE(a_negative_number_of_blocks, "invalid-launch", {"The grid is -1 x 1 x 1"}) {
  float* y = memory();
  fill<<<-1, 32>>>(y);  // here
}
CASE(memset_on_the_default_stream, "other-stream", {"cudaMemset()"}) {
  float* y = memory();
  const ExpectedStream expected;
  cudaMemset(y, 0, 128);  // here
}
/// Takes memory of its own for a call on the stream.
void with_own_memory(cudaStream_t stream, bool gives_back) {
  float* y = nullptr;
  cudaMallocAsync(&y, 128, stream);  // here
  fill<<<1, 32, 0, stream>>>(y);
  if (gives_back) cudaFreeAsync(y, stream);
}
CASE(keeps_its_memory, "memory-kept", {"cudaMallocAsync() has taken 128 bytes"}) {
  const ExpectedStream expected;
  with_own_memory(expected.stream, false);
}
CASE(gives_its_memory_back, "") {
  const ExpectedStream expected;
  with_own_memory(expected.stream, true);
}
CASE(keeps_page_locked_memory, "memory-kept", {"cudaMallocHost() has taken 64 bytes"}) {
  const ExpectedStream expected;
  float* numbers = nullptr;
  cudaMallocHost(&numbers, 64);  // here
}
CASE(waits_for_the_stream, "host-waits", {"cudaStreamSynchronize()"}) {
  float* y = memory();
  const ExpectedStream expected;
  fill<<<1, 32, 0, expected.stream>>>(y);
  cudaStreamSynchronize(expected.stream);  // here
}
CASE(asks_for_the_stream, "host-waits", {"by cudaStreamQuery()"}) {
  const ExpectedStream expected;
  while (cudaStreamQuery(expected.stream) == cudaErrorNotReady) continue;  // here
}
CASE(copies_and_waits, "host-waits", {"cudaMemcpy()"}) {
  float* y = memory();
  const ExpectedStream expected;
  float first;
  cudaMemcpy(&first, y, sizeof first, cudaMemcpyDeviceToHost);  // here
}
CASE(copies_to_pageable_memory, "host-waits", {"cudaMemcpyAsync()", "not page-locked"}) {
  float* y = memory();
  const ExpectedStream expected;
  float first;
  cudaMemcpyAsync(&first, y, sizeof first, cudaMemcpyDeviceToHost, expected.stream);  // here
}
CASE(copies_to_page_locked_memory, "") {
  float* y = memory();
  static float* numbers = nullptr;
  if (numbers == nullptr) cudaMallocHost(&numbers, 128);
  const ExpectedStream expected;
  cudaMemcpyAsync(numbers + 1, y, 64, cudaMemcpyDeviceToHost, expected.stream);
}
CASE(page_locked_memory_is_filled_after_the_launcher, "") {
  float* y = memory();
  float* numbers = nullptr;
  cudaMallocHost(&numbers, 128);
  numbers[0] = numbers[1] = 0;
  {
    const ExpectedStream expected;
    fill<<<1, 32, 0, expected.stream>>>(y);
    cudaMemcpyAsync(numbers, y, 128, cudaMemcpyDeviceToHost, expected.stream);
    cudaMemsetAsync(y, 0, 128, expected.stream);
    assert(numbers[0] == 0 && numbers[1] == 0);
  }
  assert(numbers[0] == 1 && numbers[31] == 1);
  cudaFreeHost(numbers);
}
CASE(page_locked_memory_that_is_gone, "") {
  float* y = memory();
  const ExpectedStream expected;
  float* numbers = nullptr;
  cudaMallocHost(&numbers, 128);
  cudaMemcpyAsync(numbers, y, 128, cudaMemcpyDeviceToHost, expected.stream);
  cudaFreeHost(numbers);
}
CASE(waits_for_page_locked_memory, "host-waits", {"cudaStreamSynchronize()"}) {
  float* y = memory();
  const ExpectedStream expected;
  float* numbers = nullptr;
  cudaMallocHost(&numbers, 128);
  numbers[0] = 0;
  fill<<<1, 32, 0, expected.stream>>>(y);
  cudaMemcpyAsync(numbers, y, 128, cudaMemcpyDeviceToHost, expected.stream);
  cudaStreamSynchronize(expected.stream);  // here
  assert(numbers[0] == 1);
  cudaFreeHost(numbers);
}

// Variables of the device.
__device__ float of_device[4] = {5, 6, 7, 8};
__global__ void add_to_variables(float* y) {
  of_device[threadIdx.x] += 1;
  atomicAdd(&of_device[3], 1.0f);
  y[threadIdx.x] = of_device[threadIdx.x];
}
CASE(variables_of_the_device_are_not_the_hosts, "") {
  float* y = memory();
  float* address = nullptr;
  float seen[4];
  add_to_variables<<<1, 2>>>(y);
  assert(of_device[0] == 5 && of_device[3] == 8);
  cudaMemcpyFromSymbol(seen, of_device, sizeof seen);
  assert(seen[0] == 6 && seen[1] == 7 && seen[2] == 7 && seen[3] == 10);
  const float more[2] = {20, 30};
  cudaMemcpyToSymbol(of_device, more, sizeof more, 2 * sizeof(float));
  assert(of_device[2] == 7);
  of_device[1] = 100;
  cudaGetSymbolAddress(reinterpret_cast<void**>(&address), of_device);
  cudaMemset(address, 0, sizeof(float));
  add_to_variables<<<1, 2>>>(y);
  cudaMemcpy(seen, address, sizeof seen, cudaMemcpyDeviceToHost);
  assert(seen[0] == 1 && seen[1] == 8 && seen[2] == 20 && seen[3] == 32);
  assert(of_device[0] == 5 && of_device[1] == 100);
  of_device[1] = 6;
}
CASE(copies_a_variable_and_waits, "host-waits", {"cudaMemcpyFromSymbol()"}) {
  const ExpectedStream expected;
  float seen;
  cudaMemcpyFromSymbol(&seen, of_device, sizeof seen);  // here
}
CASE(copies_a_variable_on_the_default_stream, "other-stream", {"cudaMemcpyFromSymbolAsync()"}) {
  static float* numbers = nullptr;
  if (numbers == nullptr) cudaMallocHost(&numbers, 128);
  const ExpectedStream expected;
  cudaMemcpyFromSymbolAsync(numbers, of_device, 4, 0, cudaMemcpyDeviceToHost);  // here
}

CASE(copies_on_the_default_stream, "other-stream", {"cudaMemcpy()", "the default stream"}) {
  float* y = memory();
  const ExpectedStream expected;
  cudaMemcpy(y + 32, y, 128, cudaMemcpyDeviceToDevice);  // here
}
CASE(frees_and_waits, "host-waits", {"cudaFree()"}) {
  float* partial = nullptr;
  cudaMalloc(&partial, 128);
  const ExpectedStream expected;
  cudaFree(partial);  // here
}

CASE(copies_results_of_its_own, "host-written", {"results[1]", "cudaMemcpyAsync()"}, {{"here"}}) {
  static float* const y =
      static_cast<float*>(simulator::allocate(128, 0, {"results", sizeof(float), 0, 0}));
  const ExpectedStream expected;
  const float numbers[2] = {1, 2};
  fill<<<1, 1, 0, expected.stream>>>(y);
  cudaMemcpyAsync(y + 1, numbers, sizeof numbers, cudaMemcpyHostToDevice, expected.stream);  // here
}
CASE(prepares_what_a_kernel_writes, "") {
  static float* const y =
      static_cast<float*>(simulator::allocate(128, 0, {"results", sizeof(float), 0, 0}));
  const ExpectedStream expected;
  const float numbers[2] = {1, 2};
  cudaMemsetAsync(y, 0xFF, 128, expected.stream);
  cudaMemcpyAsync(y, numbers, sizeof numbers, cudaMemcpyHostToDevice, expected.stream);
  add_one<<<1, 32, 0, expected.stream>>>(y);
}
float* results() {
  static float* const y =
      static_cast<float*>(simulator::allocate(1024, 0, {"results", sizeof(float), 0, 0}));
  return y;
}
CASE(a_copy_of_constant_size, "device-pointer", {"Host code writes 8 bytes at results[2],"}) {
  float* y = results();
  const ExpectedStream expected;
  float numbers[64] = {1, 2};
  memcpy(y + 2, numbers, sizeof numbers);  // here
}
// What the compiler puts no call before.
CASE(a_fill_of_constant_size, "device-pointer", {"Host code reaches results[0],"}) {
  float* y = results();
  const ExpectedStream expected;
  __builtin_memset(y, 1, 256);  // here
}
CASE(a_function_of_a_library, "device-pointer", {"Host code reaches results[5],"}) {
  float* y = results();
  const ExpectedStream expected;
  snprintf(reinterpret_cast<char*>(y + 5), 8, "%d", 1234567);  // here
}
CASE(a_function_that_reads, "device-pointer", {"Host code reaches results[3],"}) {
  float* y = results();
  const ExpectedStream expected;
  static volatile size_t length;
  length = strnlen(reinterpret_cast<char*>(y + 3), 8);  // here
}
CASE(memory_that_the_host_has_allocated_for_itself, "device-pointer", {"Host code reaches"}) {
  const ExpectedStream expected;
  char* own = nullptr;
  cudaMallocAsync(&own, 1024, expected.stream);
  snprintf(own, 8, "%d", 1234567);  // here
}
CASE(a_copy_to_a_symbol_that_is_none, "") {
  using Numbers = float[64];
  float* y = results();
  const ExpectedStream expected;
  const Numbers numbers = {1, 2};
  const cudaError_t error =
      cudaMemcpyToSymbol(*reinterpret_cast<Numbers*>(y), numbers, sizeof numbers);
  assert(error == cudaErrorInvalidSymbol);
}
CASE(kernels_and_copies_after_what_was_told, "device-pointer", {"Host code writes 4 bytes"}) {
  float* y = results();
  const ExpectedStream expected;
  y[0] = 1;  // here
  y[1] = 1;
  add_one<<<1, 2, 0, expected.stream>>>(y);
  memset(y, 0, 256);
}

CASE(copies_of_rows_on_the_default_stream, "other-stream", {"cudaMemcpy2DAsync()"}) {
  float* y = memory();
  const ExpectedStream expected;
  cudaMemcpy2DAsync(y + 32, 16, y, 8, 8, 4, cudaMemcpyDeviceToDevice);  // here
}
CASE(fills_of_rows_on_the_default_stream, "other-stream", {"cudaMemset2D()"}) {
  float* y = memory();
  const ExpectedStream expected;
  cudaMemset2D(y, 16, 0, 8, 4);  // here
}
CASE(rows_are_copied_and_filled, "") {
  float* y = nullptr;
  cudaMalloc(&y, 128);
  float numbers[32];
  for (int i = 0; i < 32; ++i) numbers[i] = static_cast<float>(i);
  cudaMemcpy(y, numbers, 128, cudaMemcpyHostToDevice);
  {
    const ExpectedStream expected;
    cudaMemcpy2DAsync(y + 16, 16, y, 12, 8, 4, cudaMemcpyDeviceToDevice, expected.stream);
    cudaMemset2DAsync(y, 16, 0, 4, 3, expected.stream);
    assert(cudaGetLastError() == cudaSuccess);
  }
  float seen[32];
  cudaMemcpy(seen, y, 128, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 32; ++i) {
    const int row = (i - 16) / 4;
    const bool is_copied = i >= 16 && i % 4 < 2, is_filled = i < 12 && i % 4 == 0;
    assert(seen[i] == (is_copied ? numbers[3 * row + i % 4] : is_filled ? 0 : numbers[i]));
  }
}
CASE(rows_past_the_end_are_not_copied, "warning: refused-copy",
     {"cudaMemcpy2DAsync() returns cudaErrorInvalidValue: the destination, 72 bytes from "}) {
  float* y = results();
  const ExpectedStream expected;
  cudaMemcpy2DAsync(y + 240, 16, y, 12, 8, 5, cudaMemcpyDeviceToDevice, expected.stream);  // here
  assert(cudaGetLastError() == cudaErrorInvalidValue);
}
CASE(copies_to_memory_of_the_host, "warning: refused-copy",
     {"the source is said to be device memory, and is not."}) {
  float numbers[4] = {};
  cudaMemcpy(results(), numbers, 16, cudaMemcpyDeviceToDevice);  // here
  assert(cudaGetLastError() == cudaErrorInvalidValue);
}
CASE(rows_longer_than_their_pitch, "warning: refused-copy",
     {"cudaErrorInvalidPitchValue: rows of 8 bytes do not fit a pitch of 4 bytes."}) {
  float* y = results();
  const ExpectedStream expected;
  cudaMemset2DAsync(y, 4, 0, 8, 3, expected.stream);  // here
  assert(cudaGetLastError() == cudaErrorInvalidPitchValue);
}
/// More than this computer may have memory for.
CASE(memory_that_nobody_has_touched_is_copied, "") {
  constexpr size_t kBytes = size_t{24} << 30;
  char *from = nullptr, *to = nullptr;
  cudaMalloc(&from, kBytes);
  cudaMalloc(&to, kBytes);
  cudaMemset(from + kBytes / 2 - 3000, 7, 6000);
  cudaMemset(to + kBytes - 1000, 1, 1000);
  simulator::limit_accesses(1);  // of such a call nobody asks what is initialised
  cudaMemcpy2D(to + 100, 4, from, 4, 4, (kBytes - 100) / 4, cudaMemcpyDeviceToDevice);
  cudaMemset2D(from, 1 << 20, 0, 1 << 19, kBytes >> 20);
  simulator::limit_accesses(0);
  char seen[6002];
  cudaMemcpy(seen, to + kBytes / 2 - 2901, sizeof seen, cudaMemcpyDeviceToHost);
  assert(seen[0] == 0 && seen[1] == 7 && seen[6000] == 7 && seen[6001] == 0);
  cudaMemcpy(seen, to + kBytes - 1000, 1000, cudaMemcpyDeviceToHost);
  assert(seen[0] == 0 && seen[999] == 0);
  cudaMemcpy(seen, from + kBytes / 2 - 3000, 6000, cudaMemcpyDeviceToHost);
  assert(seen[0] == 7 && seen[2999] == 7 && seen[3000] == 0 && seen[5999] == 0);
  cudaFree(from);
  cudaFree(to);
}

CASE(a_device_that_refuses_launches, "") {
  float* y = memory();
  cudaMemset(y, 0, 128);
  simulator::refuse_launches(true);
  fill<<<1, 32>>>(y);
  simulator::refuse_launches(false);
  assert(cudaPeekAtLastError() == cudaErrorLaunchOutOfResources);
  assert(cudaGetLastError() == cudaErrorLaunchOutOfResources);
  assert(cudaGetLastError() == cudaSuccess);
  float seen[32];
  cudaMemcpy(seen, y, sizeof seen, cudaMemcpyDeviceToHost);
  assert(seen[0] == 0 && seen[31] == 0);
}

CASE(zeros_and_copies_within_the_device, "") {
  static float* const y =
      static_cast<float*>(simulator::allocate(256, 0, {"results", sizeof(float), 0, 0}));
  const ExpectedStream expected;
  cudaMemsetAsync(y, 0, 128, expected.stream);
  cudaMemcpyAsync(y + 32, y, 128, cudaMemcpyDeviceToDevice, expected.stream);
}

}  // namespace
