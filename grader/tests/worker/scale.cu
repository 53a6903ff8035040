// y = factor * x, and what a student's launcher may do wrong, by `mode`: the worker's own test.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace scale_test {

enum Mode : int {
  kRight = 0,
  kTooManyThreads,  // the launch is refused
  kOutOfBounds,     // the kernel writes far away
  kNextColumn,      // the kernel writes one column further: padding, or past the end
  kThrows,
  kExits,
  kPrints,
};

__global__ void scale_kernel(const float* x, float* y, int64_t stride, int cols, float factor,
                             int64_t shift) {
  const int64_t row = blockIdx.x;
  for (int col = threadIdx.x; col < cols; col += blockDim.x) {
    y[row * stride + col + shift] = factor * x[row * stride + col];
  }
}

inline void scale(const float* x, float* y, int64_t stride, int rows, int cols, float factor,
                  int mode, cudaStream_t stream) {
  const int64_t far_away = int64_t{1} << 40;
  const int64_t shift = mode == kOutOfBounds ? far_away : mode == kNextColumn ? 1 : 0;
  const int threads = mode == kTooManyThreads ? 4096 : 64;
  if (mode == kThrows) {
    throw std::runtime_error("cannot");
  }
  if (mode == kExits) {
    std::exit(0);
  }
  if (mode == kPrints) {
    std::printf("PASS {\"op\":\"ran\",\"status\":\"ok\"}\n");
  }
  scale_kernel<<<rows, threads, 0, stream>>>(x, y, stride, cols, factor, shift);
}

}  // namespace scale_test
