// Right: eight warps a block, each with a head of its own.

#include <onepass/rope.h>

namespace onepass {

template <typename T, typename Table, typename Position>
__global__ void turn_kernel(T* x, int64_t stride, const Position* positions, const Table* cos,
                            const Table* sin, int tokens, int heads, int head_dim, int half) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * 8 + threadIdx.x / 32;  // token and head
  if (row >= static_cast<int64_t>(tokens) * heads) {
    return;
  }
  const int64_t token = row / heads;
  for (int i = threadIdx.x % 32; i < half; i += 32) {
    const int64_t first = token * stride + row % heads * head_dim + i;
    const int64_t angle = static_cast<int64_t>(positions[token]) * half + i;
    const float a = static_cast<float>(x[first]);
    const float b = static_cast<float>(x[first + half]);
    const float c = static_cast<float>(cos[angle]);
    const float s = static_cast<float>(sin[angle]);
    x[first] = static_cast<T>(a * c - b * s);
    x[first + half] = static_cast<T>(a * s + b * c);
  }
}

template <typename T, typename Table, typename Position>
void rope_half_split(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
                     const Table* cos, const Table* sin, int tokens, int q_heads, int k_heads,
                     int head_dim, int rotary_dim, cudaStream_t stream) {
  if (tokens == 0) {
    return;
  }
  turn_kernel<<<static_cast<unsigned>((static_cast<int64_t>(tokens) * q_heads + 7) / 8), 256, 0,
                stream>>>(q, q_stride, positions, cos, sin, tokens, q_heads, head_dim,
                          rotary_dim / 2);
  turn_kernel<<<static_cast<unsigned>((static_cast<int64_t>(tokens) * k_heads + 7) / 8), 256, 0,
                stream>>>(k, k_stride, positions, cos, sin, tokens, k_heads, head_dim,
                          rotary_dim / 2);
}

}  // namespace onepass
