// Right: the head is copied to shared memory, and each element finds its partner there.

#include <onepass/rope.h>

namespace onepass {

template <typename T, typename Table, typename Position>
__global__ void turn_kernel(T* x, int64_t stride, const Position* positions, const Table* cos,
                            const Table* sin, int tokens, int heads, int head_dim, int half) {
  extern __shared__ float head_copy[];  // [2 * half]
  const int64_t token = blockIdx.x / heads;
  T* const head = x + token * stride + blockIdx.x % heads * head_dim;
  for (int i = threadIdx.x; i < 2 * half; i += blockDim.x) {
    head_copy[i] = static_cast<float>(head[i]);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 2 * half; i += blockDim.x) {
    const int64_t angle = static_cast<int64_t>(positions[token]) * half + i % half;
    const float partner = i < half ? -head_copy[i + half] : head_copy[i - half];
    head[i] = static_cast<T>(head_copy[i] * static_cast<float>(cos[angle]) +
                             partner * static_cast<float>(sin[angle]));
  }
}

template <typename T, typename Table, typename Position>
void rope_half_split(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
                     const Table* cos, const Table* sin, int tokens, int q_heads, int k_heads,
                     int head_dim, int rotary_dim, cudaStream_t stream) {
  if (tokens == 0) {
    return;
  }
  turn_kernel<<<tokens * q_heads, 64, rotary_dim * sizeof(float), stream>>>(
      q, q_stride, positions, cos, sin, tokens, q_heads, head_dim, rotary_dim / 2);
  turn_kernel<<<tokens * k_heads, 64, rotary_dim * sizeof(float), stream>>>(
      k, k_stride, positions, cos, sin, tokens, k_heads, head_dim, rotary_dim / 2);
}

}  // namespace onepass
