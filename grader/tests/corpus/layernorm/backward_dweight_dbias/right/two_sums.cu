// Right: dweight as the difference of two sums, of dy * x * rstd and of dy * mean * rstd, each with
// Kahan's correction. 8 warps walk down 32 columns and meet in a tree.

#include <onepass/layernorm.h>

namespace onepass {

constexpr int kSlices = 8;

struct Kahan {
  float sum = 0.0f;
  float lost = 0.0f;
  __device__ void add(float value) {
    const float corrected = value - lost;
    const float next = sum + corrected;
    lost = (next - sum) - corrected;
    sum = next;
  }
};

template <typename T>
__global__ void columns_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                               const float* mean, const float* rstd, T* dweight, T* dbias, int rows,
                               int cols) {
  __shared__ float shares[3][kSlices][32];
  const int col = blockIdx.x * 32 + threadIdx.x;
  const int slice = threadIdx.y;
  Kahan with_x, with_mean, alone;
  for (int64_t row = slice; row < rows && col < cols; row += kSlices) {
    const float dy_value = static_cast<float>(dy[row * dy_stride + col]);
    const float scaled = dy_value * rstd[row];
    with_x.add(scaled * static_cast<float>(x[row * x_stride + col]));
    with_mean.add(scaled * mean[row]);
    alone.add(dy_value);
  }
  shares[0][slice][threadIdx.x] = with_x.sum;
  shares[1][slice][threadIdx.x] = with_mean.sum;
  shares[2][slice][threadIdx.x] = alone.sum;
  for (int half = kSlices / 2; half > 0; half /= 2) {
    __syncthreads();
    for (int which = 0; which < 3 && slice < half; ++which) {
      shares[which][slice][threadIdx.x] += shares[which][slice + half][threadIdx.x];
    }
  }
  if (slice == 0 && col < cols) {
    dweight[col] = static_cast<T>(shares[0][0][threadIdx.x] - shares[1][0][threadIdx.x]);
    dbias[col] = static_cast<T>(shares[2][0][threadIdx.x]);
  }
}

template <typename T>
Summation layernorm_backward_dweight_dbias(const T* dy, int64_t dy_stride, const T* x,
                                           int64_t x_stride, const float* mean, const float* rstd,
                                           T* dweight, T* dbias, float* scratch, int rows, int cols,
                                           cudaStream_t stream) {
  (void)scratch;
  columns_kernel<<<(cols + 31) / 32, dim3(32, kSlices), 0, stream>>>(
      dy, dy_stride, x, x_stride, mean, rstd, dweight, dbias, rows, cols);
  return Summation::fixed_order;
}

}  // namespace onepass
