// Right: each tensor is read or written 16 bytes at a time where it is aligned itself, whatever the
// others are. 32 columns a thread wait in fp32 registers.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 512;
constexpr int kGroups = 16;  // of kEach<T> columns, a thread, in registers
template <typename T>
constexpr int kEach = 16 / sizeof(T);

template <typename T>
struct alignas(sizeof(T) * kEach<T>) Four {
  T values[kEach<T>];
};

template <typename T>
__device__ inline bool is_aligned(const T* address) {
  return reinterpret_cast<uintptr_t>(address) % sizeof(Four<T>) == 0;
}

/// Columns first to first + kEach - 1 of a row; zeros past its end.
template <typename T>
__device__ inline Four<T> load(const T* row, int first, int cols) {
  if (first + kEach<T> <= cols && is_aligned(row + first)) {
    return *reinterpret_cast<const Four<T>*>(row + first);
  }
  Four<T> four;
  for (int j = 0; j < kEach<T>; ++j) {
    four.values[j] = first + j < cols ? row[first + j] : static_cast<T>(0.0f);
  }
  return four;
}

template <typename T>
__device__ inline void store(T* row, int first, int cols, const Four<T>& four) {
  if (first + kEach<T> <= cols && is_aligned(row + first)) {
    *reinterpret_cast<Four<T>*>(row + first) = four;
    return;
  }
  for (int j = 0; j < kEach<T> && first + j < cols; ++j) {
    row[first + j] = four.values[j];
  }
}

template <typename T>
__global__ void residual_kernel(const T* x, int64_t x_stride, const T* residual,
                                int64_t residual_stride, const T* weight, T* sum,
                                int64_t sum_stride, T* y, int64_t y_stride, float* rstd, int cols,
                                float eps) {
  __shared__ float slots[kThreads / 32];
  const int64_t row = blockIdx.x;
  Four<T> held[kGroups];
  float squares = 0.0f;
  for (int g = 0, first = kEach<T> * threadIdx.x; first < cols; ++g, first += kEach<T> * kThreads) {
    const Four<T> a = load(x + row * x_stride, first, cols);
    Four<T> b = load(residual + row * residual_stride, first, cols);
    for (int j = 0; j < kEach<T>; ++j) {
      b.values[j] =
          static_cast<T>(static_cast<float>(a.values[j]) + static_cast<float>(b.values[j]));
      squares += static_cast<float>(b.values[j]) * static_cast<float>(b.values[j]);
    }
    store(sum + row * sum_stride, first, cols, b);
    if (g < kGroups) {
      held[g] = b;
    }
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    squares += __shfl_down_sync(0xffffffffu, squares, offset);
  }
  if (threadIdx.x % 32 == 0) {
    slots[threadIdx.x / 32] = squares;
  }
  __syncthreads();
  float total = 0.0f;
  for (int warp = 0; warp < kThreads / 32; ++warp) {
    total += slots[warp];
  }
  const float scale = rsqrtf(total / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = scale;
  }
  for (int g = 0, first = kEach<T> * threadIdx.x; first < cols; ++g, first += kEach<T> * kThreads) {
    Four<T> four = g < kGroups ? held[g] : load(sum + row * sum_stride, first, cols);
    const Four<T> factor = load(weight, first, cols);
    for (int j = 0; j < kEach<T>; ++j) {
      four.values[j] = static_cast<T>(static_cast<float>(four.values[j]) * scale *
                                      static_cast<float>(factor.values[j]));
    }
    store(y + row * y_stride, first, cols, four);
  }
}

template <typename T>
void rmsnorm_residual(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                      const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                      float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows > 0) {
    residual_kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, residual, residual_stride, weight,
                                                   sum, sum_stride, y, y_stride, rstd, cols, eps);
  }
}

}  // namespace onepass
