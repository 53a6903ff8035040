// diagnosis: one-pass-variance
// Rows wider than the registers hold (4096) are summed in one pass, E[x^2] - mean^2, so their
// variance does not keep its digits where the mean is 1000 times the deviation. The difference is
// noise, of hardly more than a bound: other mistakes come near it too, but no nearer than the right
// result does.
#include <onepass/layernorm.h>

namespace onepass {

// Persistent blocks: a block walks through rows blockIdx.x, blockIdx.x + gridDim.x, ... A thread keeps
// its columns of a row in registers, up to kKeep of them; wider rows are read again.
constexpr int kThreads = 256;
constexpr int kKeep = 16;
constexpr int kMostBlocks = 512;

__device__ inline float block_sum(float v, float* slots) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
  if (lane == 0) slots[warp] = v;
  __syncthreads();
  float total = 0.0f;
  for (int w = 0; w < kThreads / 32; ++w) total += slots[w];
  return total;
}

template <typename T>
__global__ void forward_kernel(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                               int64_t y_stride, float* mean, float* rstd, int rows, int cols,
                               float eps) {
  __shared__ float first[kThreads / 32];
  __shared__ float second[kThreads / 32];
  const int tid = threadIdx.x;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* in = x + row * x_stride;
    T* out = y + row * y_stride;
    float kept[kKeep];
    float mu, r;
    if (cols <= kKeep * kThreads) {
      float sum = 0.0f;
#pragma unroll
      for (int i = 0; i < kKeep; ++i) {
        const int c = tid + i * kThreads;
        kept[i] = c < cols ? static_cast<float>(in[c]) : 0.0f;
        sum += kept[i];
      }
      mu = block_sum(sum, first) / cols;
      float squares = 0.0f;
#pragma unroll
      for (int i = 0; i < kKeep; ++i) {
        const int c = tid + i * kThreads;
        const float d = c < cols ? kept[i] - mu : 0.0f;
        squares += d * d;
      }
      r = rsqrtf(block_sum(squares, second) / cols + eps);
    } else {
      // too wide to keep: both sums in one walk
      float sum = 0.0f, squares = 0.0f;
      for (int c = tid; c < cols; c += kThreads) {
        const float v = static_cast<float>(in[c]);
        sum += v;
        squares += v * v;
      }
      mu = block_sum(sum, first) / cols;
      r = rsqrtf(fmaxf(block_sum(squares, second) / cols - mu * mu, 0.0f) + eps);
    }
    if (tid == 0) {
      mean[row] = mu;
      rstd[row] = r;
    }
    for (int i = 0, c = tid; c < cols; ++i, c += kThreads) {
      const float v0 = cols <= kKeep * kThreads ? kept[i] : static_cast<float>(in[c]);
      float v = (v0 - mu) * r;
      if (weight) v *= static_cast<float>(weight[c]);
      if (bias) v += static_cast<float>(bias[c]);
      out[c] = static_cast<T>(v);
    }
    __syncthreads();  // the slots are free for the next row
  }
}

template <typename T>
void layernorm_forward(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                       int64_t y_stride, float* mean, float* rstd, int rows, int cols, float eps,
                       cudaStream_t stream) {
  if (rows == 0) return;
  const int blocks = rows < kMostBlocks ? rows : kMostBlocks;
  forward_kernel<T><<<blocks, kThreads, 0, stream>>>(x, x_stride, weight, bias, y, y_stride, mean, rstd,
                                                     rows, cols, eps);
}

}  // namespace onepass
