// Right: a row is held in the registers of a block. From sm_90 on y leaves in bulk: the threads put it
// into shared memory, and one of them hands the whole row to the copy engine. PTX says so, behind
// __CUDA_ARCH__.

#include <cooperative_groups.h>
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kMostThreads = 1024;
constexpr int kColumns = 16;  // of a thread

template <typename T, int V>
struct alignas(sizeof(T) * V) Pack {
  T values[V];
};

__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

__device__ inline float block_sum_of(float value) {
  __shared__ float sums[32];
  const int lane = threadIdx.x % 32;
  value = warp_sum(value);
  if (lane == 0) {
    sums[threadIdx.x / 32] = value;
  }
  __syncthreads();
  return warp_sum(lane < blockDim.x / 32 ? sums[lane] : 0.0f);
}

template <typename T, int V>
__device__ inline Pack<T, V> result_of(const Pack<T, V>& x_pack, const T* weight, int i,
                                       float scale) {
  Pack<T, V> result;
  if (weight == nullptr) {
#pragma unroll
    for (int j = 0; j < V; ++j) {
      result.values[j] = static_cast<T>(static_cast<float>(x_pack.values[j]) * scale);
    }
    return result;
  }
  const Pack<T, V> factors = reinterpret_cast<const Pack<T, V>*>(weight)[i];
#pragma unroll
  for (int j = 0; j < V; ++j) {
    result.values[j] = static_cast<T>(static_cast<float>(x_pack.values[j]) * scale *
                                      static_cast<float>(factors.values[j]));
  }
  return result;
}

/// Copies `bytes` of shared memory that all threads of the block have written to global memory, and
/// waits until they have been read. (What threads stored, the copy engine only sees behind a fence
/// of each of them.)
__device__ inline void store_in_bulk(void* global, const void* shared, unsigned bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    const auto from = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    const auto to = static_cast<unsigned long long>(__cvta_generic_to_global(global));
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from),
                 "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");  // the block may end then
  }
#endif
}

template <typename T, int V, bool kBulk>
__global__ void __launch_bounds__(kMostThreads)
    held_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride, float* rstd,
                int cols, float eps) {
  using RowPack = Pack<T, V>;
  constexpr int kPacks = kColumns / V;
  extern __shared__ float4 memory[];
  const int64_t row = blockIdx.x;
  const int packs = cols / V;
  const auto* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
  auto* y_row = kBulk ? reinterpret_cast<RowPack*>(memory)
                      : reinterpret_cast<RowPack*>(y + row * y_stride);
  RowPack held[kPacks] = {};
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = p * blockDim.x + threadIdx.x;
    if (i < packs) {
      held[p] = x_row[i];
    }
  }
  float squares = 0.0f;
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float value = static_cast<float>(held[p].values[j]);
      squares += value * value;
    }
  }
  const float scale = rsqrtf(block_sum_of(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = scale;
  }
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int i = p * blockDim.x + threadIdx.x;
    if (i < packs) {
      y_row[i] = result_of(held[p], weight, i, scale);
    }
  }
  if (kBulk) {
    store_in_bulk(y + row * y_stride, memory, cols * sizeof(T));
  }
}

template <typename T, int V>
__global__ void __launch_bounds__(kMostThreads)
    wide_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride, float* rstd,
                int cols, float eps) {
  using RowPack = Pack<T, V>;
  const int64_t row = blockIdx.x;
  const auto* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
  auto* y_row = reinterpret_cast<RowPack*>(y + row * y_stride);
  float squares = 0.0f;
#pragma unroll 4
  for (int i = threadIdx.x; i < cols / V; i += kMostThreads) {
    const RowPack pack = x_row[i];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      squares += static_cast<float>(pack.values[j]) * static_cast<float>(pack.values[j]);
    }
  }
  const float scale = rsqrtf(block_sum_of(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = scale;
  }
#pragma unroll 2
  for (int i = threadIdx.x; i < cols / V; i += kMostThreads) {
    const RowPack pack = x_row[i];
    y_row[i] = result_of(pack, weight, i, scale);
  }
}

inline bool has_bulk_copies() {
  static const bool has = [] {
    int device = 0, major = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    return major >= 9;
  }();
  return has;
}

template <typename T, int V>
void launch(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride, float* rstd,
            int rows, int cols, float eps, cudaStream_t stream) {
  if (cols > kColumns * kMostThreads) {
    wide_kernel<T, V><<<rows, kMostThreads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd,
                                                         cols, eps);
    return;
  }
  const int threads = ((cols + kColumns - 1) / kColumns + 31) / 32 * 32;
  if constexpr (V > 1) {
    if (has_bulk_copies() && cols >= 1024) {
      const int bytes = cols * static_cast<int>(sizeof(T));
      static const cudaError_t allowed =
          cudaFuncSetAttribute(held_kernel<T, V, true>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(kColumns * kMostThreads * sizeof(T)));
      static_cast<void>(allowed);
      held_kernel<T, V, true><<<rows, threads, bytes, stream>>>(x, x_stride, weight, y, y_stride,
                                                                rstd, cols, eps);
      return;
    }
  }
  held_kernel<T, V, false><<<rows, threads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd,
                                                         cols, eps);
}

template <typename T>
bool is_aligned(const T* tensor, int64_t stride, int cols) {
  constexpr int V = 16 / sizeof(T);
  return reinterpret_cast<uintptr_t>(tensor) % 16 == 0 && stride % V == 0 && cols % V == 0;
}

template <typename T>
void rmsnorm_forward_fast(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                          float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  const bool aligned =
      is_aligned(x, x_stride, cols) && is_aligned(weight, 0, cols) && is_aligned(y, y_stride, cols);
  const auto run = aligned ? launch<T, 16 / sizeof(T)> : launch<T, 1>;
  run(x, x_stride, weight, y, y_stride, rstd, rows, cols, eps, stream);
}

}  // namespace onepass
