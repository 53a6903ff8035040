// Right: x + residual in T's own addition, which rounds to the same number. A warp a row; a lane
// keeps 512 of its columns, and loads the sum again for what is beyond.

#include <onepass/fast.h>
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kRows = 4;
constexpr int kHeld = 512;

template <typename T, int V>
__global__ void residual_kernel(const T* x, int64_t x_stride, const T* residual,
                                int64_t residual_stride, const T* weight, T* sum,
                                int64_t sum_stride, T* y, int64_t y_stride, float* rstd, int rows,
                                int cols, float eps) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kRows + threadIdx.y;
  if (row >= rows) {
    return;  // a whole warp
  }
  using Unit = Pack<T, V>;
  const auto* x_row = reinterpret_cast<const Unit*>(x + row * x_stride);
  const auto* residual_row = reinterpret_cast<const Unit*>(residual + row * residual_stride);
  const auto* weights = reinterpret_cast<const Unit*>(weight);
  auto* sum_row = reinterpret_cast<Unit*>(sum + row * sum_stride);
  auto* y_row = reinterpret_cast<Unit*>(y + row * y_stride);
  T held[kHeld];
  float squares = 0.0f;
  for (int n = 0, i = threadIdx.x; i < cols / V; n += V, i += 32) {
    const Unit a = x_row[i];
    const Unit b = residual_row[i];
    Unit unit;
    for (int j = 0; j < V; ++j) {
      const T value = a.values[j] + b.values[j];
      unit.values[j] = value;
      if (n < kHeld) {
        held[n + j] = value;
      }
      squares = fmaf(static_cast<float>(value), static_cast<float>(value), squares);
    }
    sum_row[i] = unit;
  }
  for (int offset = 1; offset < 32; offset *= 2) {
    squares += __shfl_xor_sync(0xffffffffu, squares, offset);
  }
  const float scale = 1.0f / sqrtf(squares / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = scale;
  }
  for (int n = 0, i = threadIdx.x; i < cols / V; n += V, i += 32) {
    const Unit factors = weights[i];
    Unit unit = n < kHeld ? Unit() : sum_row[i];
    for (int j = 0; j < V; ++j) {
      const T value = n < kHeld ? held[n + j] : unit.values[j];
      unit.values[j] = static_cast<T>(static_cast<float>(value) * scale * value_of(factors, j));
    }
    y_row[i] = unit;
  }
}

template <typename T>
void rmsnorm_residual(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                      const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                      float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  const int blocks = rows / kRows + (rows % kRows != 0 ? 1 : 0);
  const auto bits = [](const T* tensor, int64_t stride) {
    return reinterpret_cast<uintptr_t>(tensor) | stride * sizeof(T);
  };
  const bool aligned = (bits(x, x_stride) | bits(residual, residual_stride) | bits(weight, cols) |
                        bits(sum, sum_stride) | bits(y, y_stride)) %
                           16 ==
                       0;
  with_pack_of<T>(aligned ? 16 : 1, [&](auto pack) {
    residual_kernel<T, pack.value><<<blocks, dim3(32, kRows), 0, stream>>>(
        x, x_stride, residual, residual_stride, weight, sum, sum_stride, y, y_stride, rstd, rows,
        cols, eps);
  });
}

}  // namespace onepass
