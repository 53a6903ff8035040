// Right: 16 bytes a load where the row starts on a 16-byte boundary, else element by element.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 256;

template <typename T>
__global__ void block_sum_kernel(const T* x, int64_t x_stride, float* sums, int cols) {
  constexpr int kVector = 16 / sizeof(T);
  __shared__ float partial[kThreads / 32];
  const T* x_row = x + blockIdx.x * x_stride;
  const bool aligned = reinterpret_cast<uintptr_t>(x_row) % 16 == 0;
  const int vectors = aligned ? cols / kVector : 0;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < vectors; i += kThreads) {
    const uint4 raw = reinterpret_cast<const uint4*>(x_row)[i];
    const T* values = reinterpret_cast<const T*>(&raw);
    for (int k = 0; k < kVector; ++k) {
      sum += static_cast<float>(values[k]);
    }
  }
  for (int col = vectors * kVector + threadIdx.x; col < cols; col += kThreads) {
    sum += static_cast<float>(x_row[col]);
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  }
  if (threadIdx.x % 32 == 0) {
    partial[threadIdx.x / 32] = sum;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0.0f;
    for (int warp = 0; warp < kThreads / 32; ++warp) {
      total += partial[warp];
    }
    sums[blockIdx.x] = total;
  }
}

template <typename T>
void block_sum(const T* x, int64_t x_stride, float* sums, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  block_sum_kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, sums, cols);
}

}  // namespace onepass
