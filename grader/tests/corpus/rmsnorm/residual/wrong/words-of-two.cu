// diagnosis: loaded-twice
// says: residual was loaded 2 times
// Where residual lies one element off, two neighbouring threads load each of its words.
#include <onepass/rmsnorm.h>

#include <cstring>

namespace onepass {

constexpr int kThreads = 1024;

template <typename T, int V>
struct alignas(sizeof(T) * V) Group {
  T values[V];
};

template <typename T>
__device__ inline bool at_word(const T* address) {
  return reinterpret_cast<uintptr_t>(address) % 4 == 0;
}

/// Columns col to col + V - 1 of a row, zeros where it has none.
template <typename T, int V>
__device__ inline Group<T, V> load_group(const T* row, int col, int cols) {
  Group<T, V> group = {};
  if (V == 1 || col < 0 || col + V > cols) {
#pragma unroll
    for (int j = 0; j < V; ++j) {
      if (col + j >= 0 && col + j < cols) {
        group.values[j] = row[col + j];
      }
    }
    return group;
  }
  if (at_word(row + col)) {
    return *reinterpret_cast<const Group<T, V>*>(row + col);
  }
  if (col == 0 || col + V == cols) {  // one of the words is not all of this row
#pragma unroll
    for (int j = 0; j < V; ++j) {
      group.values[j] = row[col + j];
    }
    return group;
  }
  const auto* words = reinterpret_cast<const uint32_t*>(row + col - 1);
  const uint32_t word = __funnelshift_r(words[0], words[1], 16);
  memcpy(&group, &word, sizeof(word) < sizeof(group) ? sizeof(word) : sizeof(group));
  return group;
}

template <typename T, int V>
__device__ inline void store_group(T* row, int col, int cols, const Group<T, V>& group) {
  if (V > 1 && col >= 0 && col + V <= cols && at_word(row + col)) {
    *reinterpret_cast<Group<T, V>*>(row + col) = group;
    return;
  }
#pragma unroll
  for (int j = 0; j < V; ++j) {
    if (col + j >= 0 && col + j < cols) {
      row[col + j] = group.values[j];
    }
  }
}

__device__ inline float block_sum_of(float value) {
  __shared__ float partial[kThreads / 32];
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  if (lane == 0) {
    partial[threadIdx.x / 32] = value;
  }
  __syncthreads();
  value = lane < static_cast<int>(blockDim.x) / 32 ? partial[lane] : 0.0f;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// sum = T(x + residual) in place of x; the sum of squares of the rounded ones.
template <typename T, int V>
__device__ inline float add_up(Group<T, V>& x, const Group<T, V>& residual) {
  float squares = 0.0f;
#pragma unroll
  for (int j = 0; j < V; ++j) {
    x.values[j] =
        static_cast<T>(static_cast<float>(x.values[j]) + static_cast<float>(residual.values[j]));
    const float value = static_cast<float>(x.values[j]);
    squares += value * value;
  }
  return squares;
}

template <typename T, int V>
__device__ inline void store_y(T* y_row, int col, int cols, const Group<T, V>& sum, float rstd,
                               const T* weight) {
  Group<T, V> result = {};
#pragma unroll
  for (int j = 0; j < V; ++j) {
    if (col + j >= 0 && col + j < cols) {
      result.values[j] = static_cast<T>(static_cast<float>(sum.values[j]) * rstd *
                                        static_cast<float>(weight[col + j]));
    }
  }
  store_group<T, V>(y_row, col, cols, result);
}

/// A block a row. Up to 16 columns a thread (and one more) are held; what comes behind them, in wide
/// rows, is taken from sum again.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    residual_kernel(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                    const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                    float* rstd, int cols, float eps) {
  constexpr int kGroups = 16 / V + (V > 1 ? 1 : 0);
  const int64_t row = blockIdx.x;
  const T* x_row = x + row * x_stride;
  const T* residual_row = residual + row * residual_stride;
  T* sum_row = sum + row * sum_stride;
  T* y_row = y + row * y_stride;
  const int lead = V == 1 || at_word(x_row) ? 0 : 1;  // group i begins with column i * V - lead
  const int groups = (lead + cols + V - 1) / V;

  Group<T, V> held[kGroups] = {};
  float squares = 0.0f;
#pragma unroll
  for (int k = 0; k < kGroups; ++k) {  // nothing is stored before all of these are loaded
    const int i = k * blockDim.x + threadIdx.x;
    if (i < groups) {
      held[k] = load_group<T, V>(x_row, i * V - lead, cols);
      squares += add_up<T, V>(held[k], load_group<T, V>(residual_row, i * V - lead, cols));
    }
  }
  const int behind = kGroups * blockDim.x;
  for (int col = behind * V - lead + threadIdx.x; col < cols; col += blockDim.x) {
    Group<T, 1> one = load_group<T, 1>(x_row, col, cols);
    squares += add_up<T, 1>(one, load_group<T, 1>(residual_row, col, cols));
    sum_row[col] = one.values[0];
  }
  const float row_rstd = rsqrtf(block_sum_of(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = row_rstd;
  }
#pragma unroll
  for (int k = 0; k < kGroups; ++k) {
    const int i = k * blockDim.x + threadIdx.x;
    if (i < groups) {
      store_group<T, V>(sum_row, i * V - lead, cols, held[k]);
      store_y<T, V>(y_row, i * V - lead, cols, held[k], row_rstd, weight);
    }
  }
  for (int col = behind * V - lead + threadIdx.x; col < cols; col += blockDim.x) {
    store_y<T, 1>(y_row, col, cols, load_group<T, 1>(sum_row, col, cols), row_rstd, weight);
  }
}

template <typename T>
void rmsnorm_residual(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                      const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                      float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  const int wanted = (cols + 16 * 32 - 1) / (16 * 32) * 32;  // 16 columns a thread
  const int threads = wanted < kThreads ? wanted : kThreads;
  residual_kernel<T, 4 / sizeof(T)><<<rows, threads, 0, stream>>>(
      x, x_stride, residual, residual_stride, weight, sum, sum_stride, y, y_stride, rstd, cols,
      eps);
}

}  // namespace onepass
