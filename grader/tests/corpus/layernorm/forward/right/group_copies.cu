// Right: a row comes in tiles through two slots in shared memory, by the asynchronous copies of
// cooperative groups, for any address and element type: the next tile while this one is used. Three
// walks over the row, for the mean, the variance and the result, are one way through the slots.

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <onepass/layernorm.h>

namespace onepass {

namespace cg = cooperative_groups;

constexpr int kThreads = 256;
constexpr int kTile = 2048;  // columns

__device__ float over_block(float value) {
  __shared__ float slots[kThreads / 32];
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  __syncthreads();  // the last sum has been read
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

template <typename T>
__global__ void layernorm_kernel(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                                 int64_t y_stride, float* mean, float* rstd, int cols, float eps) {
  __shared__ __align__(16) T slots[2][kTile];
  const cg::thread_block block = cg::this_thread_block();
  const int64_t row = blockIdx.x;
  const T* x_row = x + row * x_stride;
  const int tiles = (cols + kTile - 1) / kTile;
  const int steps = 3 * tiles;  // of three walks
  const auto fetch = [&](int step) {
    const int first = step % tiles * kTile;
    cg::memcpy_async(block, slots[step % 2], x_row + first, sizeof(T) * min(kTile, cols - first));
  };
  fetch(0);
  float sum = 0.0f;
  float row_mean = 0.0f;
  float row_rstd = 0.0f;
  for (int step = 0; step < steps; ++step) {
    if (step + 1 < steps) {
      fetch(step + 1);
      cg::wait_prior<1>(block);
    } else {
      cg::wait(block);
    }
    const T* tile = slots[step % 2];
    const int first = step % tiles * kTile;
    for (int i = threadIdx.x; i < min(kTile, cols - first); i += kThreads) {
      const float value = static_cast<float>(tile[i]);
      const float centred = value - row_mean;
      if (step < tiles) {
        sum += value;
      } else if (step < 2 * tiles) {
        sum += centred * centred;
      } else {
        const float times = weight != nullptr ? static_cast<float>(weight[first + i]) : 1.0f;
        const float plus = bias != nullptr ? static_cast<float>(bias[first + i]) : 0.0f;
        y[row * y_stride + first + i] = static_cast<T>(centred * row_rstd * times + plus);
      }
    }
    if (step == tiles - 1) {
      row_mean = over_block(sum) / cols;
      sum = 0.0f;
    } else if (step == 2 * tiles - 1) {
      row_rstd = rsqrtf(over_block(sum) / cols + eps);
    }
    block.sync();  // all have read this slot
  }
  if (threadIdx.x == 0) {
    mean[row] = row_mean;
    rstd[row] = row_rstd;
  }
}

template <typename T>
void layernorm_forward(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                       int64_t y_stride, float* mean, float* rstd, int rows, int cols, float eps,
                       cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  layernorm_kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, weight, bias, y, y_stride, mean,
                                                  rstd, cols, eps);
}

}  // namespace onepass
