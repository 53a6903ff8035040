// Exercise 2.2: LayerNorm backward, the gradient of x.
//
//     dy, x, dx   [rows, cols]  rows dy_stride, x_stride and dx_stride elements apart
//     weight      [cols]        may be null
//     mean, rstd  [rows]        fp32, saved by the forward pass
//
//     x̂[r][c]   = (x[r][c] - mean[r]) * rstd[r]
//     wdy[r][c] = weight[c] * dy[r][c]
//     dx[r][c]  = rstd[r] * (wdy[r][c] - mean of wdy[r] - x̂[r][c] * mean of (wdy[r] * x̂[r]))
//
// Two sums a row, and both are needed before the first dx can be written. They travel together:
// one walk over the row, one barrier for both.
//
// Grade it:   make -C build grade_layernorm
// Read first: docs/02_layernorm.md, "2.2 The gradient of x"

#include <onepass/layernorm.h>

namespace onepass {

constexpr int kThreads = 256;  // threads a block
constexpr int kWarps = kThreads / 32;

/// The weight of a column; 1 in a layer without weights.
template <typename T>
__device__ inline float weight_at(const T* weight, int col) {
  return weight != nullptr ? static_cast<float>(weight[col]) : 1.0f;
}

/// The two sums over a row that dx needs.
struct RowSums {
  float wdy;      // of wdy
  float wdy_hat;  // of wdy * x̂
};

/// The sum of `value` over the 32 lanes of a warp, in every lane (exercise 1.1).
__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// Both sums over all threads of the block, in every thread. All threads call it together.
__device__ inline RowSums block_sums_of(RowSums sums) {
  // TODO 2: so far each thread knows its own share only. Add up both sums as in exercise 1.1: over
  // the warp with warp_sum(), then over the warps through two __shared__ arrays of kWarps slots,
  // one a warp. One barrier is enough for both.
  return sums;
}

/// `__restrict__`: no two of the buffers overlap (exercise 1.2).
template <typename T>
__global__ void layernorm_backward_dx_kernel(const T* __restrict__ dy, int64_t dy_stride,
                                             const T* __restrict__ x, int64_t x_stride,
                                             const T* __restrict__ weight,
                                             const float* __restrict__ mean,
                                             const float* __restrict__ rstd, T* __restrict__ dx,
                                             int64_t dx_stride, int cols) {
  const int64_t row = blockIdx.x;
  const T* dy_row = dy + row * dy_stride;  // [cols]
  const T* x_row = x + row * x_stride;     // [cols]
  T* dx_row = dx + row * dx_stride;        // [cols]
  const float row_mean = mean[row];
  const float row_rstd = rstd[row];

  // TODO 1: walk over this thread's columns (threadIdx.x, then every kThreads further on) and add
  // up wdy and wdy * x̂ in a RowSums; weight_at() gives the weight of a column. Call block_sums_of()
  // for the sums over the row, divide both by cols, and walk over the same columns again to store
  // dx.
}

template <typename T>
void layernorm_backward_dx(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* mean, const float* rstd, T* dx,
                           int64_t dx_stride, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) {
    return;  // a grid of no blocks is a launch error
  }
  layernorm_backward_dx_kernel<<<rows, kThreads, 0, stream>>>(dy, dy_stride, x, x_stride, weight,
                                                              mean, rstd, dx, dx_stride, cols);
}

}  // namespace onepass
