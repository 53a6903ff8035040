// RoPE, version 2: four heads a thread. They turn by the same angles, which it loads once. Each
// head is loaded, turned and stored before the next one is loaded.
//
// Version 1 has one head a thread. Version 3, solutions/03_rope/fast.cu, loads all four first.

#include <onepass/rope.h>

namespace onepass {

constexpr int kThreads = 128;  // threads a block
constexpr int kHeads = 4;      // heads that a thread turns by the same angles

/// Neighbouring elements that travel together, aligned to kAligned of them.
template <typename T, int kCount, int kAligned>
struct alignas(kAligned * sizeof(T)) Run {
  T values[kCount];
};

/// kCount neighbouring elements, moved 16 bytes at a time where that is possible.
template <typename T, int kCount>
using Wide = Run<T, kCount, (kCount * sizeof(T) < 16 ? kCount : 16 / sizeof(T))>;

/// kPairs neighbouring pairs of a head in registers. Their elements are one run if the pairs are
/// interleaved, and two, one in either half, if they are split.
template <Pairing pairing, int kPairs, typename T>
struct Piece {
  static constexpr bool kOneRun = pairing == Pairing::interleaved;
  static constexpr int kRuns = kOneRun ? 1 : 2;
  static constexpr int kCount = 2 * kPairs / kRuns;           // elements of a run
  using Elements = Run<T, kCount, kPairs == 1 ? 1 : kCount>;  // a single pair may lie anywhere
  Elements runs[kRuns];

  /// The two elements of pair p.
  __device__ T& first(int p) { return runs[0].values[kOneRun ? 2 * p : p]; }
  __device__ T& second(int p) { return runs[kRuns - 1].values[kOneRun ? 2 * p + 1 : p]; }

  /// From and to the head x, where the piece begins with pair i of `half`.
  __device__ void load(const T* x, int i, int half) {
    for (int r = 0; r < kRuns; ++r) {
      runs[r] = *reinterpret_cast<const Elements*>(x + (kOneRun ? 2 * i : i + r * half));
    }
  }
  __device__ void store(T* x, int i, int half) const {
    for (int r = 0; r < kRuns; ++r) {
      *reinterpret_cast<Elements*>(x + (kOneRun ? 2 * i : i + r * half)) = runs[r];
    }
  }
};

/// One thread for the same piece, kPairs pairs, of kHeads heads of a token or less: number group,
/// group + groups, group + 2 * groups, ... of q's and k's, counted through. half: pairs a head.
template <Pairing pairing, int kPairs, typename T, typename Table, typename Position>
__global__ void rope_fast_kernel(T* q, int64_t q_stride, T* k, int64_t k_stride,
                                 const Position* positions, const Table* cos, const Table* sin,
                                 int64_t threads, int q_heads, int k_heads, int head_dim, int half,
                                 int groups) {
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (thread >= threads) {
    return;
  }
  const int pieces = half / kPairs;                          // of a head
  const int i = static_cast<int>(thread % pieces) * kPairs;  // the first pair of this one
  const int group = static_cast<int>(thread / pieces % groups);
  const int64_t token = thread / pieces / groups;
  const int64_t angles = positions[token] * static_cast<int64_t>(half) + i;
  const auto c = *reinterpret_cast<const Wide<Table, kPairs>*>(cos + angles);
  const auto s = *reinterpret_cast<const Wide<Table, kPairs>*>(sin + angles);
#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
    const int head = group + h * groups;
    if (head < q_heads + k_heads) {
      T* x = head < q_heads ? q + token * q_stride + head * head_dim
                            : k + token * k_stride + (head - q_heads) * head_dim;
      Piece<pairing, kPairs, T> held;
      held.load(x, i, half);
#pragma unroll
      for (int p = 0; p < kPairs; ++p) {
        const float a = static_cast<float>(held.first(p));
        const float b = static_cast<float>(held.second(p));
        const float cosine = static_cast<float>(c.values[p]);
        const float sine = static_cast<float>(s.values[p]);
        held.first(p) = static_cast<T>(a * cosine - b * sine);
        held.second(p) = static_cast<T>(a * sine + b * cosine);
      }
      held.store(x, i, half);
    }
  }
}

inline bool is_aligned(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % 16 == 0;
}

template <typename T, typename Table, typename Position>
void rope_fast(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
               const Table* cos, const Table* sin, int tokens, int q_heads, int k_heads,
               int head_dim, int rotary_dim, Pairing pairing, cudaStream_t stream) {
  if (tokens == 0) {
    return;  // a grid of no blocks is a launch error
  }
  const int half = rotary_dim / 2;
  constexpr int kElements = 16 / sizeof(T);  // in 16 bytes
  const bool whole = half % kElements == 0 && head_dim % kElements == 0 &&
                     q_stride % kElements == 0 && k_stride % kElements == 0 && is_aligned(q) &&
                     is_aligned(k) && is_aligned(cos) && is_aligned(sin);

  const int heads = q_heads + k_heads;
  const int groups = (heads + kHeads - 1) / kHeads;  // the last ones may have less
  const auto launch = [&](auto kernel, int pairs) {
    const int64_t threads = static_cast<int64_t>(tokens) * groups * (half / pairs);
    const auto blocks = static_cast<unsigned>((threads + kThreads - 1) / kThreads);
    kernel<<<blocks, kThreads, 0, stream>>>(q, q_stride, k, k_stride, positions, cos, sin, threads,
                                            q_heads, k_heads, head_dim, half, groups);
  };
  // Pairs of a piece: 16 bytes are kElements / 2 interleaved ones, or one half of kElements others.
  if (pairing == Pairing::interleaved) {
    constexpr int kPairs = kElements / 2;
    whole ? launch(rope_fast_kernel<Pairing::interleaved, kPairs, T, Table, Position>, kPairs)
          : launch(rope_fast_kernel<Pairing::interleaved, 1, T, Table, Position>, 1);
  } else {
    constexpr int kPairs = kElements;
    whole ? launch(rope_fast_kernel<Pairing::split, kPairs, T, Table, Position>, kPairs)
          : launch(rope_fast_kernel<Pairing::split, 1, T, Table, Position>, 1);
  }
}

}  // namespace onepass
