// Right: lanes that have no row have left, and a mask may name them: they are waited for no more, and nobody
// reads theirs.

// Exercise 1.1: of narrow rows a warp has four, with eight lanes each.
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 256;
constexpr int kNarrow = 256;  // columns, up to which a row is narrow

/// The sum over kLanes neighbouring lanes of a warp, in each of them.
template <int kLanes>
__device__ inline float lanes_sum(float value) {
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset, kLanes);
  }
  return value;
}

template <typename T>
__global__ void narrow_kernel(const T* x, int64_t x_stride, float* sums, int rows, int cols) {
  constexpr int kLanes = 8;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * (kThreads / kLanes) + threadIdx.x / kLanes;
  const int lane = threadIdx.x % kLanes;
  if (row >= rows) {
    return;
  }
  const T* x_row = x + row * x_stride;
  float share = 0.0f;
  for (int col = lane; col < cols; col += kLanes) {
    share += static_cast<float>(x_row[col]);
  }
  share = lanes_sum<kLanes>(share);
  if (lane == 0) {
    sums[row] = share;
  }
}

template <typename T>
__global__ void wide_kernel(const T* x, int64_t x_stride, float* sums, int cols) {
  __shared__ float partial[kThreads / 32];
  const int64_t row = blockIdx.x;
  const T* x_row = x + row * x_stride;
  float share = 0.0f;
#pragma unroll 4
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    share += static_cast<float>(x_row[col]);
  }
  share = lanes_sum<32>(share);
  if (threadIdx.x % 32 == 0) {
    partial[threadIdx.x / 32] = share;
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    share = lanes_sum<32>(threadIdx.x < kThreads / 32 ? partial[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) {
      sums[row] = share;
    }
  }
}

template <typename T>
void block_sum(const T* x, int64_t x_stride, float* sums, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  if (cols <= kNarrow) {
    const unsigned blocks = (static_cast<unsigned>(rows) + kThreads / 8 - 1) / (kThreads / 8);
    narrow_kernel<<<blocks, kThreads, 0, stream>>>(x, x_stride, sums, rows, cols);
  } else {
    wide_kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, sums, cols);
  }
}

}  // namespace onepass
