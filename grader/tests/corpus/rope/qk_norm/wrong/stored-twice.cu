// diagnosis: loaded-twice
// Some elements are stored as they come from the norm, and again when they are turned.
// RMSNorm of each head, then RoPE: a warp has a head, brings it into shared memory as fp32, and takes
// from there what it needs. What is behind the turned elements is written in whole runs of 32
// elements, so that the lanes of a warp begin where sectors do.

#include <onepass/rope.h>

namespace onepass {

constexpr int kLargest = 1024;  // elements of a head
constexpr int kHeadsABlock = 4;

template <typename T, typename Table, typename Position>
__global__ void __launch_bounds__(32 * kHeadsABlock)
    head_in_shared_memory(T* q, int64_t q_stride, T* k, int64_t k_stride, const T* q_weight,
                          const T* k_weight, const Position* positions, const Table* cos,
                          const Table* sin, int64_t rows, int q_heads, int k_heads, int head_dim,
                          int rotary_dim, float eps) {
  __shared__ float shared[kHeadsABlock][kLargest];
  const int lane = threadIdx.x & 31;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kHeadsABlock + (threadIdx.x >> 5);
  if (row >= rows) {
    return;
  }
  float* const n = shared[threadIdx.x >> 5];
  const int64_t token = row / (q_heads + k_heads);
  int head = static_cast<int>(row % (q_heads + k_heads));
  T* x;
  const T* weight;
  if (head < q_heads) {
    x = q + token * q_stride;
    weight = q_weight;
  } else {
    head -= q_heads;
    x = k + token * k_stride;
    weight = k_weight;
  }
  x += static_cast<int64_t>(head) * head_dim;

  float sum = 0.0f;
  for (int c = lane; c < head_dim; c += 32) {
    const float value = static_cast<float>(x[c]);
    n[c] = value;
    sum = fmaf(value, value, sum);
  }
#pragma unroll
  for (int mask = 16; mask != 0; mask >>= 1) {
    sum += __shfl_xor_sync(0xffffffffu, sum, mask);
  }
  const float rstd = rsqrtf(sum / static_cast<float>(head_dim) + eps);
  for (int c = lane; c < head_dim; c += 32) {
    n[c] = n[c] * rstd * static_cast<float>(weight[c]);
  }
  __syncwarp();

  if (rotary_dim < head_dim) {
    for (int c = rotary_dim / 32 * 32 + lane; c < head_dim; c += 32) {
      x[c] = static_cast<T>(n[c]);
    }
    __syncwarp();
  }
  const int half = rotary_dim / 2;
  const int64_t angles = static_cast<int64_t>(positions[token]) * half;
  for (int i = lane; i < half; i += 32) {
    const float c = static_cast<float>(cos[angles + i]);
    const float s = static_cast<float>(sin[angles + i]);
    x[i] = static_cast<T>(n[i] * c - n[i + half] * s);
    x[i + half] = static_cast<T>(n[i] * s + n[i + half] * c);
  }
}

template <typename T, typename Table, typename Position>
void rope_qk_norm(T* q, int64_t q_stride, T* k, int64_t k_stride, const T* q_weight,
                  const T* k_weight, const Position* positions, const Table* cos, const Table* sin,
                  int tokens, int q_heads, int k_heads, int head_dim, int rotary_dim, float eps,
                  cudaStream_t stream) {
  if (tokens == 0) {
    return;
  }
  const int64_t rows = static_cast<int64_t>(tokens) * (q_heads + k_heads);
  const auto blocks = static_cast<unsigned>((rows + kHeadsABlock - 1) / kHeadsABlock);
  head_in_shared_memory<T, Table, Position><<<blocks, 32 * kHeadsABlock, 0, stream>>>(
      q, q_stride, k, k_stride, q_weight, k_weight, positions, cos, sin, rows, q_heads, k_heads,
      head_dim, rotary_dim, eps);
}

}  // namespace onepass
