// Shared memory, static and dynamic: bounds, and reads of what nobody has written.
#include "tests/simulator/case_kernels.h"

namespace {

// ---- Static

template <typename T>
__global__ void reverse(T* y, int written) {
  __shared__ T s[64];
  const int i = threadIdx.x;
  if (i < written) s[i] = y[i];
  __syncthreads();
  y[i] = s[63 - i];  // here
}
CASE_OF_EACH_SIZE(static_shared, "") {
  reverse<<<1, 64>>>(zeros<T>(), 64);
}
CASE_OF_EACH_SIZE(uninitialised_static, "uninitialised-shared",
                  {"s[63]", "which no thread of the block has written"}, {{"here", 0}}) {
  reverse<<<1, 64>>>(zeros<T>(), 63);
}

__global__ void count_in_shared(int* y, bool exchange) {
  __shared__ int count;
  if (exchange && threadIdx.x == 0) atomicExch(&count, 0);
  if (exchange) __syncthreads();
  atomicAdd(&count, 1);  // here
  __syncthreads();
  y[threadIdx.x] = count;
}
CASE(uninitialised_count, "uninitialised-shared", {"count"}, {{"here", 0}}) {
  count_in_shared<<<1, 64>>>(zeros<int>(), false);
}
CASE(exchanged_count, "") {
  count_in_shared<<<1, 64>>>(zeros<int>(), true);
}
__global__ void who_comes_first(int* y, bool opened, bool waits) {
  __shared__ int taken;
  if (opened && threadIdx.x == 0) taken = 0;  // opens
  if (waits) __syncthreads();
  y[threadIdx.x] = atomicExch(&taken, 1);  // here
}
CASE(exchanged_and_used_of_shared, "uninitialised-shared", {"taken"}, {{"here", 63}}, 1) {
  who_comes_first<<<1, 64>>>(zeros<int>(), false, true);
}
CASE(exchanged_and_used_without_waiting, "shared-race", {"taken"}, {{"opens", 0}, {"here", 32}},
     1) {
  who_comes_first<<<1, 64>>>(zeros<int>(), true, false);
}
CASE(exchanged_and_used_of_zero_in_shared, "") {
  who_comes_first<<<1, 64>>>(zeros<int>(), true, true);
}

__global__ void first_block_writes(float* y) {
  __shared__ float s[64];
  if (blockIdx.x == 0) s[threadIdx.x] = 1;
  __syncthreads();
  y[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x];  // here
}
CASE(next_block_starts_uninitialised, "uninitialised-shared", {"s[63]"}, {{"here", 63, 1}}) {
  first_block_writes<<<2, 64>>>(zeros<float>());
}

template <typename T>
__global__ void use_element(T* y, int i, int j) {
  __shared__ T s[64];
  s[i] = y[0];  // here
  y[1] = s[j];  // the same, but the compiler must not know: it would drop the array
}
CASE_OF_EACH_SIZE(last_of_static, "") {
  use_element<<<1, 1>>>(zeros<T>(), 63, 63);
}
CASE_OF_EACH_SIZE(past_static, "out-of-bounds-shared", {"s[65]", "s has 64 elements"},
                  {{"here", 0}}) {
  use_element<<<1, 1>>>(zeros<T>(), 65, 65);
}
CASE(just_past_static, "out-of-bounds-shared", {"s[64]"}, {{"here", 0}}) {
  use_element<<<1, 1>>>(zeros<float>(), 64, 64);
}
CASE_OF_EACH_SIZE(before_static, "out-of-bounds-shared", {"s[-1]"}, {{"here", 0}}) {
  use_element<<<1, 1>>>(zeros<T>(), -1, -1);
}

template <typename T>
__global__ void walk(T* y, int n) {
  __shared__ T s[64];
  T* p = s;  // the compiler does not know p's bounds
  p[threadIdx.x] = y[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < n; ++i) y[0] = p[i];
  }
}
CASE_OF_EACH_SIZE(static_through_a_pointer, "") {
  walk<<<1, 64>>>(zeros<T>(), 64);
}

