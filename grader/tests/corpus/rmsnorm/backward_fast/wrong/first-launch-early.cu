// diagnosis: missing-barrier
// The first kernel, too, begins early, and reads dy and x, which what is in front of it may still
// write, before it waits; the scratch that the call before may still read it guards.
// RMSNorm backward in one pass. Launches overlap: the second kernel may begin while the first one
// ends, and the first one while what is in front of it in the stream ends, so that no launch is
// waited for. What the kernels share is scratch, and before they touch it, they wait.
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kMost = 512;
constexpr int kColumns = 16;  // of a thread

template <typename T, int V>
struct alignas(sizeof(T) * V) Run {
  T e[V];
};

__device__ inline void wait_for_launches_before() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

__device__ inline void let_next_launch_begin() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/// `turn` alternates, so that a warp that is ahead has other slots.
__device__ inline float total_of(float v, int turn) {
  __shared__ float slots[2][kMost / 32];
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int o = 16; o > 0; o /= 2) {
    v += __shfl_xor_sync(0xffffffff, v, o);
  }
  if (blockDim.x == 32) {
    return v;
  }
  if (lane == 0) {
    slots[turn][threadIdx.x / 32] = v;
  }
  __syncthreads();
  v = lane < static_cast<int>(blockDim.x / 32) ? slots[turn][lane] : 0.0f;
#pragma unroll
  for (int o = 16; o > 0; o /= 2) {
    v += __shfl_xor_sync(0xffffffff, v, o);
  }
  return v;
}

template <typename T>
__device__ inline float hat_for_weight(float hat, CastOrder order) {
  return order == CastOrder::llama ? static_cast<float>(static_cast<T>(hat)) : hat;
}

template <typename T, int V>
__global__ void __launch_bounds__(kMost)
    one_pass_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                    const float* rstd, T* dx, int64_t dx_stride, float* partial, CastOrder order,
                    int rows, int cols) {
  constexpr int P = kColumns / V;
  using R = Run<T, V>;
  let_next_launch_begin();
  const int runs = cols / V;
  float acc[P][V] = {};
  int turn = 0;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x, turn ^= 1) {
    const R* dy_row = reinterpret_cast<const R*>(dy + row * dy_stride);
    const R* x_row = reinterpret_cast<const R*>(x + row * x_stride);
    const R* w_row = reinterpret_cast<const R*>(weight);
    R* dx_row = reinterpret_cast<R*>(dx + row * dx_stride);
    const float r = rstd[row];
    R g[P];
    R v[P];
    float wdy[P][V];
    float dot = 0.0f;
#pragma unroll
    for (int p = 0; p < P; ++p) {
      const int i = p * blockDim.x + threadIdx.x;
      if (i < runs) {
        g[p] = dy_row[i];
        v[p] = x_row[i];
      }
    }
#pragma unroll
    for (int p = 0; p < P; ++p) {
      const int i = p * blockDim.x + threadIdx.x;
      if (i < runs) {
        const R w = w_row[i];
#pragma unroll
        for (int j = 0; j < V; ++j) {
          const float dy_value = static_cast<float>(g[p].e[j]);
          const float hat = static_cast<float>(v[p].e[j]) * r;
          wdy[p][j] = static_cast<float>(w.e[j]) * dy_value;
          dot += wdy[p][j] * hat;
          acc[p][j] += dy_value * hat_for_weight<T>(hat, order);
        }
      }
    }
    const float mean = total_of(dot, turn) / cols;
#pragma unroll
    for (int p = 0; p < P; ++p) {
      const int i = p * blockDim.x + threadIdx.x;
      if (i < runs) {
        R result;
#pragma unroll
        for (int j = 0; j < V; ++j) {
          const float hat = static_cast<float>(v[p].e[j]) * r;
          result.e[j] = static_cast<T>((wdy[p][j] - hat * mean) * r);
        }
        dx_row[i] = result;
      }
    }
  }
  wait_for_launches_before();  // a call before this one may still read scratch
#pragma unroll
  for (int p = 0; p < P; ++p) {
    const int i = p * blockDim.x + threadIdx.x;
    if (i < runs) {
#pragma unroll
      for (int j = 0; j < V; ++j) {
        partial[static_cast<int64_t>(blockIdx.x) * cols + i * V + j] = acc[p][j];
      }
    }
  }
}

template <typename T>
__global__ void finish_kernel(const float* partial, T* dweight, int groups, int cols) {
  let_next_launch_begin();
  wait_for_launches_before();
  __shared__ float part[8][32];
  const int c = blockIdx.x * 32 + threadIdx.x;
  float sum = 0.0f;
  if (c < cols) {
    for (int g = threadIdx.y; g < groups; g += 8) {
      sum += partial[static_cast<int64_t>(g) * cols + c];
    }
  }
  part[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y == 0 && c < cols) {
    for (int k = 1; k < 8; ++k) {
      sum += part[k][threadIdx.x];
    }
    dweight[c] = static_cast<T>(sum);
  }
}

