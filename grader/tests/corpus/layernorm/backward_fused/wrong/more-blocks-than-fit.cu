// diagnosis: launch-failed
// Two blocks a multiprocessor, whatever shared memory they have: of wide rows one fits, and more rows
// than multiprocessors are not launched.
// LayerNorm backward in a single cooperative launch: two blocks on each multiprocessor walk through
// the rows, wait for each other, and then add up the columns. A row's wdy and x̂ are kept in shared
// memory, as long as there is room for them.
#include <cooperative_groups.h>
#include <onepass/layernorm.h>

namespace onepass {

constexpr int kThreads = 512;
constexpr int kBlocksOfMultiprocessor = 2;
constexpr int kKeptBytes = 192 * 1024;  // a block may have up to 227 KB

struct Sums {
  float wdy;
  float wdy_hat;
};

__device__ inline Sums sum_of_block(Sums s) {
  __shared__ Sums shares[kThreads / 32];
  for (int o = 16; o > 0; o /= 2) {
    s.wdy += __shfl_xor_sync(0xffffffff, s.wdy, o);
    s.wdy_hat += __shfl_xor_sync(0xffffffff, s.wdy_hat, o);
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    shares[threadIdx.x / 32] = s;
  }
  __syncthreads();
  s = shares[threadIdx.x % (kThreads / 32)];
  for (int o = kThreads / 64; o > 0; o /= 2) {
    s.wdy += __shfl_xor_sync(0xffffffff, s.wdy, o);
    s.wdy_hat += __shfl_xor_sync(0xffffffff, s.wdy_hat, o);
  }
  return s;
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    cooperative_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                       const T* weight, const float* mean, const float* rstd, T* dx,
                       int64_t dx_stride, T* dweight, T* dbias, float* lines, bool kept, int rows,
                       int cols) {
  extern __shared__ float kept_memory[];  // [2][cols], where kept
  const int blocks = gridDim.x;
  float* my_dweight = lines + static_cast<int64_t>(blockIdx.x) * 2 * cols;
  float* my_dbias = my_dweight + cols;
  for (int64_t row = blockIdx.x; row < rows; row += blocks) {
    const bool is_first = row == blockIdx.x;
    const float m = mean[row];
    const float s = rstd[row];
    Sums sums = {0.0f, 0.0f};
    for (int c = threadIdx.x; c < cols; c += kThreads) {
      const float g = static_cast<float>(dy[row * dy_stride + c]);
      const float hat = (static_cast<float>(x[row * x_stride + c]) - m) * s;
      const float wdy = g * static_cast<float>(weight[c]);
      my_dweight[c] = (is_first ? 0.0f : my_dweight[c]) + g * hat;
      my_dbias[c] = (is_first ? 0.0f : my_dbias[c]) + g;
      sums.wdy += wdy;
      sums.wdy_hat += wdy * hat;
      if (kept) {
        kept_memory[c] = wdy;
        kept_memory[cols + c] = hat;
      }
    }
    sums = sum_of_block(sums);
    const float mean_wdy = sums.wdy / cols;
    const float mean_wdy_hat = sums.wdy_hat / cols;
    for (int c = threadIdx.x; c < cols; c += kThreads) {
      float wdy;
      float hat;
      if (kept) {
        wdy = kept_memory[c];
        hat = kept_memory[cols + c];
      } else {
        wdy = static_cast<float>(dy[row * dy_stride + c]) * static_cast<float>(weight[c]);
        hat = (static_cast<float>(x[row * x_stride + c]) - m) * s;
      }
      dx[row * dx_stride + c] = static_cast<T>((wdy - mean_wdy - hat * mean_wdy_hat) * s);
    }
  }
  cooperative_groups::this_grid().sync();
  for (int c = blockIdx.x * kThreads + threadIdx.x; c < 2 * cols; c += blocks * kThreads) {
    float sum = 0.0f;
    for (int b = 0; b < blocks; ++b) {
      sum += lines[static_cast<int64_t>(b) * 2 * cols + c];
    }
    if (c < cols) {
      dweight[c] = static_cast<T>(sum);
    } else {
      dbias[c - cols] = static_cast<T>(sum);
    }
  }
}

template <typename T>
Summation layernorm_backward(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                             const T* weight, const float* mean, const float* rstd, T* dx,
                             int64_t dx_stride, T* dweight, T* dbias, float* scratch, int rows,
                             int cols, cudaStream_t stream) {
  if (rows == 0) {
    cudaMemsetAsync(dweight, 0, sizeof(T) * static_cast<size_t>(cols), stream);
    cudaMemsetAsync(dbias, 0, sizeof(T) * static_cast<size_t>(cols), stream);
    return Summation::fixed_order;
  }
  int device = 0;
  int multiprocessors = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  const int most = kBlocksOfMultiprocessor * multiprocessors;
  int blocks = layernorm_groups(rows);
  blocks = blocks < most ? blocks : most;
  const int row_bytes = 2 * cols * static_cast<int>(sizeof(float));
  bool kept = row_bytes <= kKeptBytes;
  const size_t bytes = kept ? row_bytes : 0;
  cudaFuncSetAttribute(cooperative_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       kKeptBytes);
  void* arguments[] = {&dy,        &dy_stride, &x,     &x_stride, &weight,  &mean, &rstd, &dx,
                       &dx_stride, &dweight,   &dbias, &scratch,  &kept,    &rows, &cols};
  cudaLaunchCooperativeKernel(cooperative_kernel<T>, dim3(blocks), dim3(kThreads), arguments, bytes,
                              stream);
  return Summation::fixed_order;
}

}  // namespace onepass
