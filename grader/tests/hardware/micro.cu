// Kernels with one pattern of accesses each. What a warp asks of memory can be counted by hand in
// every one of them; compare.sh runs them on a GPU and in the simulator.
//
// x and y hold at least 2^17 floats each, and as many as there are threads.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace micro {

constexpr int kThreads = 256;

__device__ inline int index() {
  return blockIdx.x * blockDim.x + threadIdx.x;
}

// ---- Global memory, reading

__global__ void contiguous(const float* x, float* y) {
  y[index()] = x[index()] + 1;
}
__global__ void reversed(const float* x, float* y) {
  y[index()] = x[gridDim.x * blockDim.x - 1 - index()] + 1;
}
__global__ void permuted(const float* x, float* y) {
  y[index()] = x[index() ^ 21] + 1;
}
__global__ void misaligned(const float* x, float* y) {
  y[index()] = x[index() + 1] + 1;
}
__global__ void strided_2(const float* x, float* y) {
  y[index()] = x[2 * index()] + 1;
}
__global__ void strided_32(const float* x, float* y) {
  y[index()] = x[32 * index()] + 1;
}
__global__ void broadcast(const float* x, float* y) {
  y[index()] = x[blockIdx.x] + 1;
}
__global__ void bytes_1(const float* x, float* y) {
  y[index()] = reinterpret_cast<const unsigned char*>(x)[index()];
}
__global__ void bytes_2(const float* x, float* y) {
  reinterpret_cast<__half*>(y)[index()] =
      __float2half(2 * __half2float(reinterpret_cast<const __half*>(x)[index()]));
}
__global__ void bytes_8(const float* x, float* y) {
  const float2 value = reinterpret_cast<const float2*>(x)[index()];
  y[index()] = value.x + value.y;
}
__global__ void bytes_16(const float* x, float* y) {
  float4 value = reinterpret_cast<const float4*>(x)[index()];
  value.x += value.w;
  reinterpret_cast<float4*>(y)[index()] = value;
}
/// Eight neighbouring elements a thread: tidy in the source, 32 sectors a request.
__global__ void own_eight(const float* x, float* y) {
  float sum = 0;
  for (int i = 0; i < 8; ++i) {
    sum += x[8 * index() + i] * static_cast<float>(i + 1);
    y[8 * index() + i] = sum;
  }
}

// ---- Lanes that do not all take part

__global__ void tail(const float* x, float* y) {
  if (index() < 1000) y[index()] = x[index()] + 1;
}
__global__ void odd_lanes(const float* x, float* y) {
  if (threadIdx.x % 2 == 1) y[index()] = x[index()] + 1;
}
__global__ void divergent_loop(const float* x, float* y) {
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < static_cast<int>(threadIdx.x % 32); ++i) sum += x[i * 32 + threadIdx.x % 32];
  y[index()] = sum;
}
/// The same, unrolled by nvcc: four steps at a time, and what is left over step by step. So lanes
/// are at different steps in what is left over.
__global__ void divergent_unrolled(const float* x, float* y) {
  float sum = 0;
#pragma unroll 4
  for (int i = 0; i < static_cast<int>(threadIdx.x % 32); ++i) sum += x[i * 32 + threadIdx.x % 32];
  y[index()] = sum;
}
/// The inner loops of the lanes differ in length: lanes meet again after each of them.
__global__ void divergent_nested(const float* x, float* y) {
  float sum = 0;
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < static_cast<int>(threadIdx.x + i) % 3; ++j) {
      sum += x[(i * 4 + j) * 1024 + index()];
    }
    __syncwarp();
  }
  y[index()] = sum;
}

/// More iterations than one lane may run ahead of its warp in the simulator.
__global__ void long_loop(const float* x, float* y) {
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < 1000; ++i) sum += x[i * 32 + threadIdx.x % 32];
  y[index()] = sum;
}
/// One lane works alone, the others have returned.
__global__ void one_lane(const float* x, float* y) {
  if (threadIdx.x % 32 != 0) return;
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < 1000; ++i) sum += x[i * 32];
  y[index()] = sum;
}
/// The halves of a warp exchange values by themselves.
__global__ void half_warps(const float* x, float* y) {
  const unsigned half = threadIdx.x % 32 < 16 ? 0x0000ffffu : 0xffff0000u;
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < 4; ++i) {
    sum += x[i * 4096 + index()];
    sum += __shfl_xor_sync(half, sum, 1, 16);
  }
  y[index()] = sum;
}
/// Rows of different lengths, a warp each.
__global__ void ragged_rows(const float* x, float* y) {
  const int row = index() / 32, lane = threadIdx.x % 32;
  float sum = 0;
#pragma unroll 1
  for (int i = lane; i < 37 * (row + 1); i += 32) sum += x[row * 1003 + i];
  y[index()] = sum;
}

