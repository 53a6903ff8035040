// diagnosis: bad-shuffle-mask
// says: The mask is from __activemask()
// The mask of the shuffles is what __activemask() says behind a loop whose length differs among lanes.
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kWarps = 8;

template <typename T>
__global__ void block_sum_kernel(const T* x, int64_t x_stride, float* sums, int rows, int cols) {
  const int lane = threadIdx.x % 32;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (row >= rows) {
    return;  // the whole warp
  }
  const T* x_row = x + row * x_stride;
  float sum = 0.0f;
  for (int col = lane; col < cols; col += 32) {
    sum += static_cast<float>(x_row[col]);
  }
  // The lanes of this warp meet here again.
  const unsigned mask = __activemask();
  for (int offset = 16; offset > 0; offset /= 2) {
    sum += __shfl_xor_sync(mask, sum, offset);
  }
  if (lane == 0) {
    sums[row] = sum;
  }
}

template <typename T>
void block_sum(const T* x, int64_t x_stride, float* sums, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  const int64_t blocks = (static_cast<int64_t>(rows) + kWarps - 1) / kWarps;
  block_sum_kernel<<<static_cast<unsigned>(blocks), 32 * kWarps, 0, stream>>>(x, x_stride, sums,
                                                                              rows, cols);
}

}  // namespace onepass
