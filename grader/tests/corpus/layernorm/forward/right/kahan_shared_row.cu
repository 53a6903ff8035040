// Right: the row is kept in dynamic shared memory where it fits; Kahan's sums, 96 threads a block,
// tiles of cooperative groups.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <onepass/layernorm.h>

namespace onepass {

namespace cg = cooperative_groups;

constexpr int kThreads = 96;
constexpr int kMostHeld = 8192;  // columns in shared memory

/// A sum that carries along what its additions lost.
struct Kahan {
  float sum = 0.0f;
  float lost = 0.0f;
  __device__ void add(float value) {
    const float corrected = value - lost;
    const float next = sum + corrected;
    lost = (next - sum) - corrected;
    sum = next;
  }
};

__device__ inline float block_sum_of(float value) {
  __shared__ float partial[kThreads / 32];
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<32>(block);
  const float sum = cg::reduce(tile, value, cg::plus<float>());
  block.sync();
  if (tile.thread_rank() == 0) {
    partial[threadIdx.x / 32] = sum;
  }
  block.sync();
  return partial[0] + partial[1] + partial[2];
}

template <typename T>
__global__ void layernorm_kernel(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                                 int64_t y_stride, float* mean, float* rstd, int cols, float eps) {
  extern __shared__ float held[];
  const bool holds = cols <= kMostHeld;
  const int64_t row = blockIdx.x;
  const T* x_row = x + row * x_stride;
  const auto value_at = [&](int col) { return holds ? held[col] : static_cast<float>(x_row[col]); };
  Kahan sum;
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float value = static_cast<float>(x_row[col]);
    if (holds) {
      held[col] = value;
    }
    sum.add(value);
  }
  const float row_mean = block_sum_of(sum.sum) / cols;
  Kahan squares;
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    squares.add((value_at(col) - row_mean) * (value_at(col) - row_mean));
  }
  const float row_rstd = 1.0f / sqrtf(block_sum_of(squares.sum) / cols + eps);
  if (threadIdx.x == 0) {
    mean[row] = row_mean;
    rstd[row] = row_rstd;
  }
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    float result = (value_at(col) - row_mean) * row_rstd;
    result *= weight != nullptr ? static_cast<float>(weight[col]) : 1.0f;
    result += bias != nullptr ? static_cast<float>(bias[col]) : 0.0f;
    y[row * y_stride + col] = static_cast<T>(result);
  }
}

template <typename T>
void layernorm_forward(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                       int64_t y_stride, float* mean, float* rstd, int rows, int cols, float eps,
                       cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  const size_t bytes = cols <= kMostHeld ? cols * sizeof(float) : 0;
  layernorm_kernel<<<rows, kThreads, bytes, stream>>>(x, x_stride, weight, bias, y, y_stride, mean,
                                                      rstd, cols, eps);
}

}  // namespace onepass