// ---- Writing

__global__ void read_modify_write(const float* x, float* y) {
  y[index()] += x[index()];
}
__global__ void strided_store(const float* x, float* y) {
  y[32 * index()] = x[index()] + 1;
}
/// nvcc keeps y[index()] in a register between the additions and may store it once.
__global__ void kept_in_register(const float* x, float* y) {
  for (int i = 0; i < 8; ++i) y[index()] += x[i * 4096 + index()];
}
__global__ void atomic_own(const float* x, float* y) {
  atomicAdd(&y[index()], x[index()]);
}
__global__ void atomic_pairs(const float* x, float* y) {
  atomicAdd(&y[index() / 2], x[index()]);
}
__global__ void atomic_eight(const float* x, float* y) {
  atomicAdd(&y[index() % 8], x[index()]);
}
__global__ void atomic_same(const float* x, float* y) {
  atomicAdd(&y[blockIdx.x], x[index()]);
}
__global__ void atomic_strided(const float* x, float* y) {
  atomicAdd(&y[8 * index()], x[index()]);
}
/// The old value is used: the GPU must answer.
__global__ void atomic_answered(const float* x, float* y) {
  y[4096 + index()] = atomicAdd(&y[index() / 4], x[index()]);
}

// ---- Shared memory

template <int kCols>
__device__ void transpose(const float* x, float* y) {
  __shared__ float tile[32][kCols];
  const int col = threadIdx.x % 32;
  for (int row = threadIdx.x / 32; row < 32; row += kThreads / 32) {
    tile[row][col] = x[blockIdx.x * 1024 + row * 32 + col];
  }
  __syncthreads();
  for (int row = threadIdx.x / 32; row < 32; row += kThreads / 32) {
    y[blockIdx.x * 1024 + row * 32 + col] = tile[col][row];
  }
}
__global__ void tile_padded(const float* x, float* y) {
  transpose<33>(x, y);
}
__global__ void tile_unpadded(const float* x, float* y) {
  transpose<32>(x, y);
}

