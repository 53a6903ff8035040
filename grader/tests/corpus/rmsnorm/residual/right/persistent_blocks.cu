// slow: all rows in few blocks
// Right: a few blocks walk over all rows; the next row's slots are others than this row's. Rows of
// up to 16,384 columns wait in registers.

#include <onepass/fast.h>
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 1024;
constexpr int kBlocks = 20;
constexpr int kHeld = 16;

template <typename T, int V>
__global__ void residual_kernel(const T* x, int64_t x_stride, const T* residual,
                                int64_t residual_stride, const T* weight, T* sum,
                                int64_t sum_stride, T* y, int64_t y_stride, float* rstd, int rows,
                                int cols, float eps) {
  __shared__ float slots[2][kThreads / 32];
  int parity = 0;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x, parity ^= 1) {
    using Unit = Pack<T, V>;
    const auto* x_row = reinterpret_cast<const Unit*>(x + row * x_stride);
    const auto* residual_row = reinterpret_cast<const Unit*>(residual + row * residual_stride);
    const auto* weights = reinterpret_cast<const Unit*>(weight);
    auto* sum_row = reinterpret_cast<Unit*>(sum + row * sum_stride);
    auto* y_row = reinterpret_cast<Unit*>(y + row * y_stride);
    float held[kHeld];
    float squares = 0.0f;
    int n = 0;
    for (int i = threadIdx.x; i < cols / V; i += kThreads, n += V) {
      const Unit a = x_row[i];
      const Unit b = residual_row[i];
      Unit rounded;
      for (int j = 0; j < V; ++j) {
        rounded.values[j] = static_cast<T>(value_of(b, j) + value_of(a, j));
      }
      sum_row[i] = rounded;
      for (int j = 0; j < V; ++j) {
        const float value = value_of(rounded, j);
        if (n < kHeld) {
          held[n + j] = value;
        }
        squares += value * value;
      }
    }
    for (int offset = 16; offset > 0; offset /= 2) {
      squares += __shfl_xor_sync(0xffffffffu, squares, offset);
    }
    if (threadIdx.x % 32 == 0) {
      slots[parity][threadIdx.x / 32] = squares;
    }
    __syncthreads();
    squares = slots[parity][threadIdx.x % 32];
    for (int offset = 16; offset > 0; offset /= 2) {
      squares += __shfl_xor_sync(0xffffffffu, squares, offset);
    }
    const float scale = rsqrtf(squares / cols + eps);
    if (threadIdx.x == 0) {
      rstd[row] = scale;
    }
    n = 0;
    for (int i = threadIdx.x; i < cols / V; i += kThreads, n += V) {
      const Unit factors = weights[i];
      const Unit unit = n < kHeld ? Unit() : sum_row[i];
      Unit result;
      for (int j = 0; j < V; ++j) {
        const float value = n < kHeld ? held[n + j] : value_of(unit, j);
        result.values[j] = static_cast<T>(value * scale * value_of(factors, j));
      }
      y_row[i] = result;
    }
  }
}

template <typename T>
void rmsnorm_residual(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                      const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                      float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  const int blocks = rows < kBlocks ? rows : kBlocks;
  const auto bits = [](const T* tensor, int64_t stride) {
    return reinterpret_cast<uintptr_t>(tensor) | stride * sizeof(T);
  };
  const bool aligned = (bits(x, x_stride) | bits(residual, residual_stride) | bits(weight, cols) |
                        bits(sum, sum_stride) | bits(y, y_stride)) %
                           16 ==
                       0;
  with_pack_of<T>(aligned ? 16 : 1, [&](auto pack) {
    residual_kernel<T, pack.value><<<blocks, kThreads, 0, stream>>>(
        x, x_stride, residual, residual_stride, weight, sum, sum_stride, y, y_stride, rstd, rows,
        cols, eps);
  });
}

}  // namespace onepass
