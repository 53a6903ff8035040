// diagnosis: narrow-access
// Of wide rows in 16 bits the kernel of dx loads 16 bytes at a time, and that of dweight 8.
// RMSNorm backward at the speed of memory. Up to 8192 columns persistent blocks hold a row of dy and
// x in registers and make dx and the sums for dweight of it; wider rows take two kernels.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kCtaThreads = 512;
constexpr int kColumnsEach = 16;
constexpr int kCtas = 264;
constexpr int kWideGroups = 48;

template <typename T, int N>
struct alignas(sizeof(T) * N) Lane {
  T v[N];
};

template <typename T>
__device__ inline float hat_of(float hat, CastOrder order) {
  return order == CastOrder::llama ? static_cast<float>(static_cast<T>(hat)) : hat;
}

__device__ inline float cta_sum(float v, int phase) {
  __shared__ float slot[2][32];
  const int lane = threadIdx.x & 31;
  const int warps = blockDim.x >> 5;
#pragma unroll
  for (int o = 16; o > 0; o >>= 1) {
    v += __shfl_xor_sync(0xffffffff, v, o);
  }
  if (lane == 0) {
    slot[phase][threadIdx.x >> 5] = v;
  }
  __syncthreads();
  v = lane < warps ? slot[phase][lane] : 0.0f;
#pragma unroll
  for (int o = 16; o > 0; o >>= 1) {
    v += __shfl_xor_sync(0xffffffff, v, o);
  }
  return v;
}

template <typename T, int N>
__global__ void __launch_bounds__(kCtaThreads)
    one_pass(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
             const float* rstd, T* dx, int64_t dx_stride, float* partial, CastOrder order, int rows,
             int cols) {
  using L = Lane<T, N>;
  constexpr int kEach = kColumnsEach / N;
  const int count = cols / N;
  L w[kEach] = {};
  float sums[kEach][N] = {};
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const int i = k * blockDim.x + threadIdx.x;
    if (i < count) {
      w[k] = reinterpret_cast<const L*>(weight)[i];
    }
  }
  int phase = 0;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const L* dy_row = reinterpret_cast<const L*>(dy + row * dy_stride);
    const L* x_row = reinterpret_cast<const L*>(x + row * x_stride);
    L* dx_row = reinterpret_cast<L*>(dx + row * dx_stride);
    const float r = rstd[row];
    L g[kEach] = {};
    L a[kEach] = {};
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const int i = k * blockDim.x + threadIdx.x;
      if (i < count) {
        g[k] = dy_row[i];
        a[k] = x_row[i];
      }
    }
    float dot = 0.0f;
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      if (k * blockDim.x + threadIdx.x < count) {
#pragma unroll
        for (int j = 0; j < N; ++j) {
          const float gradient = static_cast<float>(g[k].v[j]);
          const float hat = static_cast<float>(a[k].v[j]) * r;
          dot += static_cast<float>(w[k].v[j]) * gradient * hat;
          sums[k][j] += gradient * hat_of<T>(hat, order);
        }
      }
    }
    const float mean = cta_sum(dot, phase) / cols;
    phase ^= 1;
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const int i = k * blockDim.x + threadIdx.x;
      if (i < count) {
        L out;
#pragma unroll
        for (int j = 0; j < N; ++j) {
          const float wdy = static_cast<float>(w[k].v[j]) * static_cast<float>(g[k].v[j]);
          const float hat = static_cast<float>(a[k].v[j]) * r;
          out.v[j] = static_cast<T>((wdy - hat * mean) * r);
        }
        dx_row[i] = out;
      }
    }
  }
  float* mine = partial + static_cast<int64_t>(blockIdx.x) * cols;
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const int i = k * blockDim.x + threadIdx.x;
    if (i < count) {
#pragma unroll
      for (int j = 0; j < N; ++j) {
        mine[i * N + j] = sums[k][j];
      }
    }
  }
}

