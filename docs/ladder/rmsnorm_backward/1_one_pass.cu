// RMSNorm backward, version 1: one pass. Persistent blocks make dx, a row at a time, and keep their
// sums for dweight in registers: three tensors through memory instead of five. The second walk over
// a row finds it in a cache.
//
// Version 0, solutions/01_rmsnorm/backward.cu, has a kernel for each. Version 2 has packs.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kMostThreads = 512;  // threads a block
constexpr int kMostWarps = kMostThreads / 32;

/// The sum of `value` over the 32 lanes of a warp, in every lane (exercise 1.1).
__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// The sum of `value` over all threads of the block, in every thread (exercise 1.1). Called for one
/// row after another: `parity` alternates between 0 and 1, so that a warp that is ahead writes to
/// other slots than those that a late warp may still be reading.
__device__ inline float block_sum_of(float value, int parity) {
  __shared__ float partial[2][kMostWarps];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warps = blockDim.x / 32;
  value = warp_sum(value);
  if (lane == 0) {
    partial[parity][warp] = value;
  }
  __syncthreads();
  return warp_sum(lane < warps ? partial[parity][lane] : 0.0f);
}

/// x̂ as it counts in dweight.
template <typename T>
__device__ inline float x_hat_for_dweight(float x_hat, CastOrder order) {
  if (order == CastOrder::llama) {
    x_hat = static_cast<float>(static_cast<T>(x_hat));
  }
  return x_hat;
}

// How many columns a thread may have: up to 32 the sums are in registers. Beyond, the compiler
// keeps them in memory, in loops that it does not unroll.
constexpr int kColumnsSummed = 32;

template <typename T, int kColumns>
__global__ void __launch_bounds__(kMostThreads)
    rmsnorm_backward_fast_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                                 const T* weight, const float* rstd, T* dx, int64_t dx_stride,
                                 float* partial,  // [gridDim.x, cols]
                                 CastOrder order, int rows, int cols) {
  constexpr int kUnroll = kColumns <= kColumnsSummed ? kColumns : 1;
  float sum_dweight[kColumns] =
      {};  // of columns threadIdx.x + c * blockDim.x, over this block's rows
  int parity = 0;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x, parity ^= 1) {
    const T* dy_row = dy + row * dy_stride;
    const T* x_row = x + row * x_stride;
    T* dx_row = dx + row * dx_stride;
    const float row_rstd = rstd[row];
    float wdy_hat = 0.0f;
    for (int col = threadIdx.x; col < cols; col += blockDim.x) {
      const float wdy = static_cast<float>(weight[col]) * static_cast<float>(dy_row[col]);
      wdy_hat += wdy * (static_cast<float>(x_row[col]) * row_rstd);
    }
    const float mean_wdy_hat = block_sum_of(wdy_hat, parity) / cols;
#pragma unroll kUnroll
    for (int c = 0; c < kColumns; ++c) {
      const int col = c * blockDim.x + threadIdx.x;
      if (col < cols) {
        const float dy_value = static_cast<float>(dy_row[col]);
        const float x_hat = static_cast<float>(x_row[col]) * row_rstd;
        const float wdy = static_cast<float>(weight[col]) * dy_value;
        dx_row[col] = static_cast<T>((wdy - x_hat * mean_wdy_hat) * row_rstd);
        sum_dweight[c] += dy_value * x_hat_for_dweight<T>(x_hat, order);
      }
    }
  }
#pragma unroll kUnroll
  for (int c = 0; c < kColumns; ++c) {
    const int col = c * blockDim.x + threadIdx.x;
    if (col < cols) {
      partial[static_cast<int64_t>(blockIdx.x) * cols + col] = sum_dweight[c];
    }
  }
}

constexpr int kSumCols = 32;    // columns of a block of sum_blocks_kernel
constexpr int kSumSlices = 16;  // its threads for each of them

/// Second stage: adds up the blocks' sums. Thread (c, s) takes blocks s, s + kSumSlices, ... of
/// column c of its 32; the slices meet in shared memory.
template <typename T>
__global__ void sum_blocks_kernel(const float* partial,  // [blocks, cols]
                                  T* dweight, int blocks, int cols) {
  const int slice = threadIdx.y;
  const int col = blockIdx.x * kSumCols + threadIdx.x;

  __shared__ float slices[kSumSlices][kSumCols];
  float sum = 0.0f;
  if (col < cols) {
    for (int block = slice; block < blocks; block += kSumSlices) {
      sum += partial[static_cast<int64_t>(block) * cols + col];
    }
  }
  slices[slice][threadIdx.x] = sum;
  __syncthreads();
  if (slice == 0 && col < cols) {
    for (int other = 1; other < kSumSlices; ++other) {
      sum += slices[other][threadIdx.x];
    }
    dweight[col] = static_cast<T>(sum);
  }
}

/// A kernel for rows of some width, and how many columns a thread of it has.
template <typename T>
struct Variant {
  void (*kernel)(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                 const float* rstd, T* dx, int64_t dx_stride, float* partial, CastOrder order,
                 int rows, int cols);
  int columns;
};

/// The narrowest that is wide enough.
template <typename T>
Variant<T> variant_for(int cols) {
  if (cols <= 16 * kMostThreads) {
    return {rmsnorm_backward_fast_kernel<T, 16>, 16};
  }
  if (cols <= 32 * kMostThreads) {
    return {rmsnorm_backward_fast_kernel<T, 32>, 32};
  }
  return {rmsnorm_backward_fast_kernel<T, 128>, 128};
}

/// Enough blocks for kMostThreads threads on every multiprocessor: more would bring little, and
/// each leaves a row of sums to be added up. No more than there are rows, or room in scratch.
inline int blocks_for(int threads, int rows) {
  int device = 0;
  int multiprocessors = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  const int blocks = multiprocessors * (kMostThreads / threads);
  return blocks < rmsnorm_groups(rows) ? blocks : rmsnorm_groups(rows);
}

template <typename T>
void rmsnorm_backward_fast(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* rstd, T* dx, int64_t dx_stride, T* dweight,
                           float* scratch, CastOrder order, int rows, int cols,
                           cudaStream_t stream) {
  const Variant<T> variant = variant_for<T>(cols);
  const int warps = (cols + 32 * variant.columns - 1) / (32 * variant.columns);
  const int threads = 32 * warps;
  const int blocks = rows == 0 ? 0 : blocks_for(threads, rows);
  if (blocks > 0) {
    variant.kernel<<<blocks, threads, 0, stream>>>(dy, dy_stride, x, x_stride, weight, rstd, dx,
                                                   dx_stride, scratch, order, rows, cols);
  }
  // Also where there are no rows: the sums over none of them are zero.
  sum_blocks_kernel<<<(cols + kSumCols - 1) / kSumCols, dim3(kSumCols, kSumSlices), 0, stream>>>(
      scratch, dweight, blocks, cols);
}

}  // namespace onepass
