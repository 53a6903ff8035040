// Code of a device function behind __CUDA_ARCH__: it runs, and is checked as other code.
#include "tests/simulator/case_kernels.h"

namespace {

__device__ inline void store(float* place, float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("st.global.f32 [%0], %1;" ::"l"(place), "f"(value) : "memory");  // stores
#endif
}
__global__ void store_all(float* y, int step) {
#ifndef __CUDA_ARCH__
  return;
#endif
  store(y + step * static_cast<int>(threadIdx.x), 1.0f);  // calls
}
CASE(stored_where_the_gpu_is_new, "") {
  float* y = zeros<float>();
  store_all<<<1, 32>>>(y, 1);
  expect(y, 32, 1, 0);
}
CASE(stored_past_the_end_where_the_gpu_is_new, "out-of-bounds-global", {"Writes"},
     {{"stores", 1, 0, "calls"}}) {
  store_all<<<1, 32>>>(zeros<float>(), kZeroBytes / 4);
}

template <typename F>
__global__ void apply(float* y, F f) {
  y[threadIdx.x] = f(static_cast<float>(threadIdx.x));
}
/// Of one that the host has too, one version does for both.
__host__ __device__ inline float doubled(float x) {
#ifdef __CUDA_ARCH__
  return __fadd_rn(x, x);
#else
  return 2 * x;
#endif
}
struct Doubled {
  __device__ float operator()(float x) const {
#ifdef __CUDA_ARCH__
    return __CUDA_ARCH__ >= 800 ? doubled(x) : 0;
#else
    return 0;
#endif
  }
};
#if __CUDA_ARCH__ >= 900  // a function that old GPUs have not
__device__ inline float on_new(float x) {
  return __fadd_rn(x, 1.0f);
}
#endif
__global__ void store_where_new(float* y) {
#if __CUDA_ARCH__ >= 900
  y[threadIdx.x] = on_new(1.0f);  // stores where new
#endif
}
CASE(function_of_new_gpus_alone, "") {
  float* y = zeros<float>();
  store_where_new<<<1, 32>>>(y);
  expect(y, 32, 2, 0);
}
CASE(function_of_new_gpus_alone_past_the_end, "out-of-bounds-global", {"Writes"},
     {{"stores where new", 1, 0}}) {
  store_where_new<<<1, 32>>>(zeros<float>() + kZeroBytes / 4 - 1);
}
CASE(function_object_of_the_device, "") {
  float* y = zeros<float>();
  apply<<<1, 32>>>(y, Doubled{});
  expect(y, 32, doubled(0), 2);
}

}  // namespace
