// A thread's own memory: local arrays and the stack.
#include "tests/simulator/case_kernels.h"

namespace {

template <typename T>
__global__ void local_array(T* y, int n) {
  T values[4] = {};
  for (int i = n - 4; i < n; ++i) y[i] = values[i];  // here
}
CASE_OF_EACH_SIZE(local_array_inside, "") {
  local_array<<<1, 1>>>(zeros<T>(), 4);
}
CASE_OF_EACH_SIZE(local_array_outside, "out-of-bounds-local", {"Index 5", "[4]"}, {{"here", 0}}) {
  local_array<<<1, 1>>>(zeros<T>(), 9);
}
CASE_OF_EACH_SIZE(local_array_past_its_end, "out-of-bounds-local", {"Index 4", "[4]"},
                  {{"here", 0}}) {
  local_array<<<1, 1>>>(zeros<T>(), 5);
}

template <typename T>
struct Share {
  T a[3], b[3];
};
template <typename T>
__global__ void fill_members(T* y, int n) {
  Share<T> share{};
  for (int i = 0; i < n; ++i) {
    share.a[i] = y[i];  // here
    share.b[i] = y[i];
  }
  T* const end = &share.b[3];  // no access
  y[0] = *(end - 1);
}
CASE_OF_EACH_SIZE(arrays_in_a_structure, "") {
  fill_members<<<1, 1>>>(zeros<T>(), 3);
}
CASE_OF_EACH_SIZE(past_an_array_in_a_structure, "out-of-bounds-local", {"Index 3", "[3]"},
                  {{"here", 0}}) {
  fill_members<<<1, 1>>>(zeros<T>(), 4);
}

__global__ void before_local(float* y, int i) {
  float values[4] = {1, 2, 3, 4};
  y[threadIdx.x] = values[static_cast<int>(threadIdx.x) + i];  // here
}
CASE(before_a_local_array, "out-of-bounds-local", {"Index -1", "float [4]"}, {{"here", 0}}) {
  before_local<<<1, 4>>>(zeros<float>(), -1);
}
CASE(each_thread_its_local_array, "") {
  before_local<<<1, 4>>>(zeros<float>(), 0);
}

__global__ void hand_on(float** shared_address, float* y) {
  float mine = threadIdx.x;
  if (threadIdx.x == 0) *shared_address = &mine;
  __syncthreads();
  y[threadIdx.x] = **shared_address;  // here
  y[threadIdx.x] += mine;
}
CASE(address_of_a_local, "out-of-bounds-local", {"the local memory of another thread"},
     {{"here", 31}}) {
  hand_on<<<1, 32>>>(zeros<float*>(1), zeros<float>());
}

struct alignas(32) Eight {
  float values[8];
};
__global__ void cast_local(Eight* y, int offset) {
  alignas(32) float values[32];
  for (int i = 0; i < 32; ++i) values[i] = static_cast<float>(i);
  *reinterpret_cast<Eight*>(values + offset) = *y;  // here
  y[1] = *reinterpret_cast<const Eight*>(values);
}
CASE(aligned_structure_in_local, "") {
  cast_local<<<1, 1>>>(zeros<Eight>(), 8);
}
CASE(misaligned_structure_in_local, "misaligned",
     {"Writes 32 bytes at an address that is 16 past a multiple of 32"}, {{"here", 0}}) {
  cast_local<<<1, 1>>>(zeros<Eight>(), 4);
}

__device__ float descend(float* y, int depth) {
  volatile float frame[64];
  frame[depth % 64] = y[32];  // overflows
  return depth == 0 ? frame[0] : descend(y, depth - 1) + frame[depth % 64];
}
__global__ void recursion(float* y, int depth) {
  y[threadIdx.x] = descend(y, static_cast<int>(threadIdx.x) == depth % 32 ? depth : 0);
}
CASE(shallow_recursion, "") {  // 6 KiB, of the 8 that a worker asks a GPU for
  recursion<<<1, 32>>>(zeros<float>(), 20);
}
CASE(deep_recursion, "stack-overflow", {"need more than the 256 KiB"}, {{"overflows", 5}}) {
  recursion<<<1, 32>>>(zeros<float>(), 32 * 3000 + 5);
}

__global__ void large_local_array(float* y, int n) {  // large
  float values[100000];
  for (int i = 0; i < n; ++i) values[i] = y[i % 64];
  y[0] = values[n / 2];
}
CASE(local_array_too_large, "stack-overflow", {"that the simulator has", "half of what a GPU may"},
     {{"large", 0}}) {  // 391 KiB, which a GPU gives
  large_local_array<<<1, 1>>>(zeros<float>(), 100000);
}

}  // namespace
