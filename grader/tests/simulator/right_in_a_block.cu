// Right kernels of the sorts that people write, which must not be accused of anything: the threads
// of a block work together through shared memory.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <cassert>

#include "tests/simulator/case_kernels.h"

namespace {

namespace cg = cooperative_groups;

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
  double_buffer<<<1, 128>>>(zeros<float>(1), zeros<float>(), 8);
}

/// Sums up to each element; the two halves of the array change their roles.
__global__ void inclusive_scan(float* x) {
  __shared__ float buffer[2][100];
  const int i = threadIdx.x;
  int from = 0;
  buffer[from][i] = x[i];
  __syncthreads();
  for (int d = 1; d < 100; d *= 2) {
    buffer[1 - from][i] = buffer[from][i] + (i >= d ? buffer[from][i - d] : 0);
    from = 1 - from;
    __syncthreads();
  }
  x[i] = buffer[from][i];
}
CASE(ping_pong_buffers, "") {
  inclusive_scan<<<1, 100>>>(zeros<float>());
}

template <typename T>
__global__ void transpose(const T* x, T* y) {
  __shared__ T tile[32][33];
  for (int row = threadIdx.y; row < 32; row += 8)
    tile[row][threadIdx.x] = x[row * 32 + threadIdx.x];
  __syncthreads();
  for (int row = threadIdx.y; row < 32; row += 8)
    y[row * 32 + threadIdx.x] = tile[threadIdx.x][row];
}
CASE_OF_EACH_SIZE(padded_tile, "") {
  transpose<<<1, dim3(32, 8)>>>(zeros<T>(1), zeros<T>());
}

__global__ void multiply_tiles(const float* a, const float* b, float* c) {
  __shared__ float as[8][8], bs[8][8 + 1];
  const int row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 8 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 32; k += 8) {
    as[threadIdx.y][threadIdx.x] = a[row * 32 + k + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * 32 + col];
    __syncthreads();
    for (int j = 0; j < 8; ++j) sum += as[threadIdx.y][j] * bs[j][threadIdx.x];
    __syncthreads();
  }
  c[row * 32 + col] = sum;
}
CASE(matrix_product_in_tiles, "") {
  multiply_tiles<<<dim3(4, 4), dim3(8, 8)>>>(zeros<float>(1), zeros<float>(2), zeros<float>());
}

/// The last warp goes on alone, and needs no barrier of the block.
__global__ void sum_by_tree(const float* x, float* y) {
  __shared__ float s[256];
  const unsigned i = threadIdx.x;
  s[i] = x[i] + x[i + 256];
  __syncthreads();
  for (unsigned d = 128; d >= 32; d /= 2) {
    if (i < d) s[i] += s[i + d];
    __syncthreads();
  }
  if (i < 32) {
    for (unsigned d = 16; d > 0; d /= 2) {
      const float other = s[i + d];
      __syncwarp();
      s[i] += other;
      __syncwarp();
    }
  }
  if (i == 0) y[0] = s[0];
}
CASE(warp_synchronous_tree, "") {
  sum_by_tree<<<1, 256>>>(zeros<float>(1), zeros<float>());
}

__global__ void tiles_through_shared(float* y) {
  __shared__ float s[64];
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  float* mine = s + threadIdx.x / 8 * 8;
  for (int round = 0; round < 3 + static_cast<int>(tile.meta_group_rank()); ++round) {
    mine[tile.thread_rank()] = round;
    tile.sync();
    y[threadIdx.x] += mine[7 - tile.thread_rank()];
    tile.sync();
  }
  cg::this_thread_block().sync();
  y[threadIdx.x] += cg::reduce(tile, s[63 - threadIdx.x], cg::plus<float>());
}
CASE(cooperative_tiles_through_shared, "") {
  tiles_through_shared<<<1, 64>>>(zeros<float>());
}

