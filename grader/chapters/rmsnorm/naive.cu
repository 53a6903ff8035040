// The naive baseline of chapter 1: the same contract, run the way a framework without fusion runs
// it (chapters/common/naive.h). The arithmetic is right; the traffic is the lesson.
//
// Tensors of [rows, cols] that pass through memory, against the least possible: block_sum 5 (1),
// rmsnorm_forward 7 (2), rmsnorm_backward 19 (3), and 2 more in LLaMA's order, rmsnorm_residual 10
// (4).

#include <onepass/rmsnorm.h>

#include "chapters/common/naive.h"

namespace onepass {
namespace naive {

/// One level of a tree: halved[r][i] = values[r][i] + values[r][i + half], width to half columns.
__global__ void halve_kernel(const float* values, float* halved, int rows, int width, int half) {
  const int64_t i = element_index();
  if (i < static_cast<int64_t>(rows) * half) {
    const int64_t row = i / half;
    const int col = static_cast<int>(i % half);
    const float* values_row = values + row * width;
    halved[i] = values_row[col] + (col + half < width ? values_row[col + half] : 0.0f);
  }
}

/// Rounded to T, and a float again.
template <typename T>
struct Round {
  __device__ float operator()(float a) const { return static_cast<float>(static_cast<T>(a)); }
};

}  // namespace naive

template <typename T>
void block_sum(const T* x, int64_t x_stride, float* sums, int rows, int cols, cudaStream_t stream) {
  using namespace naive;
  const Operators run = {rows, cols, stream};
  float* values = run.memory(2);  // [rows, cols], and room for the next level
  if (values == nullptr) {
    return;
  }
  float* next = values + run.size();
  run.map(Convert(), tensor(x, x_stride), tensor(values, cols));
  for (int width = cols; width > 1;) {
    const int half = (width + 1) / 2;
    halve_kernel<<<blocks_for(static_cast<int64_t>(rows) * half), kThreads, 0, stream>>>(
        values, next, rows, width, half);
    float* spent = values;
    values = next;
    next = spent;
    width = half;
  }
  cudaMemcpyAsync(sums, values, rows * sizeof(float), cudaMemcpyDeviceToDevice, stream);
}

template <typename T>
void rmsnorm_forward(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                     float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  using namespace naive;
  const Operators run = {rows, cols, stream};
  float* memory = run.memory(1);
  if (memory == nullptr) {
    return;
  }
  const auto x_rows = tensor(x, x_stride);
  const auto y_rows = tensor(y, y_stride);
  const auto values = tensor(memory, cols);  // the squares and later the scaled rows
  run.map(Square(), x_rows, values);
  run.mean(values, rstd);
  rsqrt(rstd, eps, rstd, rows, stream);
  if (weight == nullptr) {  // which only the fast ones may get
    run.multiply(x_rows, one_each_row(rstd), y_rows);
    return;
  }
  run.multiply(x_rows, one_each_row(rstd), values);
  run.multiply(values, one_each_col(weight), y_rows);
}

template <typename T>
void rmsnorm_forward_fast(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                          float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  rmsnorm_forward(x, x_stride, weight, y, y_stride, rstd, rows, cols, eps, stream);
}

template <typename T>
void rmsnorm_wide_rows(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                       float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  rmsnorm_forward(x, x_stride, weight, y, y_stride, rstd, rows, cols, eps, stream);
}

template <typename T>
void rmsnorm_backward(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                      const float* rstd, T* dx, int64_t dx_stride, T* dweight, float*,
                      CastOrder order, int rows, int cols, cudaStream_t stream) {
  using namespace naive;
  const Operators run = {rows, cols, stream};
  float* memory = run.memory(3, rows);
  if (rows > 0 && memory == nullptr) {
    return;
  }
  const auto dy_rows = tensor(dy, dy_stride);
  const auto x_hat = tensor(memory, cols);
  const auto wdy = tensor(memory + run.size(), cols);
  const auto other = tensor(memory + 2 * run.size(), cols);
  float* mean = memory + 3 * run.size();
  if (rows > 0) {
    run.multiply(tensor(x, x_stride), one_each_row(rstd), x_hat);
    run.multiply(dy_rows, one_each_col(weight), wdy);
    run.multiply(wdy, x_hat, other);
    run.mean(other, mean);
    run.multiply(x_hat, one_each_row(mean), other);
    run.subtract(wdy, other, wdy);
    run.multiply(wdy, one_each_row(rstd), tensor(dx, dx_stride));
    if (order == CastOrder::llama && sizeof(T) < sizeof(float)) {
      run.map(Round<T>(), x_hat, x_hat);
    }
    run.multiply(dy_rows, x_hat, other);
  }
  run.col_sum(other, dweight);  // over no rows: zeros
}

template <typename T>
void rmsnorm_backward_fast(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* rstd, T* dx, int64_t dx_stride, T* dweight,
                           float* scratch, CastOrder order, int rows, int cols,
                           cudaStream_t stream) {
  rmsnorm_backward(dy, dy_stride, x, x_stride, weight, rstd, dx, dx_stride, dweight, scratch, order,
                   rows, cols, stream);
}

template <typename T>
void rmsnorm_residual(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                      const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                      float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  using namespace naive;
  if (rows == 0) {
    return;
  }
  const Operators run = {rows, cols, stream};
  run.add(tensor(x, x_stride), tensor(residual, residual_stride), tensor(sum, sum_stride));
  rmsnorm_forward(static_cast<const T*>(sum), sum_stride, weight, y, y_stride, rstd, rows, cols,
                  eps, stream);
}

}  // namespace onepass
