// diagnosis: missing-barrier
// not: reused-buffer-race, row-loop-race
// The barrier stands before the tree, and not in it.

// Apex: cuComputePartGradGammaBeta and cuComputeGradGammaBeta, with a tile of 32 x 16 threads.
#include <onepass/layernorm.h>

namespace onepass {

constexpr int kTileX = 32;
constexpr int kTileY = 16;

template <typename T>
__global__ void cuComputePartGradGammaBeta(const T* dout, int64_t dout_stride, const T* input,
                                           int64_t input_stride, int n1, int n2, const float* mean,
                                           const float* invvar, float* part_grad_gamma,
                                           float* part_grad_beta) {
  __shared__ float s_gamma[kTileY][kTileX + 1];
  __shared__ float s_beta[kTileY][kTileX + 1];
  const int i2 = blockIdx.x * kTileX + threadIdx.x;
  const int64_t per_block = (static_cast<int64_t>(n1) + gridDim.y - 1) / gridDim.y;
  const int64_t i1_beg = blockIdx.y * per_block;
  const int64_t i1_end = i1_beg + per_block < n1 ? i1_beg + per_block : n1;
  float gamma = 0.f, beta = 0.f;
  for (int64_t i1 = i1_beg + threadIdx.y; i2 < n2 && i1 < i1_end; i1 += kTileY) {
    const float d = static_cast<float>(dout[i1 * dout_stride + i2]);
    gamma += d * (static_cast<float>(input[i1 * input_stride + i2]) - mean[i1]) * invvar[i1];
    beta += d;
  }
  s_gamma[threadIdx.y][threadIdx.x] = gamma;
  s_beta[threadIdx.y][threadIdx.x] = beta;
  __syncthreads();
  for (int offset = kTileY / 2; offset > 0; offset /= 2) {
    if (threadIdx.y < offset) {
      s_gamma[threadIdx.y][threadIdx.x] += s_gamma[threadIdx.y + offset][threadIdx.x];
      s_beta[threadIdx.y][threadIdx.x] += s_beta[threadIdx.y + offset][threadIdx.x];
    }
  }
  if (threadIdx.y == 0 && i2 < n2) {
    part_grad_gamma[blockIdx.y * n2 + i2] = s_gamma[0][threadIdx.x];
    part_grad_beta[blockIdx.y * n2 + i2] = s_beta[0][threadIdx.x];
  }
}

template <typename T>
__global__ void cuComputeGradGammaBeta(const float* part_grad_gamma, const float* part_grad_beta,
                                       int part_size, int n2, T* grad_gamma, T* grad_beta) {
  const int i2 = blockIdx.x * blockDim.x + threadIdx.x;
  if (i2 < n2) {
    float g = 0.f, b = 0.f;
    for (int k = 0; k < part_size; ++k) {
      g += part_grad_gamma[k * n2 + i2];
      b += part_grad_beta[k * n2 + i2];
    }
    grad_gamma[i2] = static_cast<T>(g);
    grad_beta[i2] = static_cast<T>(b);
  }
}

template <typename T>
Summation layernorm_backward_dweight_dbias(const T* dy, int64_t dy_stride, const T* x,
                                           int64_t x_stride, const float* mean, const float* rstd,
                                           T* dweight, T* dbias, float* scratch, int rows, int cols,
                                           cudaStream_t stream) {
  const int part_size = rows < 64 ? rows : 64;
  float* part_gamma = scratch;
  float* part_beta = scratch + part_size * cols;
  if (part_size > 0) {
    const dim3 blocks((cols + kTileX - 1) / kTileX, part_size);
    cuComputePartGradGammaBeta<<<blocks, dim3(kTileX, kTileY), 0, stream>>>(
        dy, dy_stride, x, x_stride, rows, cols, mean, rstd, part_gamma, part_beta);
  }
  cuComputeGradGammaBeta<<<(cols + 127) / 128, 128, 0, stream>>>(part_gamma, part_beta, part_size,
                                                                 cols, dweight, dbias);
  return Summation::fixed_order;
}

}  // namespace onepass
