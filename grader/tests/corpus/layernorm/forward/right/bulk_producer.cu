// Right: a warp that fetches and eight that compute, a row each. The producer fills two slots of each
// consumer by bulk copies; two barriers for each slot say that it is full, and that it is empty again.
// Where the rows are not aligned for that, or wide, the warps read them from global memory.

#include <cuda/barrier>
#include <onepass/layernorm.h>

namespace onepass {

using Barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int kConsumers = 8;  // warps, and one that produces
constexpr int kThreads = 32 * (kConsumers + 1);
constexpr int kSlots = 2;         // of each consumer
constexpr int kMostBytes = 2048;  // of a row in a slot

__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  return value;
}

/// A row in a slot, or in global memory, is one warp's.
template <typename T>
__device__ void normalize(const T* x, const T* weight, const T* bias, T* y, float* mean,
                          float* rstd, int cols, float eps) {
  const int lane = threadIdx.x % 32;
  float sum = 0.0f;
  for (int col = lane; col < cols; col += 32) {
    sum += static_cast<float>(x[col]);
  }
  const float row_mean = warp_sum(sum) / cols;
  float squares = 0.0f;
  for (int col = lane; col < cols; col += 32) {
    const float centred = static_cast<float>(x[col]) - row_mean;
    squares += centred * centred;
  }
  const float row_rstd = rsqrtf(warp_sum(squares) / cols + eps);
  for (int col = lane; col < cols; col += 32) {
    const float times = weight != nullptr ? static_cast<float>(weight[col]) : 1.0f;
    const float plus = bias != nullptr ? static_cast<float>(bias[col]) : 0.0f;
    y[col] = static_cast<T>((static_cast<float>(x[col]) - row_mean) * row_rstd * times + plus);
  }
  if (lane == 0) {
    *mean = row_mean;
    *rstd = row_rstd;
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    ring_kernel(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                int64_t y_stride, float* mean, float* rstd, int rows, int cols, float eps) {
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ Barrier full[kConsumers][kSlots];
  __shared__ Barrier empty[kConsumers][kSlots];
  T* const slots = reinterpret_cast<T*>(memory);  // [kConsumers][kSlots][cols]
  if (threadIdx.x < kConsumers * kSlots) {
    init(&full[threadIdx.x / kSlots][threadIdx.x % kSlots], 1);
    init(&empty[threadIdx.x / kSlots][threadIdx.x % kSlots], 1);
  }
  __syncthreads();
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kConsumers;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kConsumers;
  if (warp == kConsumers && lane < kConsumers) {  // a lane for each consumer
    int i = 0;
    for (int64_t row = first + lane; row < rows; row += stride, ++i) {
      const int slot = i % kSlots;
      empty[lane][slot].wait_parity(i / kSlots % 2 == 0);
      cuda::device::memcpy_async_tx(slots + (lane * kSlots + slot) * cols, x + row * x_stride,
                                    cuda::aligned_size_t<16>(cols * sizeof(T)), full[lane][slot]);
      (void)cuda::device::barrier_arrive_tx(full[lane][slot], 1, cols * sizeof(T));
    }
  } else if (warp < kConsumers) {
    int i = 0;
    for (int64_t row = first + warp; row < rows; row += stride, ++i) {
      const int slot = i % kSlots;
      full[warp][slot].wait_parity(i / kSlots % 2 != 0);
      normalize(slots + (warp * kSlots + slot) * cols, weight, bias, y + row * y_stride,
                mean + row, rstd + row, cols, eps);
      __syncwarp();  // all lanes have read the slot
      if (lane == 0) {
        (void)empty[warp][slot].arrive();
      }
    }
  }
}

template <typename T>
__global__ void plain_kernel(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                             int64_t y_stride, float* mean, float* rstd, int rows, int cols,
                             float eps) {
  const int64_t row = blockIdx.x * static_cast<int64_t>(kConsumers) + threadIdx.x / 32;
  if (row < rows) {
    normalize(x + row * x_stride, weight, bias, y + row * y_stride, mean + row, rstd + row, cols,
              eps);
  }
}

template <typename T>
void layernorm_forward(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                       int64_t y_stride, float* mean, float* rstd, int rows, int cols, float eps,
                       cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  const size_t row_bytes = cols * sizeof(T);
  const int blocks = rows / kConsumers + (rows % kConsumers != 0);
  const bool fits = reinterpret_cast<uintptr_t>(x) % 16 == 0 && x_stride * sizeof(T) % 16 == 0 &&
                    row_bytes % 16 == 0 && row_bytes <= kMostBytes;
  if (fits) {
    ring_kernel<<<blocks < 264 ? blocks : 264, kThreads, kConsumers * kSlots * row_bytes, stream>>>(
        x, x_stride, weight, bias, y, y_stride, mean, rstd, rows, cols, eps);
  } else {
    plain_kernel<<<blocks, 32 * kConsumers, 0, stream>>>(x, x_stride, weight, bias, y, y_stride,
                                                         mean, rstd, rows, cols, eps);
  }
}

}  // namespace onepass
