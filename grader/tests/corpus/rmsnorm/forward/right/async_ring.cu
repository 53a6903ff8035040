// Right: a row comes in tiles through a ring of four slots in shared memory, by asynchronous copies
// of 16 bytes, three tiles ahead of the one that is used. Both walks over the row are one way round
// the ring, so that the second walk's first tiles are under way while the block adds up. Rows that
// are not aligned for that come by plain stores into the same slots.

#include <cuda_pipeline.h>
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 256;
constexpr int kStages = 4;

/// Columns of a tile: 16 bytes a thread.
template <typename T>
constexpr int kTile = kThreads * 16 / static_cast<int>(sizeof(T));

/// Begins to fetch the tile that starts at column `first`.
template <typename T, bool kAligned>
__device__ void fetch(T* slot, const T* x_row, int first, int cols) {
  if (kAligned) {
    const int i = threadIdx.x * (16 / sizeof(T));
    if (first + i < cols) {
      __pipeline_memcpy_async(slot + i, x_row + first + i, 16);
    }
  } else {
    for (int i = threadIdx.x; i < kTile<T> && first + i < cols; i += kThreads) {
      slot[i] = x_row[first + i];
    }
  }
}

__device__ float over_block(float value) {
  __shared__ float slots[kThreads / 32];
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  if (threadIdx.x % 32 == 0) {
    slots[threadIdx.x / 32] = value;
  }
  __syncthreads();
  value = 0.0f;
  for (int warp = 0; warp < kThreads / 32; ++warp) {
    value += slots[warp];
  }
  return value;
}

template <typename T, bool kAligned>
__global__ void forward_kernel(const T* x, int64_t x_stride, const T* weight, T* y,
                               int64_t y_stride, float* rstd, int cols, float eps) {
  __shared__ __align__(16) T slots[kStages][kTile<T>];
  const int64_t row = blockIdx.x;
  const T* x_row = x + row * x_stride;
  T* y_row = y + row * y_stride;
  const int tiles = (cols + kTile<T> - 1) / kTile<T>;
  const int steps = 2 * tiles;  // of two walks
  for (int step = 0; step < kStages - 1; ++step) {
    if (step < steps) {
      fetch<T, kAligned>(slots[step], x_row, step % tiles * kTile<T>, cols);
    }
    __pipeline_commit();
  }
  float squares = 0.0f;
  float scale = 0.0f;
  for (int step = 0; step < steps; ++step) {
    __pipeline_wait_prior(kStages - 2);  // this step's tile has landed, as far as it is this thread's
    __syncthreads();                     // and all of it; and the slot of the last step is free
    const int next = step + kStages - 1;
    if (next < steps) {
      fetch<T, kAligned>(slots[next % kStages], x_row, next % tiles * kTile<T>, cols);
    }
    __pipeline_commit();
    const T* tile = slots[step % kStages];
    const int first = step % tiles * kTile<T>;
    for (int i = threadIdx.x; i < kTile<T> && first + i < cols; i += kThreads) {
      const float value = static_cast<float>(tile[i]);
      if (step < tiles) {
        squares += value * value;
      } else {
        const float times = weight ? static_cast<float>(weight[first + i]) : 1.0f;
        y_row[first + i] = static_cast<T>(value * scale * times);
      }
    }
    if (step == tiles - 1) {
      scale = 1.0f / sqrtf(over_block(squares) / cols + eps);
      if (threadIdx.x == 0) {
        rstd[row] = scale;
      }
    }
  }
}

template <typename T>
void rmsnorm_forward(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                     float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  constexpr int V = 16 / sizeof(T);
  const bool aligned =
      reinterpret_cast<uintptr_t>(x) % 16 == 0 && x_stride % V == 0 && cols % V == 0;
  if (aligned) {
    forward_kernel<T, true>
        <<<rows, kThreads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, cols, eps);
  } else {
    forward_kernel<T, false>
        <<<rows, kThreads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, cols, eps);
  }
}

}  // namespace onepass
