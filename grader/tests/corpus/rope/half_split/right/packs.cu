// A block a token, whose threads walk over the heads' pairs, 16 bytes of either half at once.
#include <onepass/rope.h>

namespace onepass {

constexpr int kThreads = 128;  // threads a block

/// Neighbouring elements that travel together, aligned to kAligned of them.
template <typename T, int kCount, int kAligned>
struct alignas(kAligned * sizeof(T)) Run {
  T values[kCount];
};

/// kCount neighbouring elements, moved 16 bytes at a time where that is possible.
template <typename T, int kCount>
using Wide = Run<T, kCount, (kCount * sizeof(T) < 16 ? kCount : 16 / sizeof(T))>;

/// Turns kPairs pairs in place: element i of x with element i + half, i = 0 ... kPairs - 1.
/// cos, sin: of their angles, kPairs each. Wide<T, kPairs> moves kPairs elements at once.
template <int kPairs, typename T, typename Table>
__device__ inline void turn(T* x, int half, const Table* cos, const Table* sin) {
  Wide<T, kPairs> first = *reinterpret_cast<const Wide<T, kPairs>*>(x);
  Wide<T, kPairs> second = *reinterpret_cast<const Wide<T, kPairs>*>(x + half);
  const auto c = *reinterpret_cast<const Wide<Table, kPairs>*>(cos);
  const auto s = *reinterpret_cast<const Wide<Table, kPairs>*>(sin);
  for (int i = 0; i < kPairs; ++i) {
    const float a = static_cast<float>(first.values[i]);
    const float b = static_cast<float>(second.values[i]);
    const float cosine = static_cast<float>(c.values[i]);
    const float sine = static_cast<float>(s.values[i]);
    first.values[i] = static_cast<T>(a * cosine - b * sine);
    second.values[i] = static_cast<T>(a * sine + b * cosine);
  }
  *reinterpret_cast<Wide<T, kPairs>*>(x) = first;
  *reinterpret_cast<Wide<T, kPairs>*>(x + half) = second;
}

/// One block a token: its threads share the pairs of all its heads. `half`: pairs a head.
template <int kPairs, typename T, typename Table, typename Position>
__global__ void rope_half_split_kernel(T* q, int64_t q_stride, T* k, int64_t k_stride,
                                       const Position* positions, const Table* cos,
                                       const Table* sin, int q_heads, int k_heads, int head_dim,
                                       int half) {
  const int64_t token = blockIdx.x;
  int64_t position = token;
  position = positions[token];
  const Table* cos_row = cos + position * half;  // [half]
  const Table* sin_row = sin + position * half;  // [half]

  const int runs = half / kPairs;  // a head, of kPairs pairs each
  for (int run = threadIdx.x; run < (q_heads + k_heads) * runs; run += kThreads) {
    const int head = run / runs;
    const int i = run % runs * kPairs;  // the run's first pair within the head
    T* x = nullptr;                     // the head
    if (head < q_heads) {
      x = q + token * q_stride + head * head_dim;
    }
    if (head >= q_heads) {
      x = k + token * k_stride + (head - q_heads) * head_dim;
    }
    if (x != nullptr) {
      turn<kPairs>(x + i, half, cos_row + i, sin_row + i);
    }
  }
}

inline bool is_aligned(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % 16 == 0;
}

template <typename T, typename Table, typename Position>
void rope_half_split(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
                     const Table* cos, const Table* sin, int tokens, int q_heads, int k_heads,
                     int head_dim, int rotary_dim, cudaStream_t stream) {
  if (tokens == 0) {
    return;  // a grid of no blocks is a launch error
  }
  const int half = rotary_dim / 2;
  constexpr int kPairs = 16 / sizeof(T);  // 16 bytes of either half
  const bool whole = half % kPairs == 0 && head_dim % kPairs == 0 && q_stride % kPairs == 0 &&
                     k_stride % kPairs == 0 && is_aligned(q) && is_aligned(k) && is_aligned(cos) &&
                     is_aligned(sin);
  if (whole) {
    rope_half_split_kernel<kPairs><<<tokens, kThreads, 0, stream>>>(
        q, q_stride, k, k_stride, positions, cos, sin, q_heads, k_heads, head_dim, half);
  } else {
    rope_half_split_kernel<1><<<tokens, kThreads, 0, stream>>>(
        q, q_stride, k, k_stride, positions, cos, sin, q_heads, k_heads, head_dim, half);
  }
}

}  // namespace onepass
