// The naive baseline of chapter 2: the same contract, run the way a framework without fusion runs
// it (chapters/common/naive.h). The arithmetic is right; the traffic is the lesson.
//
// Tensors of [rows, cols] that pass through memory, against the least possible:
// layernorm_forward 12 (2), layernorm_backward_dx 20 (3), layernorm_backward_dweight_dbias 9 (2),
// layernorm_backward 29 (3): both of them, one after the other.

#include <onepass/layernorm.h>

#include "chapters/common/naive.h"

namespace onepass {
namespace naive {

/// A tensor of intermediate results.
using Dense = View<float, Steps>;

/// x_hat[r][c] = (x[r][c] - mean[r]) * rstd[r], in two operators.
template <typename T>
void normalise(const Operators& run, View<T, Steps> x, const float* mean, const float* rstd,
               Dense centred, Dense x_hat) {
  run.subtract(x, one_each_row(mean), centred);
  run.multiply(centred, one_each_row(rstd), x_hat);
}

/// dx from wdy and x_hat. spare: two tensors and two numbers a row.
template <typename T>
void row_gradient(const Operators& run, Dense wdy, Dense x_hat, const float* rstd,
                  View<T, Steps> dx, float* spare) {
  const Dense a = tensor(spare, run.cols);
  const Dense b = tensor(spare + run.size(), run.cols);
  float* mean_wdy = spare + 2 * run.size();
  float* mean_wdy_hat = mean_wdy + run.rows;
  run.mean(wdy, mean_wdy);
  run.multiply(wdy, x_hat, a);
  run.mean(a, mean_wdy_hat);
  run.multiply(x_hat, one_each_row(mean_wdy_hat), a);
  run.subtract(wdy, one_each_row(mean_wdy), b);
  run.subtract(b, a, b);
  run.multiply(b, one_each_row(rstd), dx);
}

}  // namespace naive

template <typename T>
void layernorm_forward(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                       int64_t y_stride, float* mean, float* rstd, int rows, int cols, float eps,
                       cudaStream_t stream) {
  using namespace naive;
  const Operators run = {rows, cols, stream};
  float* memory = run.memory(2);
  if (memory == nullptr) {
    return;
  }
  const auto x_rows = tensor(x, x_stride);
  const auto y_rows = tensor(y, y_stride);
  const Dense centred = tensor(memory, cols);
  Dense other = tensor(memory + run.size(), cols);
  run.mean(x_rows, mean);
  run.subtract(x_rows, one_each_row(mean), centred);
  run.multiply(centred, centred, other);
  run.mean(other, rstd);
  rsqrt(rstd, eps, rstd, rows, stream);
  run.multiply(centred, one_each_row(rstd), other);
  if (weight != nullptr) {
    run.multiply(other, one_each_col(weight), centred);
    other = centred;
  }
  if (bias != nullptr) {
    run.add(other, one_each_col(bias), y_rows);
  } else {
    run.map(Convert(), other, y_rows);
  }
}

template <typename T>
void layernorm_forward_fast(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                            int64_t y_stride, float* mean, float* rstd, int rows, int cols,
                            float eps, cudaStream_t stream) {
  layernorm_forward(x, x_stride, weight, bias, y, y_stride, mean, rstd, rows, cols, eps, stream);
}

template <typename T>
void layernorm_backward_dx(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* mean, const float* rstd, T* dx,
                           int64_t dx_stride, int rows, int cols, cudaStream_t stream) {
  using namespace naive;
  const Operators run = {rows, cols, stream};
  float* memory = run.memory(4, 2 * run.rows);
  if (memory == nullptr) {
    return;
  }
  const Dense x_hat = tensor(memory, cols);
  const Dense wdy = tensor(memory + run.size(), cols);
  float* spare = memory + 2 * run.size();
  normalise(run, tensor(x, x_stride), mean, rstd, tensor(spare, cols), x_hat);
  if (weight != nullptr) {
    run.multiply(tensor(dy, dy_stride), one_each_col(weight), wdy);
  } else {
    run.map(Convert(), tensor(dy, dy_stride), wdy);
  }
  row_gradient(run, wdy, x_hat, rstd, tensor(dx, dx_stride), spare);
}

template <typename T>
Summation layernorm_backward_dweight_dbias(const T* dy, int64_t dy_stride, const T* x,
                                           int64_t x_stride, const float* mean, const float* rstd,
                                           T* dweight, T* dbias, float*, int rows, int cols,
                                           cudaStream_t stream) {
  using namespace naive;
  const Operators run = {rows, cols, stream};
  float* memory = run.memory(2);
  if (rows > 0 && memory == nullptr) {
    return Summation::fixed_order;
  }
  const Dense x_hat = tensor(memory, cols);
  const Dense other = tensor(memory + run.size(), cols);
  if (rows > 0) {
    normalise(run, tensor(x, x_stride), mean, rstd, other, x_hat);
    run.multiply(tensor(dy, dy_stride), x_hat, other);
  }
  run.col_sum(other, dweight);  // over no rows: zeros
  run.col_sum(tensor(dy, dy_stride), dbias);
  return Summation::fixed_order;
}

template <typename T>
Summation layernorm_backward(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                             const T* weight, const float* mean, const float* rstd, T* dx,
                             int64_t dx_stride, T* dweight, T* dbias, float* scratch, int rows,
                             int cols, cudaStream_t stream) {
  layernorm_backward_dx(dy, dy_stride, x, x_stride, weight, mean, rstd, dx, dx_stride, rows, cols,
                        stream);
  return layernorm_backward_dweight_dbias(dy, dy_stride, x, x_stride, mean, rstd, dweight, dbias,
                                          scratch, rows, cols, stream);
}

template <typename T>
Summation layernorm_backward_fast(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                                  const T* weight, const float* mean, const float* rstd, T* dx,
                                  int64_t dx_stride, T* dweight, T* dbias, float* scratch, int rows,
                                  int cols, cudaStream_t stream) {
  return layernorm_backward(dy, dy_stride, x, x_stride, weight, mean, rstd, dx, dx_stride, dweight,
                            dbias, scratch, rows, cols, stream);
}

}  // namespace onepass
