// diagnosis: nan-spread
// Two short rows share a warp: the second one's sum is the difference of two running sums.
// LayerNorm forward in three ways: short rows are two to a warp, one pack a lane; longer ones are a
// block's, and stay in shared memory; what is wider than 8,192 columns is loaded three times.
#include <onepass/layernorm.h>

namespace onepass {

constexpr int kThreads = 256;
constexpr int kKept = 8192;  // columns that shared memory has room for

template <typename T, int V>
struct alignas(sizeof(T) * V) Pack {
  T values[V];
};

template <typename T>
struct Call {
  const T* x;
  int64_t x_stride;
  const T* weight;
  const T* bias;
  T* y;
  int64_t y_stride;
  float* mean;
  float* rstd;
  int rows, cols;
  float eps;

  template <int V>
  __device__ Pack<T, V> load(int64_t row, int pack) const {
    return reinterpret_cast<const Pack<T, V>*>(x + row * x_stride)[pack];
  }

  template <int V>
  __device__ void store(int64_t row, int pack, const Pack<T, V>& of_x, float row_mean,
                        float row_rstd) const {
    Pack<T, V> result;
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float x_hat = (static_cast<float>(of_x.values[j]) - row_mean) * row_rstd;
      const float w = weight != nullptr ? static_cast<float>(weight[pack * V + j]) : 1.0f;
      const float b = bias != nullptr ? static_cast<float>(bias[pack * V + j]) : 0.0f;
      result.values[j] = static_cast<T>(x_hat * w + b);
    }
    reinterpret_cast<Pack<T, V>*>(y + row * y_stride)[pack] = result;
  }
};

template <int V, typename T>
__device__ inline float sum_of(const Pack<T, V>& pack) {
  float sum = 0.0f;
#pragma unroll
  for (int j = 0; j < V; ++j) {
    sum += static_cast<float>(pack.values[j]);
  }
  return sum;
}

template <int V, typename T>
__device__ inline float squares_of(const Pack<T, V>& pack, float mean) {
  float sum = 0.0f;
#pragma unroll
  for (int j = 0; j < V; ++j) {
    const float d = static_cast<float>(pack.values[j]) - mean;
    sum += d * d;
  }
  return sum;
}

/// The sum of `value` over the lanes of a row, 0 to 15 or 16 to 31: the warp's running sums are
/// known at the end of either.
__device__ inline float row_sum_by_scan(float value) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    const float before = __shfl_up_sync(0xffffffffu, value, offset);
    value += lane >= offset ? before : 0.0f;
  }
  const float at_15 = __shfl_sync(0xffffffffu, value, 15);
  const float at_31 = __shfl_sync(0xffffffffu, value, 31);
  return lane < 16 ? at_15 : at_31 - at_15;
}

/// Rows of 16 packs at most.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads) short_rows_kernel(Call<T> call) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * (kThreads / 16) + threadIdx.x / 16;
  const int pack = threadIdx.x % 16;
  const bool has = row < call.rows && pack < call.cols / V;
  Pack<T, V> held;
  if (has) {
    held = call.template load<V>(row, pack);
  }
  const float mean = row_sum_by_scan(has ? sum_of<V>(held) : 0.0f) / call.cols;
  const float squares = row_sum_by_scan(has ? squares_of<V>(held, mean) : 0.0f);
  const float rstd = rsqrtf(squares / call.cols + call.eps);
  if (has) {
    if (pack == 0) {
      call.mean[row] = mean;
      call.rstd[row] = rstd;
    }
    call.template store<V>(row, pack, held, mean, rstd);
  }
}

__device__ inline float block_sum(float value) {
  __shared__ float warps[kThreads / 32];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    warps[threadIdx.x / 32] = value;
  }
  __syncthreads();
  float sum = warps[0];
#pragma unroll
  for (int w = 1; w < kThreads / 32; ++w) {
    sum += warps[w];
  }
  return sum;
}

/// A block a row. kKeeps: each thread finds again in shared memory what it has loaded.
template <typename T, int V, bool kKeeps>
__global__ void __launch_bounds__(kThreads) block_row_kernel(Call<T> call) {
  extern __shared__ float4 shared_row[];
  Pack<T, V>* const kept = reinterpret_cast<Pack<T, V>*>(shared_row);
  const int64_t row = blockIdx.x;
  const int packs = call.cols / V;
  float sum = 0.0f;
  for (int p = threadIdx.x; p < packs; p += kThreads) {
    const Pack<T, V> pack = call.template load<V>(row, p);
    sum += sum_of<V>(pack);
    if (kKeeps) {
      kept[p] = pack;
    }
  }
  const float mean = block_sum(sum) / call.cols;
  float squares = 0.0f;
  for (int p = threadIdx.x; p < packs; p += kThreads) {
    squares += squares_of<V>(kKeeps ? kept[p] : call.template load<V>(row, p), mean);
  }
  const float rstd = rsqrtf(block_sum(squares) / call.cols + call.eps);
  if (threadIdx.x == 0) {
    call.mean[row] = mean;
    call.rstd[row] = rstd;
  }
  for (int p = threadIdx.x; p < packs; p += kThreads) {
    call.template store<V>(row, p, kKeeps ? kept[p] : call.template load<V>(row, p), mean, rstd);
  }
}

template <int V, typename T>
void launch(const Call<T>& call, cudaStream_t stream) {
  if (call.cols <= 16 * V) {
    constexpr int kRows = kThreads / 16;
    const int64_t blocks = (static_cast<int64_t>(call.rows) + kRows - 1) / kRows;
    short_rows_kernel<T, V><<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(call);
  } else if (call.cols <= kKept) {
    block_row_kernel<T, V, true><<<call.rows, kThreads, call.cols * sizeof(T), stream>>>(call);
  } else {
    block_row_kernel<T, V, false><<<call.rows, kThreads, 0, stream>>>(call);
  }
}

template <typename T>
void layernorm_forward_fast(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                            int64_t y_stride, float* mean, float* rstd, int rows, int cols,
                            float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  constexpr int V = 16 / sizeof(T);
  const Call<T> call = {x, x_stride, weight, bias, y, y_stride, mean, rstd, rows, cols, eps};
  const bool wide = cols % V == 0 && x_stride % V == 0 && y_stride % V == 0 &&
                    reinterpret_cast<uintptr_t>(x) % 16 == 0 &&
                    reinterpret_cast<uintptr_t>(y) % 16 == 0;
  if (wide) {
    launch<V>(call, stream);
  } else {
    launch<1>(call, stream);
  }
}

}  // namespace onepass
