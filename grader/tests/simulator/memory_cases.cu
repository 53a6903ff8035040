// Accesses to global memory, at every size from 1 to 16 bytes.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "simulator/simulator.h"
#include "tests/simulator/cases.h"

namespace {

/// Device memory of `count` elements, freed at the end of the case.
template <typename T>
class Device {
 public:
  explicit Device(size_t count, bool initialised = true) {
    simulator::Label label;
    label.name = "x";
    label.element_bytes = sizeof(T);
    data_ = static_cast<T*>(simulator::allocate(count * sizeof(T), 0, label));
    if (initialised) simulator::mark_initialised(data_, count * sizeof(T));
  }
  ~Device() { simulator::release(data_); }
  T* data() { return data_; }

 private:
  T* data_;
};

template <typename T>
__global__ void copy(const T* x, T* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];  // here
}

template <typename T>
void copy_elements(int elements, int threads) {
  Device<T> x(elements), y(elements);
  copy<T><<<(threads + 63) / 64, 64>>>(x.data(), y.data(), threads);
}

CASE(copy_1, "") {
  copy_elements<unsigned char>(100, 100);
}
CASE(copy_2, "") {
  copy_elements<__half>(100, 100);
}
CASE(copy_4, "") {
  copy_elements<float>(100, 100);
}
CASE(copy_8, "") {
  copy_elements<float2>(100, 100);
}
CASE(copy_16, "") {
  copy_elements<float4>(100, 100);
}
CASE(past_end_1, "out-of-bounds-global") {
  copy_elements<unsigned char>(100, 101);
}
CASE(past_end_2, "out-of-bounds-global") {
  copy_elements<__half>(100, 101);
}
CASE(past_end_4, "out-of-bounds-global") {
  copy_elements<float>(100, 101);
}
CASE(past_end_8, "out-of-bounds-global") {
  copy_elements<float2>(100, 101);
}
CASE(past_end_16, "out-of-bounds-global") {
  copy_elements<float4>(100, 101);
}

__global__ void before_start(float* x) {
  x[static_cast<int>(threadIdx.x) - 1] = 1;  // here
}
CASE(before_the_start, "out-of-bounds-global") {
  Device<float> x(64);
  before_start<<<1, 32>>>(x.data());
}

__global__ void far_away(float* x, long index) {
  x[index] = 1;  // here
}
CASE(far_from_every_buffer, "out-of-bounds-global") {
  Device<float> x(64);
  far_away<<<1, 1>>>(x.data(), 168427136);
}

template <typename T>
__global__ void misplaced(const char* x, T* y) {
  y[threadIdx.x] = *reinterpret_cast<const T*>(x + 1);  // here
}
template <typename T>
void read_misplaced() {
  Device<char> x(64);
  Device<T> y(1);
  misplaced<T><<<1, 1>>>(x.data(), y.data());
}
CASE(misaligned_2, "misaligned") {
  read_misplaced<__half>();
}
CASE(misaligned_4, "misaligned") {
  read_misplaced<float>();
}
CASE(misaligned_8, "misaligned") {
  read_misplaced<float2>();
}
CASE(misaligned_16, "misaligned") {
  read_misplaced<float4>();
}

template <typename T>
void copy_uninitialised() {
  Device<T> x(64, false), y(64);
  copy<T><<<1, 64>>>(x.data(), y.data(), 64);
}
CASE(uninitialised_global_1, "uninitialised-global") {
  copy_uninitialised<unsigned char>();
}
CASE(uninitialised_global_2, "uninitialised-global") {
  copy_uninitialised<__half>();
}
CASE(uninitialised_global_4, "uninitialised-global") {
  copy_uninitialised<float>();
}
CASE(uninitialised_global_8, "uninitialised-global") {
  copy_uninitialised<float2>();
}
CASE(uninitialised_global_16, "uninitialised-global") {
  copy_uninitialised<float4>();
}
CASE(written_then_read, "") {
  Device<float> x(64), y(64, false), z(64, false);
  copy<float><<<1, 64>>>(x.data(), y.data(), 64);
  copy<float><<<1, 64>>>(y.data(), z.data(), 64);
}

CASE(freed_memory, "use-after-free") {
  Device<float> y(64);
  float* freed = nullptr;
  {
    Device<float> x(64);
    freed = x.data();
  }
  copy<float><<<1, 64>>>(freed, y.data(), 64);
}
CASE(null, "null-pointer") {
  Device<float> y(64);
  copy<float><<<1, 64>>>(nullptr, y.data(), 64);
}
CASE(host_stack, "host-pointer") {
  Device<float> y(64);
  float x[64] = {};
  copy<float><<<1, 64>>>(x, y.data(), 64);
}
CASE(host_heap, "host-pointer") {
  Device<float> y(64);
  float* x = new float[64]();
  copy<float><<<1, 64>>>(x, y.data(), 64);
  delete[] x;
}

__constant__ float table[64] = {1, 2, 3};
__global__ void use_table(float* y) {
  y[threadIdx.x] = table[threadIdx.x % 64];
}
CASE(constant_memory, "") {
  Device<float> y(128);
  use_table<<<1, 128>>>(y.data());
}

__global__ void local_array(float* y, int n) {
  float values[4] = {1, 2, 3, 4};
  for (int i = 0; i < n; ++i) y[i] = values[i];  // here
}
CASE(local_array_inside, "") {
  Device<float> y(8);
  local_array<<<1, 1>>>(y.data(), 4);
}
CASE(local_array_outside, "out-of-bounds-local") {
  Device<float> y(8);
  local_array<<<1, 1>>>(y.data(), 5);
}

__device__ float descend(float* y, int depth) {
  volatile float frame[256];
  frame[depth % 256] = y[0];
  return depth == 0 ? frame[0] : descend(y, depth - 1) + frame[depth % 256];
}
__global__ void recursion(float* y, int depth) {
  y[threadIdx.x] = descend(y, depth);
}
CASE(shallow_recursion, "") {
  Device<float> y(8);
  recursion<<<1, 1>>>(y.data(), 20);
}
CASE(deep_recursion, "stack-overflow") {
  Device<float> y(8);
  recursion<<<1, 1>>>(y.data(), 100000);
}

CASE(device_memory_on_host, "device-pointer") {
  Device<float> x(8);
  x.data()[0] = 1;  // here
}

}  // namespace