/// Writes element `write` and reads element `read` of a shared array of T.
template <typename T>
__device__ T through_shared(const float* x, int write, int read) {
  __shared__ T s[2 * kThreads];
  s[write] = reinterpret_cast<const T*>(x)[index()];
  __syncthreads();
  return s[read];
}
__global__ void shared_stride_2(const float* x, float* y) {
  const int i = threadIdx.x;
  y[index()] = through_shared<float>(x, 2 * i, 2 * (i ^ 1));
}
__global__ void shared_bytes_2(const float* x, float* y) {
  const int i = threadIdx.x;
  reinterpret_cast<__half*>(y)[index()] = through_shared<__half>(x, i, i ^ 1);
}
__global__ void shared_bytes_8(const float* x, float* y) {
  const int i = threadIdx.x;
  reinterpret_cast<float2*>(y)[index()] = through_shared<float2>(x, i, i ^ 1);
}
__global__ void shared_bytes_16(const float* x, float* y) {
  const int i = threadIdx.x;
  reinterpret_cast<float4*>(y)[index()] = through_shared<float4>(x, i, i ^ 1);
}
__global__ void shared_broadcast_8(const float* x, float* y) {
  const int i = threadIdx.x;
  reinterpret_cast<float2*>(y)[index()] = through_shared<float2>(x, i, i / 32);
}
__global__ void shared_pairs_8(const float* x, float* y) {
  const int i = threadIdx.x;
  reinterpret_cast<float2*>(y)[index()] = through_shared<float2>(x, i, i / 2);
}
__global__ void shared_halves_8(const float* x, float* y) {
  const int i = threadIdx.x;
  reinterpret_cast<float2*>(y)[index()] = through_shared<float2>(x, i, i % 16);
}
__global__ void shared_broadcast_16(const float* x, float* y) {
  const int i = threadIdx.x;
  reinterpret_cast<float4*>(y)[index()] = through_shared<float4>(x, i, i / 32);
}
__global__ void shared_fours_16(const float* x, float* y) {
  const int i = threadIdx.x;
  reinterpret_cast<float4*>(y)[index()] = through_shared<float4>(x, i, i / 4);
}
__global__ void shared_eights_16(const float* x, float* y) {
  const int i = threadIdx.x;
  reinterpret_cast<float4*>(y)[index()] = through_shared<float4>(x, i, i % 8);
}
__global__ void shared_pairs_16(const float* x, float* y) {
  const int i = threadIdx.x;
  reinterpret_cast<float4*>(y)[index()] = through_shared<float4>(x, i, i / 2);
}
/// Eight lanes take part, of four quarters of the warp: two each.
__global__ void shared_few_16(const float* x, float* y) {
  __shared__ float4 s[kThreads];
  const int i = threadIdx.x;
  s[i] = reinterpret_cast<const float4*>(x)[index()];
  __syncthreads();
  if (i % 4 == 0) reinterpret_cast<float4*>(y)[index()] = s[i / 4];
}
/// Lanes i and i ^ 2 want the same.
__global__ void shared_twos_8(const float* x, float* y) {
  const int i = threadIdx.x;
  reinterpret_cast<float2*>(y)[index()] = through_shared<float2>(x, i, i / 4 * 2 + i % 2);
}
__global__ void shared_twos_16(const float* x, float* y) {
  const int i = threadIdx.x;
  reinterpret_cast<float4*>(y)[index()] = through_shared<float4>(x, i, i / 4 * 2 + i % 2);
}
/// Every second lane stores.
__global__ void shared_store_few_8(const float* x, float* y) {
  __shared__ float2 s[kThreads];
  const int i = threadIdx.x;
  if (i % 2 == 0) s[i / 2] = reinterpret_cast<const float2*>(x)[index()];
  __syncthreads();
  reinterpret_cast<float2*>(y)[index()] = s[i % 128];
}
__global__ void shared_store_few_16(const float* x, float* y) {
  __shared__ float4 s[kThreads];
  const int i = threadIdx.x;
  if (i % 2 == 0) s[i / 2] = reinterpret_cast<const float4*>(x)[index()];
  __syncthreads();
  reinterpret_cast<float4*>(y)[index()] = s[i % 128];
}
__global__ void shared_few_8(const float* x, float* y) {
  __shared__ float2 s[kThreads];
  const int i = threadIdx.x;
  s[i] = reinterpret_cast<const float2*>(x)[index()];
  __syncthreads();
  if (i % 2 == 0) reinterpret_cast<float2*>(y)[index()] = s[i / 2];
}
__global__ void shared_stride_2_bytes_8(const float* x, float* y) {
  const int i = threadIdx.x;
  reinterpret_cast<float2*>(y)[index()] = through_shared<float2>(x, 2 * i, 2 * (i ^ 1));
}
/// A reduction in shared memory: fewer lanes at each step.
__global__ void shared_tree(const float* x, float* y) {
  __shared__ float s[kThreads];
  const int i = threadIdx.x;
  s[i] = x[index()];
  __syncthreads();
  for (int step = kThreads / 2; step > 0; step /= 2) {
    if (i < step) s[i] += s[i + step];
    __syncthreads();
  }
  if (i == 0) y[blockIdx.x] = s[0];
}

// ---- Many blocks

/// Shared memory alone: nothing else uses the memory that it shares with the first-level cache.
__global__ void big_shared(const float*, float* y) {
  __shared__ float s[kThreads];
  const int i = threadIdx.x;
  s[i] = static_cast<float>(i);
  __syncthreads();
  float sum = 0;
  for (int step = 0; step < 8; ++step) sum += s[(i + 32 * step) % kThreads];
  if (sum < 0) y[index()] = sum;  // never
}
/// The same, while global memory is read.
__global__ void big_shared_beside_loads(const float* x, float* y) {
  __shared__ float s[kThreads];
  const int i = threadIdx.x;
  s[i] = static_cast<float>(i);
  __syncthreads();
  float sum = 0;
  for (int step = 0; step < 8; ++step) {
    sum += s[(i + 32 * step) % kThreads] + x[(index() + step * 4096) % (1 << 24)];
  }
  if (sum < 0) y[index()] = sum;  // never
}
/// More than a cache holds.
__global__ void big_copy(const float* x, float* y) {
  y[index()] = x[index()];
}

using Kernel = void (*)(const float* x, float* y);

inline void run(Kernel kernel, const float* x, float* y, int blocks, cudaStream_t stream) {
  kernel<<<blocks, kThreads, 0, stream>>>(x, y);
}

}  // namespace micro
