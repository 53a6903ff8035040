// What the files of cases share: cases for each size of element, device memory, and what results
// have to be.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cassert>

#include "tests/simulator/cases.h"

/// The same case with T of 1, 2, 4, 8 and 16 bytes.
#define CASE_OF_EACH_SIZE(name, ...)                                                  \
  template <typename T>                                                               \
  static void run_##name();                                                           \
  static const CaseEntry entries_##name[] = {                                         \
      CaseEntry(Case{#name "_1", Expected{__VA_ARGS__}, &run_##name<unsigned char>}), \
      CaseEntry(Case{#name "_2", Expected{__VA_ARGS__}, &run_##name<__half>}),        \
      CaseEntry(Case{#name "_4", Expected{__VA_ARGS__}, &run_##name<float>}),         \
      CaseEntry(Case{#name "_8", Expected{__VA_ARGS__}, &run_##name<float2>}),        \
      CaseEntry(Case{#name "_16", Expected{__VA_ARGS__}, &run_##name<float4>})};      \
  template <typename T>                                                               \
  static void run_##name()

constexpr size_t kZeroBytes = 1 << 16;

/// 64 KiB of zeroed device memory; a different piece for each `which`.
template <typename T>
T* zeros(int which = 0) {
  static char* memory[4] = {};
  if (memory[which] == nullptr) cudaMalloc(&memory[which], kZeroBytes);
  cudaMemset(memory[which], 0, kZeroBytes);
  return reinterpret_cast<T*>(memory[which]);
}

/// Zeros, but for 1024 elements at the start that count from 0.
template <typename T = float>
T* counting() {
  T numbers[1024];
  for (int i = 0; i < 1024; ++i) numbers[i] = static_cast<T>(static_cast<float>(i));
  T* x = zeros<T>(1);
  cudaMemcpy(x, numbers, sizeof numbers, cudaMemcpyHostToDevice);
  return x;
}

/// The first `count` elements of y, 1024 at most, are first, first + step, ...
template <typename T>
void expect(const T* y, int count, float first, float step) {
  T got[1024];
  cudaMemcpy(got, y, static_cast<size_t>(count) * sizeof(T), cudaMemcpyDeviceToHost);
  for (int i = 0; i < count; ++i) {
    assert(static_cast<float>(got[i]) == first + step * static_cast<float>(i));
  }
}

/// The kernel stops here if a result is wrong.
__device__ inline void expect(bool is_right) {
  assert(is_right);
}
