// Right: 1024 threads, so 32 slots; the first warp alone adds them up.

#include <onepass/rmsnorm.h>

namespace onepass {

template <typename T>
__global__ void __launch_bounds__(1024) block_sum_kernel(const T* __restrict__ x, int64_t x_stride,
                                                         float* __restrict__ sums, int cols) {
  __shared__ float partial[32];
  const T* x_row = x + blockIdx.x * x_stride;
  float value = 0.0f;
  for (int col = threadIdx.x; col < cols; col += 1024) {
    value += static_cast<float>(x_row[col]);
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_down_sync(0xffffffffu, value, offset);
  }
  const unsigned lane = threadIdx.x & 31u;
  const unsigned warp = threadIdx.x >> 5;
  if (lane == 0) {
    partial[warp] = value;
  }
  __syncthreads();
  if (warp == 0) {
    value = partial[lane];
    for (int offset = 16; offset > 0; offset /= 2) {
      value += __shfl_down_sync(0xffffffffu, value, offset);
    }
    if (lane == 0) {
      sums[blockIdx.x] = value;
    }
  }
}

template <typename T>
void block_sum(const T* x, int64_t x_stride, float* sums, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  block_sum_kernel<<<rows, 1024, 0, stream>>>(x, x_stride, sums, cols);
}

}  // namespace onepass