template <typename T, int N>
__global__ void __launch_bounds__(kCtaThreads)
    wide_dx(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
            const float* rstd, T* dx, int64_t dx_stride, int cols) {
  using L = Lane<T, N>;
  const int64_t row = blockIdx.x;
  const L* dy_row = reinterpret_cast<const L*>(dy + row * dy_stride);
  const L* x_row = reinterpret_cast<const L*>(x + row * x_stride);
  const L* w_row = reinterpret_cast<const L*>(weight);
  L* dx_row = reinterpret_cast<L*>(dx + row * dx_stride);
  const float r = rstd[row];
  float dot = 0.0f;
  for (int i = threadIdx.x; i < cols / N; i += blockDim.x) {
    const L w = w_row[i];
    const L g = dy_row[i];
    const L a = x_row[i];
#pragma unroll
    for (int j = 0; j < N; ++j) {
      dot += static_cast<float>(w.v[j]) * static_cast<float>(g.v[j]) *
             (static_cast<float>(a.v[j]) * r);
    }
  }
  const float mean = cta_sum(dot, 0) / cols;
  for (int i = threadIdx.x; i < cols / N; i += blockDim.x) {
    const L w = w_row[i];
    const L g = dy_row[i];
    const L a = x_row[i];
    L out;
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const float wdy = static_cast<float>(w.v[j]) * static_cast<float>(g.v[j]);
      out.v[j] = static_cast<T>((wdy - static_cast<float>(a.v[j]) * r * mean) * r);
    }
    dx_row[i] = out;
  }
}

/// N neighbouring columns a thread: their sums are stored in one access.
template <typename T, int N>
__global__ void __launch_bounds__(kCtaThreads)
    wide_sums(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const float* rstd,
              float* partial, CastOrder order, int rows, int cols) {
  using L = Lane<T, N>;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= cols / N) {
    return;
  }
  Lane<float, N> sums = {};
  for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
    const L g = reinterpret_cast<const L*>(dy + row * dy_stride)[i];
    const L a = reinterpret_cast<const L*>(x + row * x_stride)[i];
    const float r = rstd[row];
#pragma unroll
    for (int j = 0; j < N; ++j) {
      sums.v[j] += static_cast<float>(g.v[j]) * hat_of<T>(static_cast<float>(a.v[j]) * r, order);
    }
  }
  float* mine = partial + static_cast<int64_t>(blockIdx.y) * cols;
  reinterpret_cast<Lane<float, N>*>(mine)[i] = sums;
}

template <typename T>
__global__ void add_up(const float* partial, T* dweight, int groups, int cols) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < cols) {
    float sum = 0.0f;
    for (int g = 0; g < groups; ++g) {
      sum += partial[static_cast<int64_t>(g) * cols + c];
    }
    dweight[c] = static_cast<T>(sum);
  }
}

template <typename T, int N>
int first_stage(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                const float* rstd, T* dx, int64_t dx_stride, float* scratch, CastOrder order,
                int rows, int cols, cudaStream_t stream) {
  if (cols <= kCtaThreads * kColumnsEach) {
    const int warps = (cols - 1) / (32 * kColumnsEach) + 1;
    const int groups = rows < kCtas ? rows : kCtas;
    one_pass<T, N><<<groups, 32 * warps, 0, stream>>>(dy, dy_stride, x, x_stride, weight, rstd, dx,
                                                      dx_stride, scratch, order, rows, cols);
    return groups;
  }
  const int groups = rows < kWideGroups ? rows : kWideGroups;
  wide_dx<T, N><<<rows, kCtaThreads, 0, stream>>>(dy, dy_stride, x, x_stride, weight, rstd, dx,
                                                  dx_stride, cols);
  constexpr int kOfSums = N < 4 ? N : 4;  // four sums are 16 bytes
  const dim3 grid((cols / kOfSums - 1) / 256 + 1, groups);
  wide_sums<T, kOfSums><<<grid, 256, 0, stream>>>(dy, dy_stride, x, x_stride, rstd, scratch, order,
                                                  rows, cols);
  return groups;
}

template <typename T>
void rmsnorm_backward_fast(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* rstd, T* dx, int64_t dx_stride, T* dweight,
                           float* scratch, CastOrder order, int rows, int cols,
                           cudaStream_t stream) {
  constexpr int N = 16 / sizeof(T);
  const uintptr_t addresses = reinterpret_cast<uintptr_t>(dy) | reinterpret_cast<uintptr_t>(x) |
                              reinterpret_cast<uintptr_t>(weight) | reinterpret_cast<uintptr_t>(dx);
  const int64_t sizes = dy_stride | x_stride | dx_stride | cols;
  int groups = 0;
  if (rows > 0) {
    groups = addresses % 16 == 0 && sizes % N == 0
                 ? first_stage<T, N>(dy, dy_stride, x, x_stride, weight, rstd, dx, dx_stride,
                                     scratch, order, rows, cols, stream)
                 : first_stage<T, 1>(dy, dy_stride, x, x_stride, weight, rstd, dx, dx_stride,
                                     scratch, order, rows, cols, stream);
  }
  add_up<T><<<(cols + 127) / 128, 128, 0, stream>>>(scratch, dweight, groups, cols);
}

}  // namespace onepass
