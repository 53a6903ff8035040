// What is set for a kernel, or asked of it, is that kernel's own: whatever name it is launched by,
// and not that of another instance of its template. And the bounds of its launches.
#include <cassert>

#include "simulator/simulator.h"
#include "tests/simulator/case_kernels.h"

namespace {

constexpr int kMuch = 90000;  // bytes: of dynamic shared memory, more than a kernel has unasked

template <typename Kernel>
void allow(Kernel kernel, int bytes = kMuch) {
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

/// Each case has instances of its own: what was allowed stays allowed.
template <int kCase, int kVariant, typename T>
__global__ void use_much(T* y) {
  extern __shared__ float tile[];
  tile[20000 + threadIdx.x] = kVariant;
  y[threadIdx.x] = tile[20000 + threadIdx.x];
}

// ---- By another name

CASE(allowed_by_name_launched_by_variable, "") {
  float* y = zeros<float>();
  allow(use_much<1, 0, float>);
  const auto launch = [&](auto kernel) { kernel<<<1, 32, kMuch>>>(y); };
  launch(use_much<1, 0, float>);
}
CASE(allowed_by_variable_launched_by_name, "") {
  const auto kernel = use_much<2, 0, float>;
  allow(kernel);
  use_much<2, 0, float><<<1, 32, kMuch>>>(zeros<float>());
}
CASE(allowed_by_name_launched_from_a_table, "") {
  using Kernel = void (*)(float*);
  const Kernel table[] = {use_much<3, 0, float>, use_much<3, 1, float>};
  allow(use_much<3, 1, float>);
  table[1]<<<1, 32, kMuch>>>(zeros<float>());
  (table[1] != nullptr ? table[1] : table[0])<<<1, 32, kMuch>>>(zeros<float>());
}
CASE(allowed_by_another_function_with_that_variable, "invalid-launch", {"More than 49152"}) {
  float* y = zeros<float>();
  const auto launch = [&](auto kernel) {
    kernel<<<1, 32, kMuch>>>(y);  // here
  };
  const auto kernel = use_much<4, 0, float>;
  allow(kernel);
  launch(use_much<4, 1, float>);
}

// ---- Instances of one template

CASE(allowed_to_this_instance, "") {
  allow(use_much<5, 4, float>);
  use_much<5, 4, float><<<1, 32, kMuch>>>(zeros<float>());
}
CASE(allowed_to_another_instance, "invalid-launch",
     {"More was allowed to use_much<6, 4, float>, and this is use_much<6, 1, float>"}) {
  allow(use_much<6, 4, float>);
  use_much<6, 1, float><<<1, 32, kMuch>>>(zeros<float>());  // here
}
CASE(less_allowed_to_this_instance, "invalid-launch", {"More than 60000", "More was allowed to"}) {
  allow(use_much<7, 4, float>);
  allow(use_much<7, 1, float>, 60000);
  use_much<7, 1, float><<<1, 32, kMuch>>>(zeros<float>());  // here
}
CASE(attributes_of_another_instance, "") {
  allow(use_much<8, 4, float>);
  cudaFuncAttributes of_one = {}, of_other = {};
  cudaFuncGetAttributes(&of_one, use_much<8, 4, float>);
  cudaFuncGetAttributes(&of_other, use_much<8, 1, float>);
  assert(of_one.maxDynamicSharedSizeBytes == kMuch);
  assert(of_other.maxDynamicSharedSizeBytes == 48 << 10);
}

// Of these a launch knows the instance when it runs: T follows from the argument.
CASE(allowed_to_the_deduced_instance, "") {
  allow(use_much<9, 4, float>);
  use_much<9, 4><<<1, 32, kMuch>>>(zeros<float>());
}
CASE(allowed_to_another_than_the_deduced_instance, "invalid-launch",
     {"More was allowed to use_much<10, 4, int>, and this is use_much<10, 4, float>"}) {
  allow(use_much<10, 4, int>);
  use_much<10, 4><<<1, 32, kMuch>>>(zeros<float>());  // here
}

template <int kCase, typename T>
__global__ void use_none(T* y) {
  y[threadIdx.x] = 1;
}
CASE(little_allowed_to_another_than_the_deduced_instance, "") {
  allow(use_none<1, int>, 20000);
  use_none<1><<<1, 32, 40000>>>(zeros<float>());
}

__global__ void overloaded(float* y) {
  y[threadIdx.x] = 1;
}
__global__ void overloaded(int* y) {
  y[threadIdx.x] = 1;
}
CASE(allowed_to_this_overload, "") {
  allow<void (*)(float*)>(overloaded);
  overloaded<<<1, 32, kMuch>>>(zeros<float>());
}
CASE(allowed_to_another_overload, "invalid-launch",
     {"More was allowed to overloaded(float*), and this is overloaded(int*)"}) {
  allow<void (*)(float*)>(overloaded);
  overloaded<<<1, 32, kMuch>>>(zeros<int>());  // here
}

// ---- How many blocks are on the device at one time

/// Of 40,000 bytes a multiprocessor holds 5, of 4 as many as of any.
template <int kElements>
__global__ void meet_with_elements(float* y) {
  __shared__ float kept[kElements];
  kept[threadIdx.x % kElements] = 1;
  __syncthreads();
  y[blockIdx.x] = kept[threadIdx.x % kElements];
}
int blocks_at_once_of(void (*kernel)(float*)) {
  int blocks = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 1, 0);
  return blocks;
}
CASE(occupancy_of_an_instance, "") {
  assert(blocks_at_once_of(meet_with_elements<10000>) == 5);
  assert(blocks_at_once_of(meet_with_elements<1>) == 32);
}
CASE(cooperative_launch_of_the_smaller_instance, "") {
  float* y = zeros<float>();
  void* arguments[] = {&y};
  const auto kernel = meet_with_elements<1>;
  cudaLaunchCooperativeKernel(kernel, 6 * 132, 1, arguments);
}
CASE(cooperative_launch_of_the_larger_instance, "invalid-launch", {"holds 5 on each"}) {
  float* y = zeros<float>();
  void* arguments[] = {&y};
  const auto kernel = meet_with_elements<10000>;
  cudaLaunchCooperativeKernel(kernel, 6 * 132, 1, arguments);  // here
}

// ---- Launch bounds, which the kernel says itself

template <int kThreads>
__global__ void __launch_bounds__(kThreads == 1 ? 32 : kThreads, 2) bounded(float* y) {  // here
  y[threadIdx.x] = 1;
}
CASE(more_threads_than_launch_bounds, "invalid-launch", {"has 64 threads", "allow 32:"}) {
  bounded<32><<<1, 64>>>(zeros<float>());
}
CASE(as_many_threads_as_launch_bounds, "") {
  bounded<64><<<1, 64>>>(zeros<float>());
}

// The bounds in macros, which are said anew where there is an #if.
#define BOUNDS(n) __launch_bounds__(n, 1)
#define KERNEL(n) __global__ void BOUNDS(n)
#define ALIAS __launch_bounds__
#define FEWER 0
#if FEWER
#define SOME_BOUNDS BOUNDS(32)
#else
#define SOME_BOUNDS BOUNDS(64)
#endif
template <int kThreads>
KERNEL(kThreads)
bounded_by_macro(float* y) {  // here
  y[threadIdx.x] = 1;
}
__global__ void ALIAS(32) bounded_by_alias(float* y) {  // here
  y[threadIdx.x] = 1;
}
__global__ void SOME_BOUNDS bounded_by_one_arm(float* y) {
  y[threadIdx.x] = 1;
}
CASE(more_threads_than_launch_bounds_in_a_macro, "invalid-launch", {"64 threads", "allow 32:"}) {
  bounded_by_macro<32><<<1, 64>>>(zeros<float>());
}
CASE(as_many_threads_as_launch_bounds_in_a_macro, "") {
  bounded_by_macro<64><<<1, 64>>>(zeros<float>());
}
CASE(more_threads_than_launch_bounds_by_an_alias, "invalid-launch", {"64 threads", "allow 32:"}) {
  bounded_by_alias<<<1, 64>>>(zeros<float>());
}
CASE(as_many_threads_as_launch_bounds_of_this_arm, "") {
  bounded_by_one_arm<<<1, 64>>>(zeros<float>());
}

// And in a declaration alone.
template <int kThreads>
__global__ void __launch_bounds__(kThreads) bounded_before(float* y);
template <int kThreads>
__global__ void bounded_before(float* x) {  // here
  x[threadIdx.x] = 1;
}
CASE(more_threads_than_declared_launch_bounds, "invalid-launch", {"64 threads", "allow 32:"}) {
  bounded_before<32><<<1, 64>>>(zeros<float>());
}
CASE(as_many_threads_as_declared_launch_bounds, "") {
  bounded_before<64><<<1, 64>>>(zeros<float>());
}

}  // namespace
