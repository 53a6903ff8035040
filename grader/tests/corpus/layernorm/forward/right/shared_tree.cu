// Right: a tree in shared memory instead of shuffles; 1024 threads a block.

#include <onepass/layernorm.h>

namespace onepass {

constexpr int kThreads = 1024;

/// The value scaled and shifted by what its column has of weight and bias.
template <typename T>
__device__ T finish(float x_hat, const T* weight, const T* bias, int col) {
  const float scaled = weight != nullptr ? x_hat * static_cast<float>(weight[col]) : x_hat;
  return static_cast<T>(bias != nullptr ? scaled + static_cast<float>(bias[col]) : scaled);
}

/// The sum over the block in every thread.
__device__ float tree_sum(float value) {
  __shared__ float shares[kThreads];
  __syncthreads();  // the last sum has been read
  shares[threadIdx.x] = value;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      shares[threadIdx.x] += shares[threadIdx.x + half];
    }
  }
  __syncthreads();
  return shares[0];
}

template <typename T>
__global__ void layernorm_kernel(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                                 int64_t y_stride, float* mean, float* rstd, int rows, int cols,
                                 float eps) {
  const int64_t row = blockIdx.x;
  const T* x_row = x + row * x_stride;
  float sum = 0.0f;
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    sum += static_cast<float>(x_row[col]);
  }
  const float row_mean = tree_sum(sum) / cols;
  float squares = 0.0f;
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float centred = static_cast<float>(x_row[col]) - row_mean;
    squares += centred * centred;
  }
  const float row_rstd = rsqrtf(tree_sum(squares) / cols + eps);
  if (threadIdx.x == 0) {
    mean[row] = row_mean;
    rstd[row] = row_rstd;
  }
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float x_hat = (static_cast<float>(x_row[col]) - row_mean) * row_rstd;
    y[row * y_stride + col] = finish(x_hat, weight, bias, col);
  }
}

template <typename T>
void layernorm_forward(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                       int64_t y_stride, float* mean, float* rstd, int rows, int cols, float eps,
                       cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  layernorm_kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, weight, bias, y, y_stride, mean,
                                                  rstd, rows, cols, eps);
}

}  // namespace onepass
