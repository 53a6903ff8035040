// The naive baseline of chapter 1: the same contract, run the way a framework without fusion runs
// it. Every operator is a kernel of its own over the whole tensor, and every intermediate result
// goes out to device memory and comes back. The arithmetic is right; the traffic is the lesson.
//
// The intermediates are fp32, as the contract asks for. Tensors of [rows, cols] that pass through
// memory, against the least possible: block_sum 5 (1), rmsnorm_forward 7 (2), rmsnorm_backward 19
// (3), and 2 more in LLaMA's order, rmsnorm_residual 10 (4).

#include <onepass/rmsnorm.h>

namespace onepass {
namespace naive {

constexpr int kThreads = 256;  // threads a block

/// Device memory for `count` fp32 intermediates, null when there is not enough. Kept from one call
/// to the next, so that allocating is not part of what is timed.
inline float* scratch(int64_t count) {
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

/// Blocks for one thread an element.
inline unsigned blocks_for(int64_t elements) {
  return static_cast<unsigned>((elements + kThreads - 1) / kThreads);
}

/// This thread's element of the whole tensor.
__device__ inline int64_t element_index() {
  return static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
}

/// converted[r][c] = x[r][c] in fp32.
template <typename T>
__global__ void convert_kernel(const T* x, int64_t x_stride, float* converted, int rows, int cols) {
  const int64_t i = element_index();
  if (i < static_cast<int64_t>(rows) * cols) {
    converted[i] = static_cast<float>(x[i / cols * x_stride + i % cols]);
  }
}

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

/// squares[r][c] = x[r][c]^2.
template <typename T>
__global__ void square_kernel(const T* x, int64_t x_stride, float* squares, int rows, int cols) {
  const int64_t i = element_index();
  if (i < static_cast<int64_t>(rows) * cols) {
    const float value = static_cast<float>(x[i / cols * x_stride + i % cols]);
    squares[i] = value * value;
  }
}

/// means[r] = mean over c of values[r][c]. One block a row.
__global__ void mean_kernel(const float* values, float* means, int cols) {
  __shared__ float shares[kThreads];
  const float* values_row = values + static_cast<int64_t>(blockIdx.x) * cols;
  float share = 0.0f;
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    share += values_row[col];
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

/// rstd[r] = 1 / sqrt(means[r] + eps). `means` and `rstd` may be the same buffer.
__global__ void rsqrt_kernel(const float* means, float* rstd, int rows, float eps) {
  const int64_t row = element_index();
  if (row < rows) {
    rstd[row] = rsqrtf(means[row] + eps);
  }
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
struct Multiply {
  __device__ static float of(float a, float b) { return a * b; }
};
struct Subtract {
  __device__ static float of(float a, float b) { return a - b; }
};

/// result[r][c] = a[r][c] and b[r][c] put through Op, rounded to T. One thread an element.
template <typename Op, typename A, typename B, typename T>
__global__ void combine_kernel(Operand<A> a, Operand<B> b, T* result, int64_t result_stride,
                               int rows, int cols) {
  const int64_t i = element_index();
  if (i < static_cast<int64_t>(rows) * cols) {
    const int64_t row = i / cols;
    const int64_t col = i % cols;
    result[row * result_stride + col] = static_cast<T>(Op::of(a.at(row, col), b.at(row, col)));
  }
}

/// values[r][c] rounded to T, and a float again.
template <typename T>
__global__ void round_kernel(float* values, int rows, int cols) {
  const int64_t i = element_index();
  if (i < static_cast<int64_t>(rows) * cols) {
    values[i] = static_cast<float>(static_cast<T>(values[i]));
  }
}

/// sums[c] = sum over r of values[r][c], rounded to T. One thread a column.
template <typename T>
__global__ void col_sum_kernel(const float* values, T* sums, int rows, int cols) {
  const int64_t col = element_index();
  if (col < cols) {
    float sum = 0.0f;
    for (int row = 0; row < rows; ++row) {
      sum += values[static_cast<int64_t>(row) * cols + col];
    }
    sums[col] = static_cast<T>(sum);
  }
}

/// Operators of two tensors of one shape, on one stream.
struct Operators {
  int rows, cols;
  cudaStream_t stream;

  int64_t size() const { return static_cast<int64_t>(rows) * cols; }

  template <typename Op, typename A, typename B, typename T>
  void combine(Operand<A> a, Operand<B> b, T* result, int64_t stride) const {
    combine_kernel<Op>
        <<<blocks_for(size()), kThreads, 0, stream>>>(a, b, result, stride, rows, cols);
  }
};

}  // namespace naive

template <typename T>
void block_sum(const T* x, int64_t x_stride, float* sums, int rows, int cols, cudaStream_t stream) {
  using namespace naive;
  if (rows == 0) {
    return;
  }
  const int64_t elements = static_cast<int64_t>(rows) * cols;
  float* values = scratch(2 * elements);  // [rows, cols], and behind it room for the next level
  if (values == nullptr) {
    return;
  }
  float* next = values + elements;
  convert_kernel<<<blocks_for(elements), kThreads, 0, stream>>>(x, x_stride, values, rows, cols);
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
  if (rows == 0) {
    return;
  }
  const Operators run = {rows, cols, stream};
  float* values = scratch(run.size());  // [rows, cols], the squares and later the scaled rows
  if (values == nullptr) {
    return;
  }
  square_kernel<<<blocks_for(run.size()), kThreads, 0, stream>>>(x, x_stride, values, rows, cols);
  mean_kernel<<<rows, kThreads, 0, stream>>>(values, rstd, cols);
  rsqrt_kernel<<<blocks_for(rows), kThreads, 0, stream>>>(rstd, rstd, rows, eps);
  if (weight == nullptr) {  // which only rmsnorm_forward_fast may get
    run.combine<Multiply>(tensor(x, x_stride), one_each_row(rstd), y, y_stride);
    return;
  }
  run.combine<Multiply>(tensor(x, x_stride), one_each_row(rstd), values, cols);
  run.combine<Multiply>(tensor(values, cols), one_each_col(weight), y, y_stride);
}

template <typename T>
void rmsnorm_forward_fast(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                          float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  rmsnorm_forward(x, x_stride, weight, y, y_stride, rstd, rows, cols, eps, stream);
}

template <typename T>
void rmsnorm_backward(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                      const float* rstd, T* dx, int64_t dx_stride, T* dweight, float*,
                      CastOrder order, int rows, int cols, cudaStream_t stream) {
  using namespace naive;
  const Operators run = {rows, cols, stream};
  float* x_hat = scratch(3 * run.size() + rows);
  if (rows > 0 && x_hat == nullptr) {
    return;
  }
  float* wdy = x_hat + run.size();
  float* other = wdy + run.size();
  float* mean = other + run.size();
  if (rows > 0) {
    run.combine<Multiply>(tensor(x, x_stride), one_each_row(rstd), x_hat, cols);
    run.combine<Multiply>(tensor(dy, dy_stride), one_each_col(weight), wdy, cols);
    run.combine<Multiply>(tensor(wdy, cols), tensor(x_hat, cols), other, cols);
    mean_kernel<<<rows, kThreads, 0, stream>>>(other, mean, cols);
    run.combine<Multiply>(tensor(x_hat, cols), one_each_row(mean), other, cols);
    run.combine<Subtract>(tensor(wdy, cols), tensor(other, cols), wdy, cols);
    run.combine<Multiply>(tensor(wdy, cols), one_each_row(rstd), dx, dx_stride);
    if (order == CastOrder::llama) {
      round_kernel<T><<<blocks_for(run.size()), kThreads, 0, stream>>>(x_hat, rows, cols);
    }
    run.combine<Multiply>(tensor(dy, dy_stride), tensor(x_hat, cols), other, cols);
  }
  // Over no rows: zeros.
  col_sum_kernel<<<blocks_for(cols), kThreads, 0, stream>>>(other, dweight, rows, cols);
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
  run.combine<Add>(tensor(x, x_stride), tensor(residual, residual_stride), sum, sum_stride);
  rmsnorm_forward(static_cast<const T*>(sum), sum_stride, weight, y, y_stride, rstd, rows, cols,
                  eps, stream);
}

}  // namespace onepass
