// diagnosis: misaligned-vector
// In the second stage a thread has two neighbouring columns, and stores both at once.
#include <onepass/layernorm.h>

namespace onepass {

constexpr int kThreads = 96;
constexpr int kSlices = 8;

template <typename T>
struct alignas(2 * sizeof(T)) Both {
  T first, second;
};

template <typename T>
__global__ void first_stage(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                            const float* mean, const float* rstd, float* dweight_sums,
                            float* dbias_sums, int rows, int cols) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= cols) return;
  float dweight_sum = 0.0f;
  float dbias_sum = 0.0f;
#pragma unroll 4
  for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
    const float g = static_cast<float>(dy[row * dy_stride + c]);
    dweight_sum = fmaf(g, (static_cast<float>(x[row * x_stride + c]) - mean[row]) * rstd[row],
                       dweight_sum);
    dbias_sum += g;
  }
  const int64_t place = static_cast<int64_t>(blockIdx.y) * cols + c;
  dweight_sums[place] = dweight_sum;
  dbias_sums[place] = dbias_sum;
}

template <typename T>
__device__ void total(const float* sums, T* result, int groups, int cols) {
  __shared__ float2 slices[kSlices][32];
  const int c = 2 * (blockIdx.x * 32 + threadIdx.x);
  float2 sum = make_float2(0.0f, 0.0f);
  for (int g = threadIdx.y; g < groups; g += kSlices) {
    const float* row = sums + static_cast<int64_t>(g) * cols;
    if (c < cols) sum.x += row[c];
    if (c + 1 < cols) sum.y += row[c + 1];
  }
  slices[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0) return;
  for (int s = 1; s < kSlices; ++s) {
    sum.x += slices[s][threadIdx.x].x;
    sum.y += slices[s][threadIdx.x].y;
  }
  if (c + 1 < cols) {
    *reinterpret_cast<Both<T>*>(result + c) = {static_cast<T>(sum.x), static_cast<T>(sum.y)};
  } else if (c < cols) {
    result[c] = static_cast<T>(sum.x);
  }
}

template <typename T>
__global__ void second_stage(const float* dweight_sums, const float* dbias_sums, T* dweight,
                             T* dbias, int groups, int cols) {
  total(blockIdx.y == 0 ? dweight_sums : dbias_sums, blockIdx.y == 0 ? dweight : dbias, groups,
        cols);
}

template <typename T>
Summation layernorm_backward_dweight_dbias(const T* dy, int64_t dy_stride, const T* x,
                                           int64_t x_stride, const float* mean, const float* rstd,
                                           T* dweight, T* dbias, float* scratch, int rows, int cols,
                                           cudaStream_t stream) {
  const int groups = layernorm_groups(rows);
  float* dbias_sums = scratch + static_cast<int64_t>(groups) * cols;
  if (rows > 0) {
    first_stage<<<dim3((cols + kThreads - 1) / kThreads, groups), kThreads, 0, stream>>>(
        dy, dy_stride, x, x_stride, mean, rstd, scratch, dbias_sums, rows, cols);
  }
  second_stage<<<dim3((cols + 63) / 64, 2), dim3(32, kSlices), 0, stream>>>(
      scratch, dbias_sums, dweight, dbias, groups, cols);
  return Summation::fixed_order;
}

}  // namespace onepass
