// Right: one cub::BlockReduce for blocks of any size, which is told by num_valid how many threads
// there are, as in kernels for inference.

#include <onepass/rmsnorm.h>

#include <cub/cub.cuh>

namespace onepass {

struct Add {
  template <typename T>
  __device__ T operator()(const T& a, const T& b) const {
    return a + b;
  }
};

template <typename T>
__global__ void rmsnorm_kernel(const T* __restrict__ x, int64_t x_stride,
                               const T* __restrict__ weight, T* __restrict__ y, int64_t y_stride,
                               float* __restrict__ rstd, int cols, float eps) {
  using BlockReduce = cub::BlockReduce<float, 1024>;
  __shared__ typename BlockReduce::TempStorage temp;
  __shared__ float shared_rstd;
  float squares = 0.0f;
  for (int col = threadIdx.x; col < cols; col += blockDim.x) {
    const float value = static_cast<float>(x[blockIdx.x * x_stride + col]);
    squares += value * value;
  }
  squares = BlockReduce(temp).Reduce(squares, Add{}, blockDim.x);
  if (threadIdx.x == 0) {
    shared_rstd = rsqrtf(squares / cols + eps);
    rstd[blockIdx.x] = shared_rstd;
  }
  __syncthreads();
  for (int col = threadIdx.x; col < cols; col += blockDim.x) {
    const float value = static_cast<float>(x[blockIdx.x * x_stride + col]);
    y[blockIdx.x * y_stride + col] =
        static_cast<T>(value * shared_rstd * static_cast<float>(weight[col]));
  }
}

template <typename T>
void rmsnorm_forward(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                     float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows > 0) {
    const int threads = cols < 1024 ? cols : 1024;
    rmsnorm_kernel<<<rows, threads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, cols, eps);
  }
}

}  // namespace onepass
