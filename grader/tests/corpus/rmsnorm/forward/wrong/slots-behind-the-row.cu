// diagnosis: misaligned-vector
// says: put the widest first
// The warps' sums lie behind a row of 16 bits, which may have an odd number of elements.
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 512;
constexpr int kWarps = kThreads / 32;
constexpr int kMostBytes = 32 * 1024;  // of a row that waits in shared memory

extern __shared__ float4 shared_memory[];

/// Where kHeld, the row waits in shared memory: it is read once from global memory.
template <typename T, bool kHeld>
__global__ void __launch_bounds__(kThreads)
    rmsnorm_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                   float* rstd, int cols, float eps) {
  const int64_t row = blockIdx.x;
  const T* x_row = x + row * x_stride;
  T* y_row = y + row * y_stride;

  T* held = reinterpret_cast<T*>(shared_memory);                         // [cols], if at all
  float* slots = reinterpret_cast<float*>(held + (kHeld ? cols : 0));  // [kWarps]

  float squares = 0.0f;
#pragma unroll 4
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const T element = x_row[col];
    if (kHeld) {
      held[col] = element;
    }
    const float value = static_cast<float>(element);
    squares += value * value;
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    squares += __shfl_xor_sync(0xffffffff, squares, offset);
  }
  const int lane = threadIdx.x % 32;
  if (lane == 0) {
    slots[threadIdx.x / 32] = squares;
  }
  __syncthreads();
  squares = lane < kWarps ? slots[lane] : 0.0f;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    squares += __shfl_xor_sync(0xffffffff, squares, offset);
  }
  const float row_rstd = rsqrtf(squares / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = row_rstd;
  }
#pragma unroll 4
  for (int col = threadIdx.x; col < cols; col += kThreads) {  // those that it has stored itself
    const float value = static_cast<float>(kHeld ? held[col] : x_row[col]);
    y_row[col] = static_cast<T>(value * row_rstd * static_cast<float>(weight[col]));
  }
}

template <typename T>
void rmsnorm_forward(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                     float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  const size_t row_bytes = cols * sizeof(T);
  const size_t slot_bytes = kWarps * sizeof(float);
  if (row_bytes <= kMostBytes) {
    rmsnorm_kernel<T, true><<<rows, kThreads, row_bytes + slot_bytes, stream>>>(
        x, x_stride, weight, y, y_stride, rstd, cols, eps);
  } else {
    rmsnorm_kernel<T, false><<<rows, kThreads, slot_bytes, stream>>>(x, x_stride, weight, y,
                                                                     y_stride, rstd, cols, eps);
  }
}

}  // namespace onepass