__global__ void too_few_slots(float* y, int slots) {
  __shared__ float partial[8];
  float local[4] = {1, 2, 3, 4};
  const int warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) partial[warp] = local[warp % slots];  // here
  __syncthreads();
  if (threadIdx.x < 8) y[threadIdx.x] = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
}
CASE(slots_suffice, "") {
  too_few_slots<<<1, 256>>>(zeros<float>(), 4);
}
CASE(more_warps_than_slots, "out-of-bounds-shared", {"partial[8]", "partial has 8 elements"},
     {{"here", 256}}) {
  too_few_slots<<<1, 288>>>(zeros<float>(), 4);
}
CASE(local_array_beside_a_shared_one, "out-of-bounds-local", {"float [4]"}, {{"here", 128}}) {
  too_few_slots<<<1, 256>>>(zeros<float>(), 5);
}

// ---- Dynamic

template <typename T>
__global__ void dynamic(T* y, int written) {
  extern __shared__ __align__(16) unsigned char bytes[];
  T* s = reinterpret_cast<T*>(bytes);
  const int i = threadIdx.x;
  if (i < written) s[i] = y[i];  // writes
  __syncthreads();
  y[i] = s[63 - i];  // reads
}
CASE_OF_EACH_SIZE(dynamic_shared, "") {
  dynamic<<<1, 64, 64 * sizeof(T)>>>(zeros<T>(), 64);
}
CASE_OF_EACH_SIZE(past_dynamic, "out-of-bounds-shared",
                  {"dynamic shared memory[63]", "1 element past the end"}, {{"writes", 63}}) {
  dynamic<<<1, 64, 63 * sizeof(T)>>>(zeros<T>(), 64);
}
CASE_OF_EACH_SIZE(uninitialised_dynamic, "uninitialised-shared",
                  {"dynamic shared memory[63]", "which no thread of the block has written"},
                  {{"reads", 0}}) {
  dynamic<<<1, 64, 64 * sizeof(T)>>>(zeros<T>(), 63);
}

// In static shared memory the compiler knows that the address is not aligned, and asks for less.
template <typename T>
__global__ void misplaced(T* y, int offset) {
  extern __shared__ __align__(16) unsigned char memory[];
  memory[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x == 0) y[0] = *reinterpret_cast<const T*>(memory + offset);  // here
}
CASE_OF_EACH_SIZE(aligned_in_shared, "") {
  misplaced<<<1, 64, 64>>>(zeros<T>(), sizeof(T));
}
CASE(misaligned_in_shared_2, "misaligned", {"an address that 2 divides"}, {{"here", 0}}) {
  misplaced<<<1, 64, 64>>>(zeros<__half>(), 1);
}
CASE(misaligned_in_shared_4, "misaligned", {"an address that 4 divides"}, {{"here", 0}}) {
  misplaced<<<1, 64, 64>>>(zeros<float>(), 2);
}
CASE(misaligned_in_shared_8, "misaligned", {"an address that 8 divides"}, {{"here", 0}}) {
  misplaced<<<1, 64, 64>>>(zeros<float2>(), 4);
}
CASE(misaligned_in_shared_16, "misaligned", {"an address that 16 divides"}, {{"here", 0}}) {
  misplaced<<<1, 64, 64>>>(zeros<float4>(), 8);
}
struct alignas(64) Sixteen {
  float values[16];
};
CASE(misaligned_structure_in_shared, "misaligned",
     {"Reads 64 bytes at an address that is 8 past a multiple of 64"}, {{"here", 0}}) {
  misplaced<<<1, 128, 128>>>(zeros<Sixteen>(), 8);
}
CASE(aligned_structure_in_shared, "") {
  misplaced<<<1, 128, 128>>>(zeros<Sixteen>(), 64);
}

}  // namespace
