// Right: two stages, each group a stripe of neighbouring rows, rounded up; a warp adds the groups.

#include <onepass/layernorm.h>

namespace onepass {

template <typename T>
__global__ void stripes_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                               const float* mean, const float* rstd, float2* partial, int rows,
                               int stripe, int cols) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * stripe;
  const int64_t last = first + stripe < rows ? first + stripe : rows;
  for (int col = threadIdx.x; col < cols; col += blockDim.x) {
    float2 sum = make_float2(0.0f, 0.0f);
    for (int64_t row = first; row < last; ++row) {
      const float dy_value = static_cast<float>(dy[row * dy_stride + col]);
      const float x_hat = (static_cast<float>(x[row * x_stride + col]) - mean[row]) * rstd[row];
      sum.x += dy_value * x_hat;
      sum.y += dy_value;
    }
    partial[static_cast<int64_t>(blockIdx.x) * cols + col] = sum;
  }
}

template <typename T>
__global__ void sum_kernel(const float2* partial, T* dweight, T* dbias, int groups, int cols) {
  const int col = blockIdx.x;
  float2 sum = make_float2(0.0f, 0.0f);
  for (int group = threadIdx.x; group < groups; group += 32) {
    const float2 share = partial[static_cast<int64_t>(group) * cols + col];
    sum.x += share.x;
    sum.y += share.y;
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    sum.x += __shfl_xor_sync(0xffffffffu, sum.x, offset);
    sum.y += __shfl_xor_sync(0xffffffffu, sum.y, offset);
  }
  if (threadIdx.x == 0) {
    dweight[col] = static_cast<T>(sum.x);
    dbias[col] = static_cast<T>(sum.y);
  }
}

template <typename T>
Summation layernorm_backward_dweight_dbias(const T* dy, int64_t dy_stride, const T* x,
                                           int64_t x_stride, const float* mean, const float* rstd,
                                           T* dweight, T* dbias, float* scratch, int rows, int cols,
                                           cudaStream_t stream) {
  const int stripe = rows == 0 ? 1 : (rows - 1) / 40 + 1;
  const int groups = rows == 0 ? 0 : (rows - 1) / stripe + 1;
  float2* partial = reinterpret_cast<float2*>(scratch);
  if (groups > 0) {
    stripes_kernel<<<groups, 96, 0, stream>>>(dy, dy_stride, x, x_stride, mean, rstd, partial, rows,
                                              stripe, cols);
  }
  sum_kernel<<<cols, 32, 0, stream>>>(partial, dweight, dbias, groups, cols);
  return Summation::fixed_order;
}

}  // namespace onepass
