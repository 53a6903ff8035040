// Right: blocks that stay, each with a ring of rows in shared memory that one thread fills by bulk
// copies, several rows ahead of the one that is computed. A row of y leaves the same way. Where the
// rows are not aligned for that, or too wide, a block walks over its row twice.

#include <cuda/barrier>
#include <cuda/ptx>
#include <onepass/rmsnorm.h>

namespace onepass {

namespace ptx = cuda::ptx;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int kThreads = 256;
constexpr int kSlots = 3;
constexpr int kMostBytes = 16384;  // of a row in the ring

__device__ inline float over_block(float value) {
  __shared__ float partial[kThreads / 32];
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  __syncthreads();  // the last sum has been read
  if (threadIdx.x % 32 == 0) {
    partial[threadIdx.x / 32] = value;
  }
  __syncthreads();
  value = 0.0f;
  for (int warp = 0; warp < kThreads / 32; ++warp) {
    value += partial[warp];
  }
  return value;
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    ring_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride, float* rstd,
                int rows, int cols, float eps) {
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ Barrier full[kSlots];
  T* const slots = reinterpret_cast<T*>(memory);  // [kSlots][cols]
  T* const out = slots + kSlots * cols;           // [cols]
  const uint32_t row_bytes = cols * sizeof(T);
  const auto row_of = [&](int step) { return blockIdx.x + static_cast<int64_t>(step) * gridDim.x; };
  const auto fetch = [&](int step) {
    if (row_of(step) >= rows) {
      return;
    }
    uint64_t* const bar = cuda::device::barrier_native_handle(full[step % kSlots]);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, bar,
                                   row_bytes);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, slots + step % kSlots * cols,
                       x + row_of(step) * x_stride, row_bytes, bar);
  };

  if (threadIdx.x == 0) {
    for (int slot = 0; slot < kSlots; ++slot) {
      init(&full[slot], 1);
    }
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int step = 0; step < kSlots; ++step) {
      fetch(step);
    }
  }
  for (int step = 0; row_of(step) < rows; ++step) {
    const int64_t row = row_of(step);
    const T* const slot = slots + step % kSlots * cols;
    full[step % kSlots].wait_parity(step / kSlots % 2 != 0);
    float squares = 0.0f;
    for (int col = threadIdx.x; col < cols; col += kThreads) {
      const float value = static_cast<float>(slot[col]);
      squares += value * value;
    }
    if (threadIdx.x == 0) {
      ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());  // out may be written again
    }
    const float row_rstd = rsqrtf(over_block(squares) / cols + eps);
    for (int col = threadIdx.x; col < cols; col += kThreads) {
      const float times = weight != nullptr ? static_cast<float>(weight[col]) : 1.0f;
      out[col] = static_cast<T>(static_cast<float>(slot[col]) * row_rstd * times);
    }
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();  // out is written, and the slot read
    if (threadIdx.x == 0) {
      rstd[row] = row_rstd;
      ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, y + row * y_stride, out, row_bytes);
      ptx::cp_async_bulk_commit_group();
      fetch(step + kSlots);
    }
  }
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}

template <typename T>
__global__ void plain_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                             float* rstd, int cols, float eps) {
  const int64_t row = blockIdx.x;
  float squares = 0.0f;
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float value = static_cast<float>(x[row * x_stride + col]);
    squares += value * value;
  }
  const float row_rstd = rsqrtf(over_block(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = row_rstd;
  }
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float times = weight != nullptr ? static_cast<float>(weight[col]) : 1.0f;
    y[row * y_stride + col] =
        static_cast<T>(static_cast<float>(x[row * x_stride + col]) * row_rstd * times);
  }
}

/// Bulk copies need rows that begin at, and are, multiples of 16 bytes.
template <typename T>
bool fits_bulk_copies(const T* tensor, int64_t stride, int cols) {
  return reinterpret_cast<uintptr_t>(tensor) % 16 == 0 && stride * sizeof(T) % 16 == 0 &&
         cols * sizeof(T) % 16 == 0;
}

template <typename T>
void rmsnorm_forward(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                     float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  const size_t row_bytes = cols * sizeof(T);
  if (!fits_bulk_copies(x, x_stride, cols) || !fits_bulk_copies(y, y_stride, cols) ||
      row_bytes > kMostBytes) {
    plain_kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, cols, eps);
    return;
  }
  const int bytes = static_cast<int>((kSlots + 1) * row_bytes);
  cudaFuncSetAttribute(ring_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  const int blocks = rows < 264 ? rows : 264;
  ring_kernel<<<blocks, kThreads, bytes, stream>>>(x, x_stride, weight, y, y_stride, rstd, rows,
                                                   cols, eps);
}

}  // namespace onepass
