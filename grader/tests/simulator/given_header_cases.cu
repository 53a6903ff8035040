// What goes wrong in a header that an exercise gives: told with its line, and the student's.
#include <onepass/neighbours.h>

#include "tests/simulator/case_kernels.h"

namespace {

using onepass::Slots;

__global__ void exchange(float* y, bool barrier) {
  const Slots slots;
  slots.put(threadIdx.x, y[threadIdx.x]);  // calls put
  if (barrier) __syncthreads();
  y[threadIdx.x] = slots.got(63 - threadIdx.x);  // calls got
}
CASE(given_functions_used_right, "") {
  exchange<<<1, 64, 64 * sizeof(float)>>>(zeros<float>(), true);
}
CASE(given_functions_without_barrier, "shared-race", {"no __syncthreads() between"},
     {{"gets", 31, 0, "calls got"}, {"puts", 32, 0, "calls put"}}) {
  exchange<<<1, 64, 64 * sizeof(float)>>>(zeros<float>(), false);
}
CASE(given_function_out_of_bounds, "out-of-bounds-shared", {"Writes"},
     {{"puts", 32, 0, "calls put"}}) {
  exchange<<<1, 64, 32 * sizeof(float)>>>(zeros<float>(), true);
}

__global__ void put_twice(float* y) {
  const Slots slots;
  slots.put(threadIdx.x, y[threadIdx.x]);  // puts first
  __syncthreads();
  slots.put(threadIdx.x, 1.0f);  // puts second
}
CASE(given_function_called_twice, "") {
  put_twice<<<1, 64, 64 * sizeof(float)>>>(zeros<float>());
}

// A lambda of the student's, called by the header, calls the header.
__global__ void exchange_of_many(float* y) {
  const Slots slots;
  onepass::for_elements(128, [&](unsigned i) {
    slots.put(i, y[i]);  // puts one
  });
}
CASE(given_function_called_by_a_lambda, "out-of-bounds-shared", {"Writes"},
     {{"puts", 0, 0, "puts one"}}) {
  exchange_of_many<<<1, 64, 64 * sizeof(float)>>>(zeros<float>());
}

__global__ void doubled_by_lambda(float* y) {
  onepass::for_elements(1 << 20, [&](unsigned i) {  // calls for_elements
    y[i] += y[i];                                   // doubles one
  });
}
CASE(lambda_called_by_a_given_function, "out-of-bounds-global", {"Reads"},
     {{"doubles one", 0, 0, "calls for_elements"}}) {
  doubled_by_lambda<<<1, 64>>>(zeros<float>());
}

__global__ void copied(float* y) {
  __shared__ float tile[64];
  __pipeline_memcpy_async(tile + threadIdx.x, y + threadIdx.x, sizeof(float));
  __pipeline_commit();
  onepass::wait_for_all_but_one();
  y[threadIdx.x] = tile[threadIdx.x];  // here
}
CASE(given_function_waits_for_another_copy, "copy-not-awaited",
     {"The wait in line 36 of onepass/neighbours.h leaves the last"}) {
  copied<<<1, 64>>>(zeros<float>());
}

__global__ void last(float* y) {
  y[threadIdx.x] = onepass::last_of_warp(y[threadIdx.x]);  // calls last
}
CASE(given_function_with_a_mask, "bad-warp-mask", {}, {{"shuffles", 16, 0, "calls last"}}) {
  last<<<1, 32>>>(zeros<float>());
}

// Kernel and launch are the header's: the student's line is the launcher's.
void launcher(float* y, int n, int threads) {
  onepass::double_all(y, n, threads);  // calls double_all
}
CASE(given_kernel_by_launcher, "") {
  launcher(zeros<float>(), 64, 32);
}
CASE(given_kernel_out_of_bounds, "out-of-bounds-global", {"Reads"},
     {{"doubles", 0, 0, "calls double_all"}}) {
  launcher(zeros<float>(), 1 << 20, 32);
}
CASE(given_launch_refused, "invalid-launch", {"The block is 2048 x 1 x 1"},
     {{"launches", 0, 0, "calls double_all"}}) {
  launcher(zeros<float>(), 64, 2048);
}

}  // namespace
