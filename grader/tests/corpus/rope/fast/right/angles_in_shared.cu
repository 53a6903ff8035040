// A block a token. Its angles wait in shared memory, and its threads walk over the pieces of all
// heads.
#include <onepass/rope.h>

namespace onepass {

template <typename T, int kCount>
struct alignas(kCount * sizeof(T)) Vector {
  T values[kCount];
};

/// kMove elements are moved at a time: 16 bytes, or one.
template <int kMove, typename T, typename Table, typename Position>
__global__ void kernel(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
                       const Table* cos, const Table* sin, int q_heads, int k_heads, int head_dim,
                       int half, bool split) {
  extern __shared__ float angles[];
  float* const cosines = angles;
  float* const sines = angles + half;
  const int64_t token = blockIdx.x;
  const int64_t row = positions[token];
  for (int i = threadIdx.x; i < half; i += blockDim.x) {
    cosines[i] = static_cast<float>(cos[row * half + i]);
    sines[i] = static_cast<float>(sin[row * half + i]);
  }
  __syncthreads();
  using Moved = Vector<T, kMove>;
  const int pairs = split ? kMove : kMove == 1 ? 1 : kMove / 2;  // of a piece
  const int apart = split ? half : kMove == 1 ? 1 : 0;           // from its first run to its second
  const int pieces = half / pairs;
  for (int piece = threadIdx.x; piece < (q_heads + k_heads) * pieces; piece += blockDim.x) {
    const int head = piece / pieces;
    const int i = piece % pieces * pairs;
    T* const x = (head < q_heads ? q + token * q_stride + static_cast<int64_t>(head) * head_dim
                                 : k + token * k_stride +
                                       static_cast<int64_t>(head - q_heads) * head_dim) +
                 (split ? i : 2 * i);
    Moved first = *reinterpret_cast<const Moved*>(x);
    Moved second = first;
    if (apart > 0) {
      second = *reinterpret_cast<const Moved*>(x + apart);
    }
    for (int p = 0; p < pairs; ++p) {
      T& to_a = first.values[apart > 0 ? p : 2 * p];
      T& to_b = apart > 0 ? second.values[p] : first.values[(2 * p + 1) % kMove];
      const float a = static_cast<float>(to_a);
      const float b = static_cast<float>(to_b);
      to_a = static_cast<T>(a * cosines[i + p] - b * sines[i + p]);
      to_b = static_cast<T>(a * sines[i + p] + b * cosines[i + p]);
    }
    *reinterpret_cast<Moved*>(x) = first;
    if (apart > 0) {
      *reinterpret_cast<Moved*>(x + apart) = second;
    }
  }
}

template <typename T, typename Table, typename Position>
void rope_fast(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
               const Table* cos, const Table* sin, int tokens, int q_heads, int k_heads,
               int head_dim, int rotary_dim, Pairing pairing, cudaStream_t stream) {
  if (tokens == 0) {
    return;
  }
  constexpr int kMove = 16 / sizeof(T);
  const int half = rotary_dim / 2;
  const bool split = pairing == Pairing::split;
  const bool whole = half % kMove == 0 && head_dim % kMove == 0 && q_stride % kMove == 0 &&
                     k_stride % kMove == 0 && reinterpret_cast<uintptr_t>(q) % 16 == 0 &&
                     reinterpret_cast<uintptr_t>(k) % 16 == 0;
  const size_t bytes = rotary_dim * sizeof(float);
  if (whole) {
    kernel<kMove><<<tokens, 128, bytes, stream>>>(q, q_stride, k, k_stride, positions, cos, sin,
                                                  q_heads, k_heads, head_dim, half, split);
  } else {
    kernel<1><<<tokens, 128, bytes, stream>>>(q, q_stride, k, k_stride, positions, cos, sin,
                                              q_heads, k_heads, head_dim, half, split);
  }
}

}  // namespace onepass
