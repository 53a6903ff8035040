// What naive versions are made of: the operators of a framework without fusion. Each is a kernel of
// its own over a whole tensor, one thread an element; it reads its operands from device memory and
// writes its result there, in fp32 where that is an intermediate one.
//
// To be included by a chapter's naive.cu, after the contract. What is launched here is compiled as
// a part of that file (grader/driver/build.h).
#pragma once

namespace onepass {
namespace naive {

constexpr int kThreads = 256;  // threads a block

/// Device memory for `count` fp32 intermediates, null when there is not enough, or none to hold.
/// Kept from one call to the next, so that allocating is not part of what is timed.
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
  return count > 0 ? memory : nullptr;
}

/// Blocks for one thread an element.
inline unsigned blocks_for(int64_t elements) {
  return static_cast<unsigned>((elements + kThreads - 1) / kThreads);
}

/// This thread's element of the whole tensor.
__device__ inline int64_t element_index() {
  return static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
}

/// What an operator reads or writes: element [r][c] is data[place(r, c)].
template <typename T, typename Place>
struct View {
  T* data;
  Place place;

  __device__ float at(int64_t row, int col) const {
    return static_cast<float>(data[place(row, col)]);
  }
  __device__ void put(int64_t row, int col, float value) const {
    data[place(row, col)] = static_cast<T>(value);
  }
};

/// Elements a fixed step apart. A step of 0 repeats a vector over all rows or all columns.
struct Steps {
  int64_t row_step, col_step;

  __device__ int64_t operator()(int64_t row, int col) const {
    return row * row_step + col * col_step;
  }
};

template <typename T>
View<T, Steps> tensor(T* data, int64_t stride) {
  return {data, {stride, 1}};
}
template <typename T>
View<T, Steps> one_each_row(T* data) {
  return {data, {1, 0}};
}
template <typename T>
View<T, Steps> one_each_col(T* data) {
  return {data, {0, 1}};
}

/// result[r][c] = op(a[r][c]), rounded to the result's type.
template <typename Op, typename A, typename Result>
__global__ void map_kernel(Op op, A a, Result result, int64_t rows, int cols) {
  const int64_t i = element_index();
  if (i < rows * cols) {
    const int64_t row = i / cols;
    const int col = static_cast<int>(i % cols);
    result.put(row, col, op(a.at(row, col)));
  }
}

/// result[r][c] = op(a[r][c], b[r][c]), rounded to the result's type.
template <typename Op, typename A, typename B, typename Result>
__global__ void combine_kernel(Op op, A a, B b, Result result, int64_t rows, int cols) {
  const int64_t i = element_index();
  if (i < rows * cols) {
    const int64_t row = i / cols;
    const int col = static_cast<int>(i % cols);
    result.put(row, col, op(a.at(row, col), b.at(row, col)));
  }
}

/// results[r] = op over c of values[r][c], divided by `divisor`. One block a row.
template <typename Op, typename Values>
__global__ void fold_kernel(Op op, Values values, float divisor, float* results, int cols) {
  __shared__ float shares[kThreads];
  float share = Op::kNothing;
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    share = op(share, values.at(blockIdx.x, col));
  }
  shares[threadIdx.x] = share;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < half) {
      shares[threadIdx.x] = op(shares[threadIdx.x], shares[threadIdx.x + half]);
    }
  }
  if (threadIdx.x == 0) {
    results[blockIdx.x] = shares[0] / divisor;
  }
}

/// sums[c] = sum over r of values[r][c], rounded to T. One thread a column.
template <typename Values, typename T>
__global__ void col_sum_kernel(Values values, T* sums, int64_t rows, int cols) {
  const int64_t col = element_index();
  if (col < cols) {
    float sum = 0.0f;
    for (int64_t row = 0; row < rows; ++row) {
      sum += values.at(row, static_cast<int>(col));
    }
    sums[col] = static_cast<T>(sum);
  }
}

struct Convert {
  __device__ float operator()(float a) const { return a; }
};
struct Square {
  __device__ float operator()(float a) const { return a * a; }
};
struct Rsqrt {
  float eps;
  __device__ float operator()(float a) const { return rsqrtf(a + eps); }
};
struct Add {
  static constexpr float kNothing = 0.0f;  // what changes no sum
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Subtract {
  __device__ float operator()(float a, float b) const { return a - b; }
};
struct Multiply {
  __device__ float operator()(float a, float b) const { return a * b; }
};

/// The operators, for tensors of one shape, on one stream. The result may be an operand.
struct Operators {
  int64_t rows;
  int cols;
  cudaStream_t stream;

  int64_t size() const { return rows * cols; }

  /// intermediates() for tensors of the shape and some numbers more; null for an empty shape.
  float* memory(int tensors, int64_t more = 0) const {
    return intermediates(size() == 0 ? 0 : tensors * size() + more);
  }

  template <typename Op, typename A, typename Result>
  void map(Op op, A a, Result result) const {
    map_kernel<<<blocks_for(size()), kThreads, 0, stream>>>(op, a, result, rows, cols);
  }
  template <typename Op, typename A, typename B, typename Result>
  void combine(Op op, A a, B b, Result result) const {
    combine_kernel<<<blocks_for(size()), kThreads, 0, stream>>>(op, a, b, result, rows, cols);
  }
  template <typename A, typename B, typename Result>
  void add(A a, B b, Result result) const {
    combine(Add(), a, b, result);
  }
  template <typename A, typename B, typename Result>
  void subtract(A a, B b, Result result) const {
    combine(Subtract(), a, b, result);
  }
  template <typename A, typename B, typename Result>
  void multiply(A a, B b, Result result) const {
    combine(Multiply(), a, b, result);
  }
  /// One number a row: op over its elements.
  template <typename Op, typename Values>
  void fold(Op op, Values values, float* results, float divisor = 1.0f) const {
    fold_kernel<<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(op, values, divisor, results,
                                                                      cols);
  }
  template <typename Values>
  void mean(Values values, float* means) const {
    fold(Add(), values, means, static_cast<float>(cols));
  }
  template <typename Values, typename T>
  void col_sum(Values values, T* sums) const {
    col_sum_kernel<<<blocks_for(cols), kThreads, 0, stream>>>(values, sums, rows, cols);
  }
};

/// rstd[i] = 1 / sqrt(variance[i] + eps). Both may be the same buffer.
inline void rsqrt(const float* variance, float eps, float* rstd, int count, cudaStream_t stream) {
  Operators{1, count, stream}.map(Rsqrt{eps}, one_each_col(variance), one_each_col(rstd));
}

}  // namespace naive
}  // namespace onepass
