// Right: one cooperative launch. Behind the barrier of the grid all blocks add up the groups' sums.

#include <cooperative_groups.h>
#include <onepass/layernorm.h>

namespace onepass {

constexpr int kBlock = 256;
constexpr int kMostGroups = 64;

/// The sum of `value` over a warp, in every lane.
__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  return value;
}

/// The sum of `value` over the block, in every thread. May be called again and again.
__device__ inline float block_sum_of(float value) {
  __shared__ float slots[32];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warps = blockDim.x / 32;
  value = warp_sum(value);
  __syncthreads();
  if (lane == 0) {
    slots[warp] = value;
  }
  __syncthreads();
  return warp_sum(lane < warps ? slots[lane] : 0.0f);
}

/// dx of one row, by the whole block.
template <typename T>
__device__ inline void row_gradient(const T* g, const T* in, const T* weight, float mu, float rs,
                                    T* out, int cols) {
  float a = 0.0f;
  float b = 0.0f;
  for (int col = threadIdx.x; col < cols; col += blockDim.x) {
    const float wdy = static_cast<float>(weight[col]) * static_cast<float>(g[col]);
    a += wdy;
    b += wdy * ((static_cast<float>(in[col]) - mu) * rs);
  }
  a = block_sum_of(a) / cols;
  b = block_sum_of(b) / cols;
  for (int col = threadIdx.x; col < cols; col += blockDim.x) {
    const float wdy = static_cast<float>(weight[col]) * static_cast<float>(g[col]);
    const float hat = (static_cast<float>(in[col]) - mu) * rs;
    out[col] = static_cast<T>((wdy - a - hat * b) * rs);
  }
}

template <typename T>
__global__ void __launch_bounds__(kBlock)
    whole_backward(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                   const float* mean, const float* rstd, T* dx, int64_t dx_stride, T* dweight,
                   T* dbias, float* part_weight, float* part_bias, int rows, int cols, int groups) {
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    row_gradient(dy + row * dy_stride, x + row * x_stride, weight, mean[row], rstd[row],
                 dx + row * dx_stride, cols);
  }
  const int tiles = (cols + kBlock - 1) / kBlock;
  for (int item = blockIdx.x; item < groups * tiles; item += gridDim.x) {
    const int group = item / tiles;
    const int col = (item - group * tiles) * kBlock + threadIdx.x;
    if (col < cols) {
      float a = 0.0f;
      float b = 0.0f;
#pragma unroll 4
      for (int64_t row = group; row < rows; row += groups) {
        const float g = static_cast<float>(dy[row * dy_stride + col]);
        a += g * ((static_cast<float>(x[row * x_stride + col]) - mean[row]) * rstd[row]);
        b += g;
      }
      part_weight[static_cast<int64_t>(group) * cols + col] = a;
      part_bias[static_cast<int64_t>(group) * cols + col] = b;
    }
  }
  cooperative_groups::this_grid().sync();
  for (int col = blockIdx.x * kBlock + threadIdx.x; col < cols; col += gridDim.x * kBlock) {
    float a = 0.0f;
    float b = 0.0f;
    for (int64_t group = 0; group < groups; ++group) {
      a += part_weight[group * cols + col];
      b += part_bias[group * cols + col];
    }
    dweight[col] = static_cast<T>(a);
    dbias[col] = static_cast<T>(b);
  }
}

template <typename T>
Summation layernorm_backward(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                             const T* weight, const float* mean, const float* rstd, T* dx,
                             int64_t dx_stride, T* dweight, T* dbias, float* scratch, int rows,
                             int cols, cudaStream_t stream) {
  if (rows == 0) {
    cudaMemsetAsync(dweight, 0, static_cast<size_t>(cols) * sizeof(T), stream);
    cudaMemsetAsync(dbias, 0, static_cast<size_t>(cols) * sizeof(T), stream);
    return Summation::fixed_order;
  }
  const auto kernel = whole_backward<T>;
  int device = 0;
  int processors = 1;
  int each = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, kBlock, 0);
  const int groups = rows < kMostGroups ? rows : kMostGroups;
  const int items = groups * ((cols + kBlock - 1) / kBlock);
  const int work = rows > items ? rows : items;
  const int most = processors * (each < 2 ? each : 2);
  float* part_weight = scratch;
  float* part_bias = scratch + static_cast<int64_t>(groups) * cols;
  cudaLaunchAttribute cooperative = {};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(work < most ? work : most);
  config.blockDim = dim3(kBlock);
  config.stream = stream;
  config.attrs = &cooperative;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, kernel, dy, dy_stride, x, x_stride, weight, mean, rstd, dx, dx_stride,
                     dweight, dbias, part_weight, part_bias, rows, cols, groups);
  return Summation::fixed_order;
}

}  // namespace onepass
