// Right: a block for each token and head, heads of q and k side by side in y, which has an end, so
// that a block may have several; rounding intrinsics, and fused multiply-adds of which either
// product may be the rounded one.

#include <onepass/rope.h>

namespace onepass {

template <typename T, typename Table, typename Position>
__global__ void turn_kernel(T* q, int64_t q_stride, T* k, int64_t k_stride,
                            const Position* positions, const Table* cos, const Table* sin,
                            int q_heads, int64_t heads, int head_dim, int half) {
  const int64_t token = blockIdx.x;
  const int64_t row = static_cast<int64_t>(__ldg(positions + token)) * half;
  for (int64_t head = blockIdx.y; head < heads; head += gridDim.y) {
    T* x = head < q_heads ? q + token * q_stride + head * head_dim
                          : k + token * k_stride + (head - q_heads) * head_dim;
    for (int i = threadIdx.x; i < half; i += blockDim.x) {
      const float c = static_cast<float>(cos[row + i]);
      const float s = static_cast<float>(sin[row + i]);
      const float a = static_cast<float>(x[i]);
      const float b = static_cast<float>(x[half + i]);
      x[i] = static_cast<T>(__fmaf_rn(-b, s, __fmul_rn(a, c)));
      x[half + i] = static_cast<T>(__fmaf_rn(a, s, __fmul_rn(b, c)));
    }
  }
}

template <typename T, typename Table, typename Position>
void rope_half_split(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
                     const Table* cos, const Table* sin, int tokens, int q_heads, int k_heads,
                     int head_dim, int rotary_dim, cudaStream_t stream) {
  if (tokens == 0) {
    return;
  }
  const int64_t heads = static_cast<int64_t>(q_heads) + k_heads;
  turn_kernel<<<dim3(tokens, heads < 65535 ? heads : 65535), 64, 0, stream>>>(
      q, q_stride, k, k_stride, positions, cos, sin, q_heads, heads, head_dim, rotary_dim / 2);
}

}  // namespace onepass
