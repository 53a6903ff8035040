// Right: one kernel for rstd, and one for y that begins early. It asks for its row of x by asynchronous
// copies, which nobody writes, before it waits for the first kernel: what that one writes it loads
// behind the wait. Where a row does not fit into shared memory it is read from where it is.

#include <cuda_pipeline.h>
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 256;
constexpr int kMostBytes = 32768;  // of a row in shared memory

template <typename T>
__global__ void rstd_kernel(const T* x, int64_t x_stride, float* rstd, int cols, float eps) {
  __shared__ float shares[kThreads / 32];
  const int64_t row = blockIdx.x;
  float squares = 0.0f;
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float value = static_cast<float>(x[row * x_stride + col]);
    squares += value * value;
  }
  cudaTriggerProgrammaticLaunchCompletion();
  for (int offset = 16; offset > 0; offset /= 2) {
    squares += __shfl_xor_sync(0xffffffffu, squares, offset);
  }
  if (threadIdx.x % 32 == 0) {
    shares[threadIdx.x / 32] = squares;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int warp = 1; warp < kThreads / 32; ++warp) {
      squares += shares[warp];
    }
    rstd[row] = rsqrtf(squares / cols + eps);
  }
}

template <typename T>
__global__ void scale_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                             const float* rstd, int cols, bool is_copied) {
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ float row_rstd;
  T* const held = reinterpret_cast<T*>(memory);
  const int64_t row = blockIdx.x;
  const T* const x_row = x + row * x_stride;
  constexpr int kPack = 16 / sizeof(T);
  for (int i = threadIdx.x; is_copied && i < cols / kPack; i += kThreads) {
    __pipeline_memcpy_async(held + i * kPack, x_row + i * kPack, 16);
  }
  cudaGridDependencySynchronize();
  if (threadIdx.x == 0) {
    __pipeline_memcpy_async(&row_rstd, rstd + row, sizeof(float));
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  const T* const from = is_copied ? held : x_row;
  for (int col = threadIdx.x; col < cols; col += kThreads) {
    const float scaled = static_cast<float>(from[col]) * row_rstd;
    y[row * y_stride + col] = static_cast<T>(scaled * static_cast<float>(weight[col]));
  }
}

template <typename T>
void rmsnorm_forward(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                     float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  const size_t bytes = cols * sizeof(T);
  const bool is_copied = reinterpret_cast<uintptr_t>(x) % 16 == 0 && bytes % 16 == 0 &&
                         x_stride * sizeof(T) % 16 == 0 && bytes <= kMostBytes;
  rstd_kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, rstd, cols, eps);
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = rows;
  config.blockDim = kThreads;
  config.dynamicSmemBytes = is_copied ? bytes : 0;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, scale_kernel<T>, x, x_stride, weight, y, y_stride,
                     static_cast<const float*>(rstd), cols, is_copied);
}

}  // namespace onepass
