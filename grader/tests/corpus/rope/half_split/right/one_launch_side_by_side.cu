// RoPE of split halves, a warp a head. q and k that lie side by side in one tensor take one launch.
#include <onepass/rope.h>

namespace onepass {

constexpr int kWarps = 4;

/// heads of each token, the tokens stride elements apart.
template <typename T>
struct Heads {
  T* first;
  int64_t stride;
  int count;
};

template <typename T, typename Table, typename Position>
__global__ void __launch_bounds__(32 * kWarps)
    turn_heads_kernel(Heads<T> heads, const Position* positions, const Table* cos, const Table* sin,
                      int64_t all, int head_dim, int half) {
  const int64_t number = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (number >= all) {
    return;
  }
  const int64_t token = number / heads.count;
  const int64_t head = number % heads.count;
  T* const x = heads.first + token * heads.stride + head * head_dim;
  const int64_t row = static_cast<int64_t>(positions[token]) * half;
  for (int i = threadIdx.x % 32; i < half; i += 32) {
    const float c = static_cast<float>(cos[row + i]);
    const float s = static_cast<float>(sin[row + i]);
    const float a = static_cast<float>(x[i]);
    const float b = static_cast<float>(x[i + half]);
    x[i] = static_cast<T>(a * c - b * s);
    x[i + half] = static_cast<T>(a * s + b * c);
  }
}

template <typename T, typename Table, typename Position>
void turn_heads(Heads<T> heads, const Position* positions, const Table* cos, const Table* sin,
                int tokens, int head_dim, int half, cudaStream_t stream) {
  const int64_t all = static_cast<int64_t>(tokens) * heads.count;
  const auto blocks = static_cast<unsigned>((all + kWarps - 1) / kWarps);
  turn_heads_kernel<T, Table, Position><<<blocks, 32 * kWarps, 0, stream>>>(
      heads, positions, cos, sin, all, head_dim, half);
}

template <typename T, typename Table, typename Position>
void rope_half_split(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
                     const Table* cos, const Table* sin, int tokens, int q_heads, int k_heads,
                     int head_dim, int rotary_dim, cudaStream_t stream) {
  if (tokens == 0) {
    return;
  }
  const int half = rotary_dim / 2;
  if (k == q + static_cast<int64_t>(q_heads) * head_dim && (k_stride == q_stride || tokens == 1)) {
    // One tensor [tokens, .., head_dim]: the heads of k are the next ones of each token.
    turn_heads(Heads<T>{q, q_stride, q_heads + k_heads}, positions, cos, sin, tokens, head_dim,
               half, stream);
    return;
  }
  turn_heads(Heads<T>{q, q_stride, q_heads}, positions, cos, sin, tokens, head_dim, half, stream);
  turn_heads(Heads<T>{k, k_stride, k_heads}, positions, cos, sin, tokens, head_dim, half, stream);
}

}  // namespace onepass