/// Half of the lanes exchange through shared memory in a branch of their own.
__global__ void lanes_in_a_branch(float* y) {
  __shared__ float s[32];
  const unsigned lane = threadIdx.x;
  if (lane % 2 == 0) {
    s[lane] = lane;
    __syncwarp(0x55555555u);
    y[lane] = s[lane ^ 2];
  } else {
    s[lane] = lane;
    __syncwarp(0xaaaaaaaau);
    y[lane] = s[lane ^ 2];
  }
}
CASE(masks_of_even_and_odd_lanes, "") {
  lanes_in_a_branch<<<1, 32>>>(zeros<float>());
}

/// What a block of any size needs: a sum in all threads, again and again.
__device__ float sum_of_block(float value) {
  __shared__ float partial[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int d = 16; d > 0; d /= 2) value += __shfl_down_sync(~0u, value, d);
  __syncthreads();  // the slots may still be read from the last time
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  float total = 0;
  for (unsigned w = 0; w < blockDim.x / 32; ++w) total += partial[w];
  return total;
}
__global__ void normalise_rows(float* x, int rows, int cols) {
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    float sum = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += x[row * cols + c];
    const float mean = sum_of_block(sum) / cols;
    float squares = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
      squares += (x[row * cols + c] - mean) * (x[row * cols + c] - mean);
    }
    const float rstd = rsqrtf(sum_of_block(squares) / cols + 1e-5f);
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
      x[row * cols + c] = (x[row * cols + c] - mean) * rstd;
    }
  }
}
CASE(two_sums_a_row_in_place, "") {
  normalise_rows<<<3, 96>>>(zeros<float>(), 10, 251);
}

/// One shared buffer for three purposes, one after the other.
__global__ void one_buffer_for_all(const float* x, float* y) {
  extern __shared__ __align__(16) unsigned char memory[];
  const unsigned i = threadIdx.x;
  float4* vectors = reinterpret_cast<float4*>(memory);
  vectors[i] = reinterpret_cast<const float4*>(x)[i];
  __syncthreads();
  const float mine = reinterpret_cast<float*>(memory)[(i * 7) % 128];
  __syncthreads();
  __half* halves = reinterpret_cast<__half*>(memory);
  for (unsigned k = i; k < 256; k += 32) halves[k] = static_cast<__half>(mine);
  __syncthreads();
  const float other = static_cast<float>(halves[255 - i]);
  __syncthreads();
  memory[i] = static_cast<unsigned char>(i);
  __syncthreads();
  y[i] = mine + other + memory[31 - i];
}
CASE(buffer_of_several_types, "") {
  one_buffer_for_all<<<1, 32, 512>>>(zeros<float>(1), zeros<float>());
}

__global__ void neighbours_of_all_sizes(float* y) {
  __shared__ struct {
    char byte, other_byte;
    short pair;
    float single;
    float2 two;
    float4 four;
    char tail[32];
  } s;
  const unsigned i = threadIdx.x;  // each member has a thread of its own
  if (i == 0) s.byte = 1;
  if (i == 32) s.other_byte = 2;
  if (i == 1) s.pair = 3;
  if (i == 33) s.single = 4;
  if (i == 2) s.two = {5, 6};
  if (i == 34) s.four = {7, 8, 9, 10};
  if (i >= 64) s.tail[i - 64] = 11;
  __syncthreads();
  y[threadIdx.x] = s.byte + s.other_byte + s.pair + s.single + s.two.y + s.four.w + s.tail[5];
}
CASE(members_of_a_structure, "") {
  neighbours_of_all_sizes<<<1, 96>>>(zeros<float>());
}

__global__ void histogram(const unsigned char* x, unsigned* counts, int n) {
  __shared__ unsigned bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&bins[x[i] % 16], 1u);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&counts[threadIdx.x], bins[threadIdx.x]);
}
CASE(shared_histogram, "") {
  histogram<<<4, 128>>>(zeros<unsigned char>(1), zeros<unsigned>(), 1000);
}

