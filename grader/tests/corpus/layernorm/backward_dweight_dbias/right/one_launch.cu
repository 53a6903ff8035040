// Right: both stages in one cooperative launch. Each block adds up its rows and leaves its sums in
// scratch; behind grid.sync() every column is added up by one thread of the grid.

#include <cooperative_groups.h>
#include <onepass/layernorm.h>

namespace onepass {

namespace cg = cooperative_groups;

constexpr int kThreads = 256;

template <typename T>
__global__ void both_stages_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
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
  const int threads = static_cast<int>(grid.num_threads());
  for (int col = static_cast<int>(grid.thread_rank()); col < cols; col += threads) {
    float sum_dweight = 0.0f;
    float sum_dbias = 0.0f;
    for (int64_t other = 0; other < groups; ++other) {
      sum_dweight += partial_dweight[other * cols + col];
      sum_dbias += partial_dbias[other * cols + col];
    }
    dweight[col] = static_cast<T>(sum_dweight);
    dbias[col] = static_cast<T>(sum_dbias);
  }
}

template <typename T>
Summation layernorm_backward_dweight_dbias(const T* dy, int64_t dy_stride, const T* x,
                                           int64_t x_stride, const float* mean, const float* rstd,
                                           T* dweight, T* dbias, float* scratch, int rows, int cols,
                                           cudaStream_t stream) {
  static const int multiprocessors = [] {  // asked once, for all calls
    int count = 0;
    cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0);
    return count;
  }();
  int fit = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, both_stages_kernel<T>, kThreads, 0);
  int groups = layernorm_groups(rows);
  groups = groups < multiprocessors * fit ? groups : multiprocessors * fit;
  const int blocks = groups > 0 ? groups : 1;
  float* partial_dweight = scratch;
  float* partial_dbias = scratch + static_cast<int64_t>(groups) * cols;
  void* arguments[] = {&dy,      &dy_stride,       &x,             &x_stride, &mean, &rstd, &dweight,
                       &dbias,   &partial_dweight, &partial_dbias, &groups,   &rows, &cols};
  cudaLaunchCooperativeKernel((const void*)both_stages_kernel<T>, blocks, kThreads, arguments, 0,
                              stream);
  return Summation::fixed_order;
}

}  // namespace onepass
