// diagnosis: none
// says: enters dweight more than once
// check: no rows, wide rows, many rows
// The tile is set to 0 once: a group's last step, if it has fewer rows, adds some of the step
// before again.
#include <onepass/layernorm.h>

namespace onepass {

constexpr int kTile = 32;  // rows and columns of a tile
constexpr int kHigh = 8;   // warps of a block
constexpr int kMostGroups = 64;

__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// A block has 32 columns of a group's rows. It loads tiles row by row (neighbouring lanes, neighbouring columns) and adds them up
/// column by column (neighbouring lanes, neighbouring rows): a warp has columns threadIdx.y, threadIdx.y + 8, ...
template <typename T>
__global__ void __launch_bounds__(kTile* kHigh)
    sum_tiles(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const float* mean, const float* rstd,
              float2* partial,  // [groups, cols]: dweight, dbias
              int rows, int cols) {
  __shared__ float2 tile[kTile][kTile + 1];
  const int first_col = blockIdx.x * kTile;
  const int col = first_col + threadIdx.x;
  for (int r = threadIdx.y; r < kTile; r += kHigh) {
    tile[r][threadIdx.x] = make_float2(0.0f, 0.0f);  // rows and columns that are not there add nothing
  }
  float2 sums[kTile / kHigh] = {};
  for (int64_t first = static_cast<int64_t>(blockIdx.y) * kTile; first < rows; first += static_cast<int64_t>(gridDim.y) * kTile) {
    for (int r = threadIdx.y; r < kTile; r += kHigh) {
      const int64_t row = first + r;
      if (row < rows && col < cols) {
        const float value = static_cast<float>(dy[row * dy_stride + col]);
        const float x_hat = (static_cast<float>(x[row * x_stride + col]) - mean[row]) * rstd[row];
        tile[r][threadIdx.x] = make_float2(value * x_hat, value);
      }
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kTile / kHigh; ++k) {
      const float2 value = tile[threadIdx.x][threadIdx.y + k * kHigh];
      sums[k].x += value.x;
      sums[k].y += value.y;
    }
    __syncthreads();
  }
#pragma unroll
  for (int k = 0; k < kTile / kHigh; ++k) {
    const float2 total = make_float2(warp_sum(sums[k].x), warp_sum(sums[k].y));
    const int c = first_col + threadIdx.y + k * kHigh;
    if (threadIdx.x == 0 && c < cols) {
      partial[static_cast<int64_t>(blockIdx.y) * cols + c] = total;
    }
  }
}

template <typename T>
__global__ void sum_groups(const float2* partial, T* dweight, T* dbias, int groups, int cols) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col >= cols) {
    return;
  }
  float2 total = make_float2(0.0f, 0.0f);
#pragma unroll 8
  for (int group = 0; group < groups; ++group) {
    const float2 value = partial[static_cast<int64_t>(group) * cols + col];
    total.x += value.x;
    total.y += value.y;
  }
  dweight[col] = static_cast<T>(total.x);
  dbias[col] = static_cast<T>(total.y);
}

template <typename T>
Summation layernorm_backward_dweight_dbias(const T* dy, int64_t dy_stride, const T* x,
                                           int64_t x_stride, const float* mean, const float* rstd,
                                           T* dweight, T* dbias, float* scratch, int rows, int cols,
                                           cudaStream_t stream) {
  const int steps = rows / kTile + (rows % kTile != 0);
  const int groups = steps < kMostGroups ? steps : kMostGroups;
  float2* partial = reinterpret_cast<float2*>(scratch);  // 2 * groups * cols numbers
  if (groups > 0) {
    const dim3 grid((cols + kTile - 1) / kTile, groups);
    sum_tiles<<<grid, dim3(kTile, kHigh), 0, stream>>>(dy, dy_stride, x, x_stride, mean, rstd, partial, rows, cols);
  }
  sum_groups<<<(cols + 127) / 128, 128, 0, stream>>>(partial, dweight, dbias, groups, cols);
  return Summation::fixed_order;
}

}  // namespace onepass
