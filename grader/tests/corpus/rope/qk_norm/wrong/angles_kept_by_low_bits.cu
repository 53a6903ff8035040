// diagnosis: position-width
// Positions 2^32 apart are taken for the same one.
// Exercise 3.5: a warp has eight tokens one after the other, and a head at a time in shared memory.
// Tokens may share a position: as long as it stays the same, the angles that are there will do.
#include <onepass/rope.h>

namespace onepass {

constexpr int kWarps = 4;
constexpr int kTokens = 8;  // of a warp
constexpr int kMostDim = 1024;

/// The sum of `value` over the 32 lanes of a warp, in every lane.
__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

template <typename T, typename Table, typename Position>
__global__ void __launch_bounds__(32 * kWarps)
    qk_norm_kernel(T* q, int64_t q_stride, T* k, int64_t k_stride, const T* q_weight,
                   const T* k_weight, const Position* positions, const Table* cos, const Table* sin,
                   int tokens, int q_heads, int k_heads, int head_dim, int half, float eps) {
  __shared__ float heads[kWarps][kMostDim];
  __shared__ float2 angles[kWarps][kMostDim / 2];
  const int lane = threadIdx.x;
  float* held = heads[threadIdx.y];
  float2* turned = angles[threadIdx.y];
  const int64_t first = (static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.y) * kTokens;
  int kept = -1;  // the position whose angles are there
  for (int64_t token = first; token < first + kTokens && token < tokens; ++token) {
    const Position position = positions[token];
    if (static_cast<int>(position) != kept) {
      kept = static_cast<int>(position);
      const int64_t row = static_cast<int64_t>(position) * half;
      __syncwarp();
      for (int i = lane; i < half; i += 32) {
        turned[i] = make_float2(static_cast<float>(cos[row + i]), static_cast<float>(sin[row + i]));
      }
      __syncwarp();
    }
    for (int head = 0; head < q_heads + k_heads; ++head) {
      const bool is_q = head < q_heads;
      T* x = is_q ? q + token * q_stride + static_cast<int64_t>(head) * head_dim
                  : k + token * k_stride + static_cast<int64_t>(head - q_heads) * head_dim;
      const T* weight = is_q ? q_weight : k_weight;
      float squares = 0.0f;
#pragma unroll 4
      for (int c = lane; c < head_dim; c += 32) {
        const float value = static_cast<float>(x[c]);
        squares += value * value;
        held[c] = value;
      }
      const float rstd = rsqrtf(warp_sum(squares) / head_dim + eps);
      __syncwarp();
      for (int i = lane; i < half; i += 32) {
        const float2 angle = turned[i];
        const float a = held[i] * rstd * static_cast<float>(weight[i]);
        const float b = held[i + half] * rstd * static_cast<float>(weight[i + half]);
        x[i] = static_cast<T>(a * angle.x - b * angle.y);
        x[i + half] = static_cast<T>(a * angle.y + b * angle.x);
      }
      for (int c = 2 * half + lane; c < head_dim; c += 32) {
        x[c] = static_cast<T>(held[c] * rstd * static_cast<float>(weight[c]));
      }
      __syncwarp();  // the next head comes to the same place
    }
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
  const int each = kWarps * kTokens;
  const unsigned blocks = (static_cast<unsigned>(tokens) + each - 1) / each;
  qk_norm_kernel<<<blocks, dim3(32, kWarps), 0, stream>>>(q, q_stride, k, k_stride, q_weight,
                                                          k_weight, positions, cos, sin, tokens,
                                                          q_heads, k_heads, head_dim,
                                                          rotary_dim / 2, eps);
}

}  // namespace onepass
