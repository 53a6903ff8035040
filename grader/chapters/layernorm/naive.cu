// The naive baseline of chapter 2: the same contract, run the way a framework without fusion runs
// it. Every operator is a kernel of its own over the whole tensor, and every intermediate result
// goes out to device memory, in fp32, and comes back. The arithmetic is right; the traffic is the
// lesson.
//
// Tensors of [rows, cols] that pass through memory, against the least possible:
// layernorm_forward 12 (2), layernorm_backward_dx 20 (3), layernorm_backward_dweight_dbias 9 (2),
// layernorm_backward 29 (3): both of them, one after the other.

#include <onepass/layernorm.h>

namespace onepass {
namespace naive {

constexpr int kThreads = 256;  // threads a block

/// Device memory for `count` fp32 intermediates, null when there is not enough. Kept from one call
/// to the next, so that allocating is not part of what is timed.
inline float* intermediates(int64_t count) {
  static float* memory = nullptr;
  static int64_t capacity = 0;
  if (count > capacity) {
    cudaFree(memory);
    memory = nullptr;
    capacity = 0;
    if (cudaMalloc(reinterpret_cast<void**>(&memory), count * sizeof(float)) == cudaSuccess) {
      capacity = count;
    }
  }
  return memory;
}

/// What an operator reads: element [r][c] is data[r * row_step + c * col_step]. A step of 0 repeats
/// a vector over all rows or all columns.
template <typename T>
struct Operand {
  const T* data;
  int64_t row_step;
  int64_t col_step;

  __device__ float at(int64_t row, int64_t col) const {
    return static_cast<float>(data[row * row_step + col * col_step]);
  }
};

template <typename T>
Operand<T> tensor(const T* data, int64_t stride) {
  return {data, stride, 1};
}
inline Operand<float> one_each_row(const float* data) {
  return {data, 1, 0};
}
template <typename T>
Operand<T> one_each_col(const T* data) {
  return {data, 0, 1};
}

struct Add {
  __device__ static float of(float a, float b) { return a + b; }
};
struct Subtract {
  __device__ static float of(float a, float b) { return a - b; }
};
struct Multiply {
  __device__ static float of(float a, float b) { return a * b; }
};

/// result[r][c] = a[r][c] and b[r][c] put through Op. One thread an element.
template <typename Op, typename A, typename B, typename T>
__global__ void combine_kernel(Operand<A> a, Operand<B> b, T* result, int64_t result_stride,
                               int rows, int cols) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < static_cast<int64_t>(rows) * cols) {
    const int64_t row = i / cols;
    const int64_t col = i % cols;
    result[row * result_stride + col] = static_cast<T>(Op::of(a.at(row, col), b.at(row, col)));
  }
}

/// means[r] = mean over c of values[r][c]. One block a row.
template <typename T>
__global__ void row_mean_kernel(Operand<T> values, float* means, int cols) {
  __shared__ float shares[kThreads];
  float share = 0.0f;
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    share += values.at(blockIdx.x, col);
  }
  shares[threadIdx.x] = share;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      shares[threadIdx.x] += shares[threadIdx.x + half];
    }
  }
  if (threadIdx.x == 0) {
    means[blockIdx.x] = shares[0] / cols;
  }
}

/// sums[c] = sum over r of values[r][c]. One thread a column.
template <typename A, typename T>
__global__ void col_sum_kernel(Operand<A> values, T* sums, int rows, int cols) {
  const int col = blockIdx.x * kThreads + threadIdx.x;
  if (col < cols) {
    float sum = 0.0f;
    for (int row = 0; row < rows; ++row) {
      sum += values.at(row, col);
    }
    sums[col] = static_cast<T>(sum);
  }
}

/// rstd[r] = 1 / sqrt(variance[r] + eps). Both may be the same buffer.
__global__ void rsqrt_kernel(const float* variance, float* rstd, int rows, float eps) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (row < rows) {
    rstd[row] = rsqrtf(variance[row] + eps);
  }
}

inline unsigned blocks_for(int64_t elements) {
  return static_cast<unsigned>((elements + kThreads - 1) / kThreads);
}

/// The operators, for tensors of one shape, on one stream.
struct Operators {
  int rows, cols;
  cudaStream_t stream;

  int64_t size() const { return static_cast<int64_t>(rows) * cols; }

  template <typename Op, typename A, typename B, typename T>
  void combine(Operand<A> a, Operand<B> b, T* result, int64_t stride) const {
    combine_kernel<Op>
        <<<blocks_for(size()), kThreads, 0, stream>>>(a, b, result, stride, rows, cols);
  }
  template <typename T>
  void row_mean(Operand<T> values, float* means) const {
    row_mean_kernel<<<rows, kThreads, 0, stream>>>(values, means, cols);
  }
  template <typename A, typename T>
  void col_sum(Operand<A> values, T* sums) const {
    col_sum_kernel<<<blocks_for(cols), kThreads, 0, stream>>>(values, sums, rows, cols);
  }
};

