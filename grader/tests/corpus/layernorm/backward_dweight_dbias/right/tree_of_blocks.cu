// Right: a tree across blocks. In each turn half of the groups are added to the other half, with
// grid.sync() behind it; the last group left holds the sums. One cooperative launch, by attribute.

#include <cooperative_groups.h>
#include <onepass/layernorm.h>

namespace onepass {

namespace cg = cooperative_groups;

constexpr int kThreads = 256;

template <typename T>
__global__ void tree_of_blocks_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                                   const float* mean, const float* rstd, T* dweight, T* dbias,
                                   float* partial_dweight,  // [groups, cols]
                                   float* partial_dbias,    // [groups, cols]
                                   int groups, int rows, int cols) {
  const cg::grid_group grid = cg::this_grid();
  const int group = blockIdx.x;
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    float sum_dweight = 0.0f;
    float sum_dbias = 0.0f;
    for (int64_t row = group; row < rows; row += groups) {
      const float dy_value = static_cast<float>(dy[row * dy_stride + col]);
      sum_dweight +=
          dy_value * (static_cast<float>(x[row * x_stride + col]) - mean[row]) * rstd[row];
      sum_dbias += dy_value;
    }
    if (group < groups) {
      partial_dweight[static_cast<int64_t>(group) * cols + col] = sum_dweight;
      partial_dbias[static_cast<int64_t>(group) * cols + col] = sum_dbias;
    }
  }
  grid.sync();
  for (int left = groups; left > 1; left = (left + 1) / 2) {
    const int half = (left + 1) / 2;
    for (int col = threadIdx.x; col < cols && group + half < left; col += kThreads) {
      const int64_t mine = static_cast<int64_t>(group) * cols + col;
      const int64_t other = static_cast<int64_t>(group + half) * cols + col;
      partial_dweight[mine] += partial_dweight[other];
      partial_dbias[mine] += partial_dbias[other];
    }
    grid.sync();
  }
  for (int col = threadIdx.x; col < cols && group == 0; col += kThreads) {
    dweight[col] = static_cast<T>(groups > 0 ? partial_dweight[col] : 0.0f);
    dbias[col] = static_cast<T>(groups > 0 ? partial_dbias[col] : 0.0f);
  }
}

template <typename T>
Summation layernorm_backward_dweight_dbias(const T* dy, int64_t dy_stride, const T* x,
                                           int64_t x_stride, const float* mean, const float* rstd,
                                           T* dweight, T* dbias, float* scratch, int rows, int cols,
                                           cudaStream_t stream) {
  int multiprocessors = 0;
  int fit = 0;
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, tree_of_blocks_kernel<T>, kThreads, 0);
  int groups = layernorm_groups(rows);
  groups = groups < multiprocessors * fit ? groups : multiprocessors * fit;
  const int blocks = groups > 0 ? groups : 1;
  float* partial_dweight = scratch;
  float* partial_dbias = scratch + static_cast<int64_t>(groups) * cols;
  cudaLaunchAttribute together = {};
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = blocks;
  config.blockDim = kThreads;
  config.stream = stream;
  config.attrs = &together;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, tree_of_blocks_kernel<T>, dy, dy_stride, x, x_stride, mean, rstd,
                     dweight, dbias, partial_dweight, partial_dbias, groups, rows, cols);
  return Summation::fixed_order;
}

}  // namespace onepass
