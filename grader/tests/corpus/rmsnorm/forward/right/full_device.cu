// Right: a warp a row, as many blocks as the device holds, and warps that go from row to row.
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kRows = 8;  // warps of a block, a row each
constexpr int kBlocksPerSm = 16;

template <typename T>
__global__ void __launch_bounds__(32 * kRows)
    warp_rows_kernel(const T* __restrict__ x, int64_t x_stride, const T* __restrict__ weight,
                     T* __restrict__ y, int64_t y_stride, float* __restrict__ rstd, int rows,
                     int cols, float eps) {
  const int lane = threadIdx.x;
  const int step = gridDim.x * kRows;
  for (int64_t row = blockIdx.x * kRows + threadIdx.y; row < rows; row += step) {
    const T* x_row = x + row * x_stride;
    T* y_row = y + row * y_stride;
    float squares = 0.0f;
#pragma unroll 4
    for (int col = lane; col < cols; col += 32) {
      const float value = static_cast<float>(x_row[col]);
      squares = fmaf(value, value, squares);
    }
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
      squares += __shfl_xor_sync(0xffffffff, squares, offset);
    }
    const float row_rstd = rsqrtf(squares / cols + eps);
    if (lane == 0) {
      rstd[row] = row_rstd;
    }
#pragma unroll 4
    for (int col = lane; col < cols; col += 32) {
      y_row[col] = static_cast<T>(static_cast<float>(x_row[col]) * row_rstd *
                                  static_cast<float>(weight[col]));
    }
  }
}

template <typename T>
void rmsnorm_forward(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                     float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  int device = 0;
  int multiprocessors = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  const int64_t wanted = (static_cast<int64_t>(rows) + kRows - 1) / kRows;
  const int64_t most = static_cast<int64_t>(multiprocessors) * kBlocksPerSm;
  const auto blocks = static_cast<unsigned>(wanted < most ? wanted : most);
  warp_rows_kernel<<<blocks, dim3(32, kRows), 0, stream>>>(x, x_stride, weight, y, y_stride, rstd,
                                                           rows, cols, eps);
}

}  // namespace onepass