/// x_hat[r][c] = (x[r][c] - mean[r]) * rstd[r], in two operators. centred: as large as x_hat.
template <typename T>
void normalise(const Operators& run, Operand<T> x, const float* mean, const float* rstd,
               float* centred, float* x_hat) {
  run.combine<Subtract>(x, one_each_row(mean), centred, run.cols);
  run.combine<Multiply>(tensor(centred, run.cols), one_each_row(rstd), x_hat, run.cols);
}

/// dx from wdy and x_hat. spare: two tensors and two numbers a row.
template <typename T>
void row_gradient(const Operators& run, const float* wdy, const float* x_hat, const float* rstd,
                  T* dx, int64_t dx_stride, float* spare) {
  const int64_t cols = run.cols;
  float* a = spare;
  float* b = a + run.size();
  float* mean_wdy = b + run.size();
  float* mean_wdy_hat = mean_wdy + run.rows;
  run.row_mean(tensor(wdy, cols), mean_wdy);
  run.combine<Multiply>(tensor(wdy, cols), tensor(x_hat, cols), a, cols);
  run.row_mean(tensor(a, cols), mean_wdy_hat);
  run.combine<Multiply>(tensor(x_hat, cols), one_each_row(mean_wdy_hat), a, cols);
  run.combine<Subtract>(tensor(wdy, cols), one_each_row(mean_wdy), b, cols);
  run.combine<Subtract>(tensor(b, cols), tensor(a, cols), b, cols);
  run.combine<Multiply>(tensor(b, cols), one_each_row(rstd), dx, dx_stride);
}

}  // namespace naive

template <typename T>
void layernorm_forward(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                       int64_t y_stride, float* mean, float* rstd, int rows, int cols, float eps,
                       cudaStream_t stream) {
  using namespace naive;
  if (rows == 0) {
    return;
  }
  const Operators run = {rows, cols, stream};
  float* centred = intermediates(2 * run.size() + cols);
  if (centred == nullptr) {
    return;
  }
  float* other = centred + run.size();
  run.row_mean(tensor(x, x_stride), mean);
  run.combine<Subtract>(tensor(x, x_stride), one_each_row(mean), centred, cols);
  run.combine<Multiply>(tensor(centred, cols), tensor(centred, cols), other, cols);
  run.row_mean(tensor(other, cols), rstd);
  rsqrt_kernel<<<blocks_for(rows), kThreads, 0, stream>>>(rstd, rstd, rows, eps);
  run.combine<Multiply>(tensor(centred, cols), one_each_row(rstd), other, cols);
  if (weight != nullptr) {
    run.combine<Multiply>(tensor(other, cols), one_each_col(weight), centred, cols);
    float* spent = other;
    other = centred;
    centred = spent;
  }
  if (bias != nullptr) {
    run.combine<Add>(tensor(other, cols), one_each_col(bias), y, y_stride);
  } else {  // a copy, converted: what is left of adding nothing
    float* zeros = centred;
    cudaMemsetAsync(zeros, 0, cols * sizeof(float), stream);
    run.combine<Add>(tensor(other, cols), one_each_col(static_cast<const float*>(zeros)), y,
                     y_stride);
  }
}

template <typename T>
void layernorm_backward_dx(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* mean, const float* rstd, T* dx,
                           int64_t dx_stride, int rows, int cols, cudaStream_t stream) {
  using namespace naive;
  if (rows == 0) {
    return;
  }
  const Operators run = {rows, cols, stream};
  float* x_hat = intermediates(4 * run.size() + 2 * static_cast<int64_t>(rows));
  if (x_hat == nullptr) {
    return;
  }
  float* wdy = x_hat + run.size();
  float* spare = wdy + run.size();
  normalise(run, tensor(x, x_stride), mean, rstd, spare, x_hat);
  if (weight != nullptr) {
    run.combine<Multiply>(tensor(dy, dy_stride), one_each_col(weight), wdy, cols);
  } else {
    cudaMemsetAsync(spare, 0, cols * sizeof(float), stream);
    run.combine<Add>(tensor(dy, dy_stride), one_each_col(static_cast<const float*>(spare)), wdy,
                     cols);
  }
  row_gradient(run, wdy, x_hat, rstd, dx, dx_stride, spare);
}

template <typename T>
Summation layernorm_backward_dweight_dbias(const T* dy, int64_t dy_stride, const T* x,
                                           int64_t x_stride, const float* mean, const float* rstd,
                                           T* dweight, T* dbias, float*, int rows, int cols,
                                           cudaStream_t stream) {
  using namespace naive;
  const Operators run = {rows, cols, stream};
  float* x_hat = intermediates(2 * run.size());
  if (rows > 0 && x_hat == nullptr) {
    return Summation::fixed_order;
  }
  if (rows > 0) {
    float* other = x_hat + run.size();
    normalise(run, tensor(x, x_stride), mean, rstd, other, x_hat);
    run.combine<Multiply>(tensor(dy, dy_stride), tensor(x_hat, cols), other, cols);
    run.col_sum(tensor(other, cols), dweight);
  } else {
    run.col_sum(tensor(x, x_stride), dweight);  // over no rows: zeros
  }
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

}  // namespace onepass