__global__ void stencil(const float* x, float* y, int n) {
  __shared__ float s[64 + 2];
  const int i = blockIdx.x * 64 + threadIdx.x;
  s[threadIdx.x + 1] = i < n ? x[i] : 0;
  if (threadIdx.x == 0) s[0] = i > 0 ? x[i - 1] : 0;
  if (threadIdx.x == 63) s[65] = i + 1 < n ? x[i + 1] : 0;
  __syncthreads();
  if (i >= n) return;
  y[i] = s[threadIdx.x] + s[threadIdx.x + 1] + s[threadIdx.x + 2];
}
CASE(stencil_with_halo, "") {
  stencil<<<4, 64>>>(zeros<float>(1), zeros<float>(), 200);
}

__global__ void bitonic_sort(int* x) {
  __shared__ int s[128];
  const unsigned i = threadIdx.x;
  s[i] = x[i];
  __syncthreads();
  for (unsigned size = 2; size <= 128; size *= 2) {
    for (unsigned d = size / 2; d > 0; d /= 2) {
      const unsigned j = i ^ d;
      if (j > i && (s[i] > s[j]) == ((i & size) == 0)) {
        const int swapped = s[i];
        s[i] = s[j];
        s[j] = swapped;
      }
      __syncthreads();
    }
  }
  x[i] = s[i];
}
CASE(bitonic_sort_in_shared, "") {
  int host[128];
  for (int i = 0; i < 128; ++i) host[i] = i * 37 % 128;
  int* x = zeros<int>();
  cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
  bitonic_sort<<<1, 128>>>(x);
  cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 128; ++i) assert(host[i] == i);
}

/// One warp fills what the others use, two rounds ahead of nobody.
__global__ void producer_and_consumers(const float* x, float* y) {
  __shared__ float tile[32];
  for (int round = 0; round < 4; ++round) {
    if (threadIdx.x < 32) tile[threadIdx.x] = x[round * 32 + threadIdx.x];
    __syncthreads();
    if (threadIdx.x >= 32) y[threadIdx.x] += tile[threadIdx.x % 32];
    __syncthreads();
  }
}
CASE(warps_of_different_roles, "") {
  producer_and_consumers<<<1, 128>>>(zeros<float>(1), zeros<float>());
}

/// A flag in shared memory, raised by one warp, awaited by another.
__global__ void flag_within_block(float* y) {
  __shared__ float value;
  __shared__ int ready;
  if (threadIdx.x == 0) ready = 0;
  __syncthreads();
  if (threadIdx.x == 32) {
    value = 7;
    __threadfence_block();
    atomicExch(&ready, 1);
  }
  if (threadIdx.x == 0) {
    while (atomicAdd(&ready, 0) == 0) {
    }
    __threadfence_block();
    y[0] = value;
  }
}
CASE(flag_in_shared, "") {
  flag_within_block<<<1, 64>>>(zeros<float>());
}

/// The lanes whose predicate holds add with one atomic, and each learns its place.
__global__ void warp_aggregated(int* count, int* places) {
  const unsigned lane = threadIdx.x % 32;
  if (threadIdx.x % 3 == 0) {
    const unsigned active = __activemask();
    const int leader = __ffs(active) - 1;
    int first = 0;
    if (static_cast<int>(lane) == leader) first = atomicAdd(count, __popc(active));
    first = __shfl_sync(active, first, leader);
    places[first + __popc(active & ((1u << lane) - 1))] = threadIdx.x;
  }
}
CASE(warp_aggregated_atomics, "") {
  warp_aggregated<<<1, 96>>>(zeros<int>(1), zeros<int>());
}

__global__ void odd_block(float* y) {
  __shared__ float s[7][5][3];
  s[threadIdx.x][threadIdx.y][threadIdx.z] = threadIdx.x;
  __syncthreads();
  y[(threadIdx.x * 5 + threadIdx.y) * 3 + threadIdx.z] =
      s[6 - threadIdx.x][4 - threadIdx.y][2 - threadIdx.z];
}
CASE(block_of_three_dimensions, "") {
  odd_block<<<1, dim3(7, 5, 3)>>>(zeros<float>());
}

}  // namespace
