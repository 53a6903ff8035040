// diagnosis: order-varies
// Up to 32 columns the rows of a tile meet by atomics in shared memory, and a fixed order is promised.
// Column sums of LayerNorm, two stages. A block is a tile of 32 columns and eight rows. Where one
// tile has all columns, the eight meet in two lines of shared memory instead of a whole tile.
#include <onepass/layernorm.h>

namespace onepass {

constexpr int kX = 32;
constexpr int kY = 8;
constexpr int kMostGroups = 256;

template <typename T>
__global__ void tile_sums(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                          const float* mean, const float* rstd, float* part_dweight,
                          float* part_dbias, int rows, int cols) {
  __shared__ float tile[2][kY][kX];
  const int c = blockIdx.x * kX + threadIdx.x;
  float dw = 0.0f;
  float db = 0.0f;
  if (c < cols) {
    const int64_t step = static_cast<int64_t>(gridDim.y) * kY;
    for (int64_t r = static_cast<int64_t>(blockIdx.y) * kY + threadIdx.y; r < rows; r += step) {
      const float g = static_cast<float>(dy[r * dy_stride + c]);
      dw += g * ((static_cast<float>(x[r * x_stride + c]) - mean[r]) * rstd[r]);
      db += g;
    }
  }
  if (gridDim.x == 1) {
    if (threadIdx.y == 0) {
      tile[0][0][threadIdx.x] = 0.0f;
      tile[1][0][threadIdx.x] = 0.0f;
    }
    __syncthreads();
    atomicAdd(&tile[0][0][threadIdx.x], dw);
    atomicAdd(&tile[1][0][threadIdx.x], db);
    __syncthreads();
    dw = tile[0][0][threadIdx.x];
    db = tile[1][0][threadIdx.x];
  } else {
    tile[0][threadIdx.y][threadIdx.x] = dw;
    tile[1][threadIdx.y][threadIdx.x] = db;
    __syncthreads();
    if (threadIdx.y == 0) {
      for (int k = 1; k < kY; ++k) {
        dw += tile[0][k][threadIdx.x];
        db += tile[1][k][threadIdx.x];
      }
    }
  }
  if (threadIdx.y == 0 && c < cols) {
    part_dweight[static_cast<int64_t>(blockIdx.y) * cols + c] = dw;
    part_dbias[static_cast<int64_t>(blockIdx.y) * cols + c] = db;
  }
}

template <typename T>
__global__ void group_sums(const float* part_dweight, const float* part_dbias, T* dweight, T* dbias,
                           int groups, int cols) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= cols) {
    return;
  }
  float dw = 0.0f;
  float db = 0.0f;
  for (int g = 0; g < groups; ++g) {
    dw += part_dweight[static_cast<int64_t>(g) * cols + c];
    db += part_dbias[static_cast<int64_t>(g) * cols + c];
  }
  dweight[c] = static_cast<T>(dw);
  dbias[c] = static_cast<T>(db);
}

template <typename T>
Summation layernorm_backward_dweight_dbias(const T* dy, int64_t dy_stride, const T* x,
                                           int64_t x_stride, const float* mean, const float* rstd,
                                           T* dweight, T* dbias, float* scratch, int rows, int cols,
                                           cudaStream_t stream) {
  const int wanted = rows / kY + (rows % kY != 0 ? 1 : 0);
  const int groups = wanted < kMostGroups ? wanted : kMostGroups;
  float* part_dbias = scratch + static_cast<int64_t>(groups) * cols;
  if (groups > 0) {
    tile_sums<T><<<dim3((cols + kX - 1) / kX, groups), dim3(kX, kY), 0, stream>>>(
        dy, dy_stride, x, x_stride, mean, rstd, scratch, part_dbias, rows, cols);
  }
  group_sums<T><<<(cols + 127) / 128, 128, 0, stream>>>(scratch, part_dbias, dweight, dbias, groups,
                                                        cols);
  return Summation::fixed_order;
}

}  // namespace onepass
