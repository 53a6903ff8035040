// diagnosis: loaded-twice
// Many narrow rows have kernels of their own, which load dy and x again.
// RMSNorm backward. Persistent blocks keep the row's dy and x, and the columns' sums, in shared
// memory. Wide rows take two plain kernels, and so do tall and narrow inputs, whose rows are too
// short for a block that waits at a barrier in each of them.
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kOnePassCols = 8192;
constexpr int kNarrowCols = 512;
constexpr int kTallRows = 4096;

template <typename T, int V>
struct alignas(V * sizeof(T)) vec_t {
  T data[V];
};

template <typename T>
__device__ __forceinline__ float as_forward(float n, bool llama) {
  return llama ? static_cast<float>(static_cast<T>(n)) : n;
}

__device__ __forceinline__ float warp_total(float v) {
  v += __shfl_xor_sync(0xffffffff, v, 16);
  v += __shfl_xor_sync(0xffffffff, v, 8);
  v += __shfl_xor_sync(0xffffffff, v, 4);
  v += __shfl_xor_sync(0xffffffff, v, 2);
  v += __shfl_xor_sync(0xffffffff, v, 1);
  return v;
}

template <typename T, int V>
__global__ void persistent_kernel(const T* __restrict__ dy, int64_t dy_stride,
                                  const T* __restrict__ x, int64_t x_stride,
                                  const T* __restrict__ weight, const float* __restrict__ rstd,
                                  T* __restrict__ dx, int64_t dx_stride,
                                  float* __restrict__ partial, bool llama, int rows, int cols) {
  using vec = vec_t<T, V>;
  extern __shared__ float4 smem[];  // sums [cols], dy [cols], x [cols]
  __shared__ float warp_sums[32];
  float* sums = reinterpret_cast<float*>(smem);
  vec* dy_s = reinterpret_cast<vec*>(sums + cols);
  vec* x_s = dy_s + cols / V;
  const int n = cols / V;
  const int tid = threadIdx.x;
  for (int i = tid; i < n; i += blockDim.x) {
    for (int j = 0; j < V; ++j) {
      sums[i * V + j] = 0.f;
    }
  }
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const vec* dy_v = reinterpret_cast<const vec*>(dy + row * dy_stride);
    const vec* x_v = reinterpret_cast<const vec*>(x + row * x_stride);
    const vec* w_v = reinterpret_cast<const vec*>(weight);
    vec* dx_v = reinterpret_cast<vec*>(dx + row * dx_stride);
    const float s = rstd[row];
    float dot = 0.f;
    for (int i = tid; i < n; i += blockDim.x) {
      const vec a = dy_v[i];
      const vec b = x_v[i];
      const vec w = w_v[i];
      dy_s[i] = a;
      x_s[i] = b;
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const float g = static_cast<float>(a.data[j]);
        const float h = static_cast<float>(b.data[j]) * s;
        dot += g * static_cast<float>(w.data[j]) * h;
        sums[i * V + j] += g * as_forward<T>(h, llama);
      }
    }
    dot = warp_total(dot);
    __syncthreads();
    if (tid % 32 == 0) {
      warp_sums[tid / 32] = dot;
    }
    __syncthreads();
    dot = warp_total(tid % 32 < blockDim.x / 32 ? warp_sums[tid % 32] : 0.f);
    const float mean = dot / cols;
    for (int i = tid; i < n; i += blockDim.x) {
      const vec a = dy_s[i];
      const vec b = x_s[i];
      const vec w = w_v[i];
      vec r;
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const float g = static_cast<float>(a.data[j]) * static_cast<float>(w.data[j]);
        r.data[j] = static_cast<T>(s * (g - static_cast<float>(b.data[j]) * s * mean));
      }
      dx_v[i] = r;
    }
  }
  for (int i = tid; i < n; i += blockDim.x) {
    for (int j = 0; j < V; ++j) {
      partial[static_cast<size_t>(blockIdx.x) * cols + i * V + j] = sums[i * V + j];
    }
  }
}

/// A warp a row.
template <typename T, int V>
__global__ void rows_kernel(const T* __restrict__ dy, int64_t dy_stride, const T* __restrict__ x,
                            int64_t x_stride, const T* __restrict__ weight,
                            const float* __restrict__ rstd, T* __restrict__ dx, int64_t dx_stride,
                            int rows, int cols) {
  using vec = vec_t<T, V>;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  if (row >= rows) {
    return;
  }
  const int lane = threadIdx.x % 32;
  const vec* dy_v = reinterpret_cast<const vec*>(dy + row * dy_stride);
  const vec* x_v = reinterpret_cast<const vec*>(x + row * x_stride);
  const vec* w_v = reinterpret_cast<const vec*>(weight);
  vec* dx_v = reinterpret_cast<vec*>(dx + row * dx_stride);
  const float s = rstd[row];
  float dot = 0.f;
  for (int i = lane; i < cols / V; i += 32) {
    const vec a = dy_v[i];
    const vec b = x_v[i];
    const vec w = w_v[i];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      dot += static_cast<float>(a.data[j]) * static_cast<float>(w.data[j]) *
             (static_cast<float>(b.data[j]) * s);
    }
  }
  const float mean = warp_total(dot) / cols;
  for (int i = lane; i < cols / V; i += 32) {
    const vec a = dy_v[i];
    const vec b = x_v[i];
    const vec w = w_v[i];
    vec r;
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float g = static_cast<float>(a.data[j]) * static_cast<float>(w.data[j]);
      r.data[j] = static_cast<T>(s * (g - static_cast<float>(b.data[j]) * s * mean));
    }
    dx_v[i] = r;
  }
}

