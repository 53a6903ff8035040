// Exercise 1.3 in one kernel: a block has a group of rows, makes their dx, and leaves its sums of
// the columns in scratch; the last block that is done adds up the groups.
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 256;
constexpr int kMostGroups = 64;

/// The sum of `value` over the 32 lanes of a warp, in every lane.
__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    backward_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                    const float* rstd, T* dx, int64_t dx_stride, T* dweight, float* partial,
                    unsigned* ticket, CastOrder order, int rows, int cols) {
  __shared__ float shares[kThreads / 32];
  __shared__ bool is_last;
  const int groups = gridDim.x;
  float* own = partial + static_cast<int64_t>(blockIdx.x) * cols;
  bool begins = true;
  for (int64_t row = blockIdx.x; row < rows; row += groups) {
    const T* dy_row = dy + row * dy_stride;
    const T* x_row = x + row * x_stride;
    const float row_rstd = rstd[row];
    float sum = 0.0f;
    for (int col = threadIdx.x; col < cols; col += kThreads) {
      sum += static_cast<float>(weight[col]) * static_cast<float>(dy_row[col]) *
             (static_cast<float>(x_row[col]) * row_rstd);
    }
    sum = warp_sum(sum);
    __syncthreads();  // all have read the last row's shares
    if (threadIdx.x % 32 == 0) {
      shares[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    sum = 0.0f;
    for (int warp = 0; warp < kThreads / 32; ++warp) {
      sum += shares[warp];
    }
    const float slope = sum / cols;
    for (int col = threadIdx.x; col < cols; col += kThreads) {  // the same thread in each row
      const float dy_value = static_cast<float>(dy_row[col]);
      const float x_hat = static_cast<float>(x_row[col]) * row_rstd;
      const float rounded =
          order == CastOrder::llama ? static_cast<float>(static_cast<T>(x_hat)) : x_hat;
      dx[row * dx_stride + col] = static_cast<T>(
          (static_cast<float>(weight[col]) * dy_value - x_hat * slope) * row_rstd);
      own[col] = begins ? dy_value * rounded : own[col] + dy_value * rounded;
    }
    begins = false;
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    is_last = atomicAdd(ticket, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last) {
    __threadfence();  // what the others have released is seen from here on
    for (int col = threadIdx.x; col < cols; col += kThreads) {
      float sum = 0.0f;
      for (int group = 0; group < groups; ++group) {
        sum += partial[static_cast<int64_t>(group) * cols + col];
      }
      dweight[col] = static_cast<T>(sum);
    }
  }
}

template <typename T>
__global__ void zero_kernel(T* dweight, int cols) {
  const int col = blockIdx.x * kThreads + threadIdx.x;
  if (col < cols) {
    dweight[col] = static_cast<T>(0.0f);
  }
}

template <typename T>
void rmsnorm_backward(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                      const float* rstd, T* dx, int64_t dx_stride, T* dweight, float* scratch,
                      CastOrder order, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) {
    zero_kernel<<<(cols + kThreads - 1) / kThreads, kThreads, 0, stream>>>(dweight, cols);
    return;
  }
  // scratch has no place for a ticket.
  unsigned* ticket = nullptr;
  if (cudaMallocAsync(reinterpret_cast<void**>(&ticket), sizeof(unsigned), stream) != cudaSuccess) {
    return;
  }
  cudaMemsetAsync(ticket, 0, sizeof(unsigned), stream);
  const int groups = rows < kMostGroups ? rows : kMostGroups;
  backward_kernel<<<groups, kThreads, 0, stream>>>(dy, dy_stride, x, x_stride, weight, rstd, dx,
                                                   dx_stride, dweight, scratch, ticket, order, rows,
                                                   cols);
  cudaFreeAsync(ticket, stream);
}

}  // namespace onepass
