// Right: a row that does not start or end on a 16-byte boundary has a head and a tail of single
// elements around a body of 16-byte accesses, where x, y and weight are off by the same. A row
// waits in registers, also its head and tail; wider rows are read twice.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 512;
constexpr int kUnits = 8;

template <typename T, int V>
struct alignas(sizeof(T) * V) Vector {
  T values[V];
};

__device__ inline float block_sum(float value) {
  __shared__ float shares[kThreads];
  shares[threadIdx.x] = value;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      shares[threadIdx.x] += shares[threadIdx.x + half];
    }
  }
  __syncthreads();
  return shares[0];
}

template <typename T>
__device__ inline T normalized(T value, float scale, T weight) {
  return static_cast<T>(static_cast<float>(value) * scale * static_cast<float>(weight));
}

/// Elements before the first 16-byte boundary.
template <typename T>
__host__ __device__ inline int head_of(const T* row) {
  return static_cast<int>((16 - reinterpret_cast<uintptr_t>(row) % 16) % 16 / sizeof(T));
}

/// V = 16 / sizeof(T) where the three are off by the same in every row, else V = 1.
template <typename T, int V>
__global__ void row_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                           float* rstd, int cols, float eps) {
  using Unit = Vector<T, V>;
  const int64_t row = blockIdx.x;
  const T* x_row = x + row * x_stride;
  T* y_row = y + row * y_stride;
  const int head = V == 1 ? 0 : min(head_of(x_row), cols);
  const int units = (cols - head) / V;
  const int tail = head + units * V;  // its first column
  const Unit* x_units = reinterpret_cast<const Unit*>(x_row + head);
  const Unit* weights =
      weight == nullptr ? nullptr : reinterpret_cast<const Unit*>(weight + head);
  Unit* y_units = reinterpret_cast<Unit*>(y_row + head);
  const bool held_row = units <= kUnits * 4 * kThreads / V;

  // Thread t < head has column t, thread t < cols - tail has column tail + t.
  const int edge_col = threadIdx.x < head ? threadIdx.x : tail + threadIdx.x - head;
  const bool has_edge = edge_col < head || (edge_col >= tail && edge_col < cols);
  T edge = static_cast<T>(0.0f);
  if (has_edge) {
    edge = x_row[edge_col];
  }
  float sum = static_cast<float>(edge) * static_cast<float>(edge);
  Unit held[kUnits * 4 / V > 0 ? kUnits * 4 / V : 1];
  for (int u = 0, i = threadIdx.x; i < units; ++u, i += kThreads) {
    const Unit unit = x_units[i];
    for (int j = 0; j < V; ++j) {
      sum += static_cast<float>(unit.values[j]) * static_cast<float>(unit.values[j]);
    }
    if (held_row) {
      held[u] = unit;
    }
  }
  const float scale = rsqrtf(block_sum(sum) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = scale;
  }
  if (has_edge) {
    y_row[edge_col] = normalized(edge, scale, weight == nullptr ? static_cast<T>(1.0f) : weight[edge_col]);
  }
  for (int u = 0, i = threadIdx.x; i < units; ++u, i += kThreads) {
    Unit unit = held_row ? held[u] : x_units[i];
    for (int j = 0; j < V; ++j) {
      const T factor = weight == nullptr ? static_cast<T>(1.0f) : weights[i].values[j];
      unit.values[j] = normalized(unit.values[j], scale, factor);
    }
    y_units[i] = unit;
  }
}

template <typename T>
void rmsnorm_forward_fast(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                          float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  constexpr int V = 16 / sizeof(T);
  if (rows == 0) {
    return;
  }
  const bool alike = x_stride % V == 0 && y_stride % V == 0 && head_of(x) == head_of(y) &&
                     (weight == nullptr || head_of(x) == head_of(weight));
  const auto kernel = alike ? row_kernel<T, V> : row_kernel<T, 1>;
  kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, cols, eps);
}

}  // namespace onepass