template <typename T, int V>
__global__ void columns_kernel(const T* __restrict__ dy, int64_t dy_stride,
                               const T* __restrict__ x, int64_t x_stride,
                               const float* __restrict__ rstd, float* __restrict__ partial,
                               bool llama, int rows, int cols) {
  using vec = vec_t<T, V>;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= cols / V) {
    return;
  }
  float sums[V] = {};
  for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
    const vec a = reinterpret_cast<const vec*>(dy + row * dy_stride)[i];
    const vec b = reinterpret_cast<const vec*>(x + row * x_stride)[i];
    const float s = rstd[row];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      sums[j] += static_cast<float>(a.data[j]) *
                 as_forward<T>(static_cast<float>(b.data[j]) * s, llama);
    }
  }
#pragma unroll
  for (int j = 0; j < V; ++j) {
    partial[static_cast<size_t>(blockIdx.y) * cols + i * V + j] = sums[j];
  }
}

template <typename T>
__global__ void reduce_kernel(const float* __restrict__ partial, T* __restrict__ dweight,
                              int groups, int cols) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < cols) {
    float sum = 0.f;
    for (int g = 0; g < groups; ++g) {
      sum += partial[static_cast<size_t>(g) * cols + c];
    }
    dweight[c] = static_cast<T>(sum);
  }
}

template <typename T, int V>
int first_stage(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                const float* rstd, T* dx, int64_t dx_stride, float* scratch, bool llama, int rows,
                int cols, cudaStream_t stream) {
  const int n = cols / V;
  const bool tall = rows > kTallRows && cols <= kNarrowCols;
  if (cols > kOnePassCols || tall) {
    const int groups = rows < 256 ? rows : 256;
    const unsigned blocks = static_cast<unsigned>((static_cast<int64_t>(rows) + 3) / 4);
    rows_kernel<T, V><<<blocks, 128, 0, stream>>>(dy, dy_stride, x, x_stride, weight, rstd, dx,
                                                  dx_stride, rows, cols);
    columns_kernel<T, V><<<dim3((n + 63) / 64, groups), 64, 0, stream>>>(
        dy, dy_stride, x, x_stride, rstd, scratch, llama, rows, cols);
    return groups;
  }
  int device = 0;
  int sms = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  const int threads = n < 512 ? (n + 31) / 32 * 32 : 512;
  const int groups = rows < 2 * sms ? rows : 2 * sms;
  const int capped = groups < kRmsnormMostGroups ? groups : kRmsnormMostGroups;
  const size_t bytes = static_cast<size_t>(cols) * (sizeof(float) + 2 * sizeof(T));
  cudaFuncSetAttribute(persistent_kernel<T, V>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       static_cast<int>(bytes));
  persistent_kernel<T, V><<<capped, threads, bytes, stream>>>(dy, dy_stride, x, x_stride, weight,
                                                              rstd, dx, dx_stride, scratch, llama,
                                                              rows, cols);
  return capped;
}

template <typename T>
void rmsnorm_backward_fast(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* rstd, T* dx, int64_t dx_stride, T* dweight,
                           float* scratch, CastOrder order, int rows, int cols,
                           cudaStream_t stream) {
  constexpr int V = 16 / sizeof(T);
  const auto fits = [&](const T* p, int64_t stride) {
    return reinterpret_cast<uintptr_t>(p) % 16 == 0 && stride % V == 0;
  };
  const bool vectors = cols % V == 0 && fits(dy, dy_stride) && fits(x, x_stride) &&
                       fits(weight, 0) && fits(dx, dx_stride);
  const bool llama = order == CastOrder::llama;
  int groups = 0;
  if (rows > 0) {
    groups = vectors ? first_stage<T, V>(dy, dy_stride, x, x_stride, weight, rstd, dx, dx_stride,
                                         scratch, llama, rows, cols, stream)
                     : first_stage<T, 1>(dy, dy_stride, x, x_stride, weight, rstd, dx, dx_stride,
                                         scratch, llama, rows, cols, stream);
  }
  reduce_kernel<T><<<(cols + 127) / 128, 128, 0, stream>>>(scratch, dweight, groups, cols);
}

}  // namespace onepass
