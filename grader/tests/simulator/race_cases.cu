// Races in shared and global memory, and right kernels that must not be accused of one.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "tests/simulator/cases.h"

namespace {

constexpr int kBytes = 1 << 16;

template <typename T>
T* zeros() {
  static T* memory = nullptr;
  if (memory == nullptr) cudaMalloc(&memory, kBytes);
  cudaMemset(memory, 0, kBytes);
  return memory;
}

// ---- Shared memory, within a block

template <typename T>
__global__ void tree(T* y, bool barrier) {
  __shared__ T s[256];
  const unsigned i = threadIdx.x;
  s[i] = y[i];
  __syncthreads();
  for (unsigned d = 128; d > 0; d /= 2) {
    if (i < d) s[i] = s[i + d];  // here
    if (barrier) __syncthreads();
  }
  if (i == 0) y[0] = s[0];
}
CASE(tree_with_barriers, "") {
  tree<<<1, 256>>>(zeros<float>(), true);
}
CASE(tree_without_1, "shared-race") {
  tree<<<1, 256>>>(zeros<char>(), false);
}
CASE(tree_without_2, "shared-race") {
  tree<<<1, 256>>>(zeros<__half>(), false);
}
CASE(tree_without_4, "shared-race") {
  tree<<<1, 256>>>(zeros<float>(), false);
}
CASE(tree_without_8, "shared-race") {
  tree<<<1, 256>>>(zeros<float2>(), false);
}
CASE(tree_without_16, "shared-race") {
  tree<<<1, 256>>>(zeros<float4>(), false);
}

__global__ void reuse(float* y, bool barrier) {
  __shared__ float s;
  for (int round = 0; round < 3; ++round) {
    if (threadIdx.x == 0) s = round;  // here
    __syncthreads();
    y[threadIdx.x] += s;
    if (barrier) __syncthreads();
  }
}
CASE(reuse_after_barrier, "") {
  reuse<<<1, 64>>>(zeros<float>(), true);
}
CASE(reuse_at_once, "shared-race") {
  reuse<<<1, 64>>>(zeros<float>(), false);
}

__global__ void neighbours_in_warp(float* y, bool barrier) {
  __shared__ float s[64];
  s[threadIdx.x] = y[threadIdx.x];
  if (barrier) __syncwarp();
  y[threadIdx.x] = s[threadIdx.x ^ 1];  // here
}
CASE(warp_with_syncwarp, "") {
  neighbours_in_warp<<<1, 64>>>(zeros<float>(), true);
}
CASE(warp_without_syncwarp, "shared-race") {
  neighbours_in_warp<<<1, 64>>>(zeros<float>(), false);
}

__global__ void half_of_warp(float* y) {
  __shared__ float s[32];
  s[threadIdx.x] = y[threadIdx.x];
  __syncwarp();
  if (threadIdx.x < 16) {
    s[threadIdx.x] += s[threadIdx.x + 16];
    __syncwarp(0xffff);
    y[threadIdx.x] = s[15 - threadIdx.x];
  }
}
CASE(partial_mask, "") {
  half_of_warp<<<1, 32>>>(zeros<float>());
}

__global__ void many_syncwarps(float* y) {
  __shared__ float s[64];
  for (int i = 0; i < 600; ++i) {
    s[threadIdx.x] = i;
    __syncwarp();
    y[threadIdx.x] += s[threadIdx.x ^ 1];
    __syncwarp();
  }
}
CASE(hundreds_of_syncwarps, "") {
  many_syncwarps<<<1, 64>>>(zeros<float>());
}

__global__ void double_buffer(const float* x, float* y, int n) {
  __shared__ float tile[2][128];
  tile[0][threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < n; ++k) {
    if (k + 1 < n) tile[(k + 1) & 1][threadIdx.x] = x[(k + 1) * 128 + threadIdx.x];
    sum += tile[k & 1][127 - threadIdx.x];
    __syncthreads();
  }
  y[threadIdx.x] = sum;
}
CASE(double_buffering, "") {
  double_buffer<<<1, 128>>>(zeros<float>(), zeros<float>() + 8192, 8);
}

__global__ void transpose(const float* x, float* y) {
  __shared__ float tile[32][33];
  for (int row = threadIdx.y; row < 32; row += 8)
    tile[row][threadIdx.x] = x[row * 32 + threadIdx.x];
  __syncthreads();
  for (int row = threadIdx.y; row < 32; row += 8)
    y[row * 32 + threadIdx.x] = tile[threadIdx.x][row];
}
CASE(padded_tile, "") {
  transpose<<<1, dim3(32, 8)>>>(zeros<float>(), zeros<float>() + 4096);
}

// ---- Atomics

__global__ void histogram(int* y) {
  __shared__ int count[4];
  if (threadIdx.x < 4) count[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&count[threadIdx.x % 4], 1);
  __syncthreads();
  if (threadIdx.x < 4) atomicAdd(&y[threadIdx.x], count[threadIdx.x]);
}
CASE(atomics_everywhere, "") {
  histogram<<<4, 128>>>(zeros<int>());
}

__global__ void atomic_after_store(float* y) {
  __shared__ float sum;
  if (threadIdx.x == 0) sum = 0;
  atomicAdd(&sum, 1.0f);  // here
  __syncthreads();
  if (threadIdx.x == 0) y[0] = sum;
}
CASE(atomic_without_barrier, "shared-race") {
  atomic_after_store<<<1, 64>>>(zeros<float>());
}

// ---- Global memory

template <typename T>
__global__ void shift(T* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = x[i + 1];  // here
}
CASE(in_place_neighbour_1, "global-race") {
  shift<<<2, 64>>>(zeros<char>());
}
CASE(in_place_neighbour_2, "global-race") {
  shift<<<2, 64>>>(zeros<__half>());
}
CASE(in_place_neighbour_4, "global-race") {
  shift<<<2, 64>>>(zeros<float>());
}
CASE(in_place_neighbour_8, "global-race") {
  shift<<<2, 64>>>(zeros<float2>());
}
CASE(in_place_neighbour_16, "global-race") {
  shift<<<2, 64>>>(zeros<float4>());
}

template <typename T>
__global__ void rotate_pairs(T* x) {
  T* pair = x + 2 * (blockIdx.x * blockDim.x + threadIdx.x);
  const T first = pair[0];
  pair[0] = pair[1];
  pair[1] = first;
}
CASE(in_place_pairs_1, "") {
  rotate_pairs<<<2, 64>>>(zeros<char>());
}
CASE(in_place_pairs_2, "") {
  rotate_pairs<<<2, 64>>>(zeros<__half>());
}
CASE(in_place_pairs_4, "") {
  rotate_pairs<<<2, 64>>>(zeros<float>());
}
CASE(in_place_pairs_16, "") {
  rotate_pairs<<<2, 64>>>(zeros<float4>());
}

__global__ void bytes_of_words(unsigned* words) {
  words[threadIdx.x] = 1;
  __syncthreads();
  reinterpret_cast<unsigned char*>(words)[threadIdx.x] = 2;
}
CASE(words_then_bytes, "") {
  bytes_of_words<<<1, 256>>>(zeros<unsigned>());
}

__global__ void column_sums(float* partial, float* sum, int* count, bool fence) {
  __shared__ bool is_last;
  partial[blockIdx.x * 32 + threadIdx.x] = 1;
  if (fence) __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(count, 1) == static_cast<int>(gridDim.x) - 1;
  __syncthreads();
  if (!is_last) return;
  if (fence) __threadfence();
  float total = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) total += partial[b * 32 + threadIdx.x];  // here
  sum[threadIdx.x] = total;
}
CASE(last_block_with_fence, "") {
  column_sums<<<8, 32>>>(zeros<float>(), zeros<float>() + 8192, zeros<int>(), true);
}
CASE(last_block_without_fence, "global-race") {
  column_sums<<<8, 32>>>(zeros<float>(), zeros<float>() + 8192, zeros<int>(), false);
}

__global__ void add_under_lock(int* lock, float* group, bool release) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
  }
  __syncthreads();
  group[threadIdx.x] += 1;  // here
  __syncthreads();
  if (threadIdx.x == 0) {
    if (release) __threadfence();
    atomicExch(lock, 0);
  }
}
CASE(groups_under_a_lock, "") {
  add_under_lock<<<8, 64>>>(zeros<int>(), zeros<float>(), true);
}

__global__ void unguarded(float* y) {
  y[threadIdx.x] += 1;  // here
}
CASE(blocks_add_without_lock, "global-race") {
  unguarded<<<4, 32>>>(zeros<float>());
}

__global__ void next_launch(float* y) {
  y[63 - threadIdx.x] += y[63 - threadIdx.x];
}
CASE(launches_are_ordered, "") {
  float* y = zeros<float>();
  for (int i = 0; i < 300; ++i) {
    unguarded<<<1, 64>>>(y);
    next_launch<<<1, 64>>>(y);
  }
}

}  // namespace
