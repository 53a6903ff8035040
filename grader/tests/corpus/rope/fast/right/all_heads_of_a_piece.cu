// A block a token. A thread has a piece of every head: it keeps its angles, and goes from head to
// head, as uint4 where that is allowed.
#include <onepass/rope.h>

namespace onepass {

template <typename T>
__device__ void turn(T& first, T& second, float c, float s) {
  const float a = static_cast<float>(first);
  const float b = static_cast<float>(second);
  first = static_cast<T>(__fmaf_rn(a, c, -(b * s)));
  second = static_cast<T>(__fmaf_rn(a, s, b * c));
}

template <bool kSplit, typename T>
__device__ void turn_vectors(T* x, int i, int half, const float* c, const float* s) {
  constexpr int kCount = 16 / sizeof(T);
  alignas(16) T values[2 * kCount];
  uint4* const vectors = reinterpret_cast<uint4*>(values);
  uint4* const first = reinterpret_cast<uint4*>(kSplit ? x + i : x + 2 * i);
  vectors[0] = *first;
  if (kSplit) {
    vectors[1] = *reinterpret_cast<const uint4*>(x + i + half);
  }
  constexpr int kPairs = kSplit ? kCount : kCount / 2;
  for (int p = 0; p < kPairs; ++p) {
    turn(values[kSplit ? p : 2 * p], values[kSplit ? p + kCount : 2 * p + 1], c[p], s[p]);
  }
  *first = vectors[0];
  if (kSplit) {
    *reinterpret_cast<uint4*>(x + i + half) = vectors[1];
  }
}

template <bool kSplit, int kPairs, typename T, typename Table, typename Position>
__global__ void kernel(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
                       const Table* cos, const Table* sin, int q_heads, int k_heads, int head_dim,
                       int half) {
  const int64_t token = blockIdx.x;
  const int64_t row = static_cast<int64_t>(positions[token]) * half;
  for (int i = threadIdx.x * kPairs; i < half; i += blockDim.x * kPairs) {
    float c[kPairs], s[kPairs];
    for (int p = 0; p < kPairs; ++p) {
      c[p] = static_cast<float>(cos[row + i + p]);
      s[p] = static_cast<float>(sin[row + i + p]);
    }
    for (int64_t head = 0; head < q_heads + k_heads; ++head) {
      T* const x = head < q_heads ? q + token * q_stride + head * head_dim
                                  : k + token * k_stride + (head - q_heads) * head_dim;
      if (kPairs > 1) {
        turn_vectors<kSplit>(x, i, half, c, s);
      } else {
        turn(x[kSplit ? i : 2 * i], x[kSplit ? i + half : 2 * i + 1], c[0], s[0]);
      }
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
  constexpr int kCount = 16 / sizeof(T);
  const int half = rotary_dim / 2;
  const bool whole = half % kCount == 0 && head_dim % kCount == 0 && q_stride % kCount == 0 &&
                     k_stride % kCount == 0 && reinterpret_cast<uintptr_t>(q) % 16 == 0 &&
                     reinterpret_cast<uintptr_t>(k) % 16 == 0;
  const auto launch = [&](auto which) {
    which<<<tokens, 64, 0, stream>>>(q, q_stride, k, k_stride, positions, cos, sin, q_heads,
                                     k_heads, head_dim, half);
  };
  if (pairing == Pairing::split) {
    whole ? launch(kernel<true, kCount, T, Table, Position>)
          : launch(kernel<true, 1, T, Table, Position>);
  } else {
    whole ? launch(kernel<false, kCount / 2, T, Table, Position>)
          : launch(kernel<false, 1, T, Table, Position>);
  }
}

}  // namespace onepass
