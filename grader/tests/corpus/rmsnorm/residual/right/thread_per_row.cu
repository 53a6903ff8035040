// Right: a thread a row, with a compensated sum (Kahan). Rows of up to 16,384 columns wait in local
// memory.

#include <onepass/fast.h>
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 32;
constexpr int kHeld = 16384;

template <typename T, int V>
__global__ void residual_kernel(const T* x, int64_t x_stride, const T* residual,
                                int64_t residual_stride, const T* weight, T* sum,
                                int64_t sum_stride, T* y, int64_t y_stride, float* rstd, int rows,
                                int cols, float eps) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (row >= rows) {
    return;
  }
  using Unit = Pack<T, V>;
  const auto* x_row = reinterpret_cast<const Unit*>(x + row * x_stride);
  const auto* residual_row = reinterpret_cast<const Unit*>(residual + row * residual_stride);
  const auto* weights = reinterpret_cast<const Unit*>(weight);
  auto* sum_row = reinterpret_cast<Unit*>(sum + row * sum_stride);
  auto* y_row = reinterpret_cast<Unit*>(y + row * y_stride);
  T held[kHeld];
  float squares = 0.0f;
  float lost = 0.0f;
  for (int i = 0; i < cols / V; ++i) {
    const Unit a = x_row[i];
    const Unit b = residual_row[i];
    Unit unit;
    for (int j = 0; j < V; ++j) {
      const float exact = value_of(a, j) + value_of(b, j);
      const T rounded = static_cast<T>(exact);
      unit.values[j] = rounded;
      if (i * V + j < kHeld) {
        held[i * V + j] = rounded;
      }
      const float term = static_cast<float>(rounded) * static_cast<float>(rounded) - lost;
      const volatile float next = squares + term;
      lost = (next - squares) - term;
      squares = next;
    }
    sum_row[i] = unit;
  }
  const float scale = rsqrtf(squares / cols + eps);
  rstd[row] = scale;
  for (int i = 0; i < cols / V; ++i) {
    const Unit factors = weights[i];
    Unit unit = (i + 1) * V <= kHeld ? Unit() : sum_row[i];
    for (int j = 0; j < V; ++j) {
      const T value = (i + 1) * V <= kHeld ? held[i * V + j] : unit.values[j];
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
  const auto bits = [](const T* tensor, int64_t stride) {
    return reinterpret_cast<uintptr_t>(tensor) | stride * sizeof(T);
  };
  const bool aligned = (bits(x, x_stride) | bits(residual, residual_stride) | bits(weight, cols) |
                        bits(sum, sum_stride) | bits(y, y_stride)) %
                           16 ==
                       0;
  with_pack_of<T>(aligned ? 16 : 1, [&](auto pack) {
    residual_kernel<T, pack.value><<<(rows - 1) / kThreads + 1, kThreads, 0, stream>>>(
        x, x_stride, residual, residual_stride, weight, sum, sum_stride, y, y_stride, rstd, rows,
        cols, eps);
  });
}

}  // namespace onepass
