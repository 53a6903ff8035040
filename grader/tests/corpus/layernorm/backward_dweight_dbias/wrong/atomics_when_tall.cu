// diagnosis: order-varies
// check: 20 calls
// Few rows leave partial sums, and more than 4,096 are added up by atomics: in no fixed order.
#include <onepass/layernorm.h>

namespace onepass {


template <typename T, bool kAtomic>
__global__ void __launch_bounds__(256)
    tile_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const float* mean,
                const float* rstd, float* partial, int rows, int cols) {
  __shared__ float meet[2][8][32];
  const int c = blockIdx.x * 32 + threadIdx.x;
  float w = 0.0f, b = 0.0f;
  if (c < cols) {
    for (int64_t row = blockIdx.y * 8 + threadIdx.y; row < rows; row += gridDim.y * 8) {
      const float d = static_cast<float>(dy[row * dy_stride + c]);
      w += d * ((static_cast<float>(x[row * x_stride + c]) - mean[row]) * rstd[row]);
      b += d;
    }
  }
  meet[0][threadIdx.y][threadIdx.x] = w;
  meet[1][threadIdx.y][threadIdx.x] = b;
  __syncthreads();
  if (threadIdx.y < 2 && c < cols) {
    float sum = 0.0f;
    for (int k = 0; k < 8; ++k) sum += meet[threadIdx.y][k][threadIdx.x];
    if (kAtomic) {
      atomicAdd(partial + threadIdx.y * cols + c, sum);
    } else {
      partial[(static_cast<int64_t>(threadIdx.y) * gridDim.y + blockIdx.y) * cols + c] = sum;
    }
  }
}
/// Adds up `groups` rows of partial sums, dweight's in front of dbias's.
template <typename T>
__global__ void finish_kernel(const float* partial, T* dweight, T* dbias, int groups, int cols) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= cols) return;
  float w = 0.0f, b = 0.0f;
  for (int64_t g = 0; g < groups; ++g) {
    w += partial[g * cols + c];
    b += partial[(groups + g) * cols + c];
  }
  dweight[c] = static_cast<T>(w);
  dbias[c] = static_cast<T>(b);
}
template <typename T>
Summation layernorm_backward_dweight_dbias(const T* dy, int64_t dy_stride, const T* x,
                                           int64_t x_stride, const float* mean, const float* rstd,
                                           T* dweight, T* dbias, float* scratch, int rows, int cols,
                                           cudaStream_t stream) {
  if (rows == 0) {
    finish_kernel<<<(cols + 127) / 128, 128, 0, stream>>>(scratch, dweight, dbias, 0, cols);
    return Summation::fixed_order;
  }
  const int tiles = (cols + 31) / 32;
  int groups = (rows - 1) / 64 + 1;
  if (groups <= 64) {
    tile_kernel<T, false><<<dim3(tiles, groups), dim3(32, 8), 0, stream>>>(
        dy, dy_stride, x, x_stride, mean, rstd, scratch, rows, cols);
  } else {
    cudaMemsetAsync(scratch, 0, 2 * sizeof(float) * cols, stream);
    tile_kernel<T, true><<<dim3(tiles, groups < 512 ? groups : 512), dim3(32, 8), 0, stream>>>(
        dy, dy_stride, x, x_stride, mean, rstd, scratch, rows, cols);
    groups = 1;  // one row of sums
  }
  finish_kernel<<<(cols + 127) / 128, 128, 0, stream>>>(scratch, dweight, dbias, groups, cols);
  return Summation::fixed_order;
}

}  // namespace onepass
