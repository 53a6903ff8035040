// The naive baseline of chapter 1: the same contract, run the way a framework without fusion runs
// it. Every operator is a kernel of its own over the whole tensor, and every intermediate result
// goes out to device memory and comes back. The arithmetic is right; the traffic is the lesson.
//
// The intermediates are fp32, as the contract asks for. Bytes moved per element of x, size bytes
// each: block_sum (size + 4) + 12, rmsnorm_forward (size + 4) + 4 + (size + 4) + (4 + size).

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

/// scaled[r][c] = x[r][c] * rstd[r].
template <typename T>
__global__ void scale_kernel(const T* x, int64_t x_stride, const float* rstd, float* scaled,
                             int rows, int cols) {
  const int64_t i = element_index();
  if (i < static_cast<int64_t>(rows) * cols) {
    const int64_t row = i / cols;
    scaled[i] = static_cast<float>(x[row * x_stride + i % cols]) * rstd[row];
  }
}

/// y[r][c] = scaled[r][c] * weight[c], rounded to T.
template <typename T>
__global__ void weight_kernel(const float* scaled, const T* weight, T* y, int64_t y_stride,
                              int rows, int cols) {
  const int64_t i = element_index();
  if (i < static_cast<int64_t>(rows) * cols) {
    const int64_t col = i % cols;
    y[i / cols * y_stride + col] = static_cast<T>(scaled[i] * static_cast<float>(weight[col]));
  }
}

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
  const int64_t elements = static_cast<int64_t>(rows) * cols;
  float* values = scratch(elements);  // [rows, cols], the squares and later the scaled rows
  if (values == nullptr) {
    return;
  }
  const unsigned blocks = blocks_for(elements);
  square_kernel<<<blocks, kThreads, 0, stream>>>(x, x_stride, values, rows, cols);
  mean_kernel<<<rows, kThreads, 0, stream>>>(values, rstd, cols);
  rsqrt_kernel<<<blocks_for(rows), kThreads, 0, stream>>>(rstd, rstd, rows, eps);
  scale_kernel<<<blocks, kThreads, 0, stream>>>(x, x_stride, rstd, values, rows, cols);
  weight_kernel<<<blocks, kThreads, 0, stream>>>(values, weight, y, y_stride, rows, cols);
}

}  // namespace onepass