template <typename T, int V>
__global__ void __launch_bounds__(kMost)
    wide_dx_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                   const float* rstd, T* dx, int64_t dx_stride, int cols) {
  using R = Run<T, V>;
  const int64_t row = blockIdx.x;
  const R* dy_row = reinterpret_cast<const R*>(dy + row * dy_stride);
  const R* x_row = reinterpret_cast<const R*>(x + row * x_stride);
  const R* w_row = reinterpret_cast<const R*>(weight);
  R* dx_row = reinterpret_cast<R*>(dx + row * dx_stride);
  const float r = rstd[row];
  float dot = 0.0f;
  for (int i = threadIdx.x; i < cols / V; i += blockDim.x) {
    const R g = dy_row[i];
    const R v = x_row[i];
    const R w = w_row[i];
    for (int j = 0; j < V; ++j) {
      dot += static_cast<float>(w.e[j]) * static_cast<float>(g.e[j]) *
             (static_cast<float>(v.e[j]) * r);
    }
  }
  const float mean = total_of(dot, 0) / cols;
  for (int i = threadIdx.x; i < cols / V; i += blockDim.x) {
    const R g = dy_row[i];
    const R v = x_row[i];
    const R w = w_row[i];
    R result;
    for (int j = 0; j < V; ++j) {
      const float wdy = static_cast<float>(w.e[j]) * static_cast<float>(g.e[j]);
      result.e[j] = static_cast<T>((wdy - static_cast<float>(v.e[j]) * r * mean) * r);
    }
    dx_row[i] = result;
  }
}

template <typename T, int V>
__global__ void wide_sums_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                                 const float* rstd, float* partial, CastOrder order, int rows,
                                 int cols) {
  using R = Run<T, V>;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= cols / V) {
    return;
  }
  float acc[V] = {};
  for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
    const R g = reinterpret_cast<const R*>(dy + row * dy_stride)[i];
    const R v = reinterpret_cast<const R*>(x + row * x_stride)[i];
    for (int j = 0; j < V; ++j) {
      const float hat = static_cast<float>(v.e[j]) * rstd[row];
      acc[j] += static_cast<float>(g.e[j]) * hat_for_weight<T>(hat, order);
    }
  }
  for (int j = 0; j < V; ++j) {
    partial[static_cast<int64_t>(blockIdx.y) * cols + i * V + j] = acc[j];
  }
}

inline int ask(cudaDeviceAttr which) {
  int device = 0;
  int value = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&value, which, device);
  return value;
}

template <typename T, int V>
int launch_rows(cudaLaunchConfig_t config, const T* dy, int64_t dy_stride, const T* x,
                int64_t x_stride, const T* weight, const float* rstd, T* dx, int64_t dx_stride,
                float* scratch, CastOrder order, int rows, int cols) {
  const int runs = cols / V;
  if (cols <= kMost * kColumns) {
    const int each = 32 * (kColumns / V);
    const int warps = (runs + each - 1) / each;
    const int resident = ask(cudaDevAttrMultiProcessorCount) * (warps > 8 ? 1 : 2);
    int groups = rmsnorm_groups(rows);
    groups = groups < resident ? groups : resident;
    config.gridDim = dim3(groups);
    config.blockDim = dim3(32 * warps);
    cudaLaunchKernelEx(&config, one_pass_kernel<T, V>, dy, dy_stride, x, x_stride, weight, rstd, dx,
                       dx_stride, scratch, order, rows, cols);
    return groups;
  }
  const int groups = rows < 64 ? rows : 64;
  wide_dx_kernel<T, V><<<rows, kMost, 0, config.stream>>>(dy, dy_stride, x, x_stride, weight, rstd,
                                                          dx, dx_stride, cols);
  wide_sums_kernel<T, V><<<dim3((runs + 127) / 128, groups), 128, 0, config.stream>>>(
      dy, dy_stride, x, x_stride, rstd, scratch, order, rows, cols);
  return groups;
}

template <typename T>
void rmsnorm_backward_fast(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* rstd, T* dx, int64_t dx_stride, T* dweight,
                           float* scratch, CastOrder order, int rows, int cols,
                           cudaStream_t stream) {
  constexpr int V = 16 / sizeof(T);
  const uintptr_t bits = reinterpret_cast<uintptr_t>(dy) | reinterpret_cast<uintptr_t>(x) |
                         reinterpret_cast<uintptr_t>(weight) | reinterpret_cast<uintptr_t>(dx);
  const bool aligned = bits % 16 == 0 && dy_stride % V == 0 && x_stride % V == 0 &&
                       dx_stride % V == 0 && cols % V == 0;
  cudaLaunchAttribute overlap = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.stream = stream;
  config.attrs = &overlap;
  config.numAttrs = ask(cudaDevAttrComputeCapabilityMajor) >= 9 ? 1 : 0;
  int groups = 0;
  if (rows > 0) {
    groups = aligned ? launch_rows<T, V>(config, dy, dy_stride, x, x_stride, weight, rstd, dx,
                                         dx_stride, scratch, order, rows, cols)
                     : launch_rows<T, 1>(config, dy, dy_stride, x, x_stride, weight, rstd, dx,
                                         dx_stride, scratch, order, rows, cols);
  }
  config.gridDim = dim3((cols + 31) / 32);
  config.blockDim = dim3(32, 8);
  cudaLaunchKernelEx(&config, finish_kernel<T>, static_cast<const float*>(scratch), dweight, groups,
                     cols);
}

}  // namespace onepass
