// Exercise 3.4: RoPE at the speed of memory: q and k in one launch, in either pairing.
//
//     q, k       [tokens, q_heads or k_heads, head_dim]  with strides, turned in place, as in 3.3
//     positions  [tokens]                                int32 or int64: its row of the tables
//     cos, sin   [.., rotary_dim / 2]                    fp32 or T
//     pairing    interleaved or split                    pair i is elements 2i and 2i + 1, or i and
//                                                        i + rotary_dim / 2
//
// 3.1 and 3.3 in one function, and three ideas to make it fast:
//   - A thread moves 16 bytes at a time: a piece of a head, several pairs side by side.
//   - It turns the same piece of several heads, so that it loads their angles once.
//   - It loads all of these before it stores the first one. In place the compiler cannot do that by
//     itself: as far as it knows, a store may write what a later load reads.
//
// Grade it:   make -C build grade_rope
// Read first: docs/03_rope.md, "3.4 At the speed of memory"

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
      T* to = x + (kOneRun ? 2 * i : i + r * half);
      if constexpr (kPairs > 1) {
        *reinterpret_cast<Elements*>(to) = runs[r];
      } else {  // element by element the L2 cache does better if it may soon let go of them
        for (int e = 0; e < kCount; ++e) {
          __stcs(to + e, runs[r].values[e]);
        }
      }
    }
  }
};

/// Turns a piece of each of these heads in place: pairs i to i + kPairs - 1. A head that is null is
/// none. half: pairs a head. cos, sin: of the angles, kPairs each.
template <Pairing pairing, int kPairs, typename T, typename Table>
__device__ inline void turn(T* const (&heads)[kHeads], int i, int half, const Table* cos,
                            const Table* sin) {
  // TODO 1: make a Piece<pairing, kPairs, T> for each head, and load all of them: piece.load(head,
  // i, half). Load the angles, each once: reinterpret_cast<const Wide<Table, kPairs>*>(cos)->values
  // are kPairs cosines. Then turn the pairs of each piece, piece.first(p) and piece.second(p), as
  // in 3.3, and store it. Let no load stand behind a store: it would have to wait.
  // [solution 1]
  Piece<pairing, kPairs, T> held[kHeads];
#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
    if (heads[h] != nullptr) {
      held[h].load(heads[h], i, half);
    }
  }
  const auto c = *reinterpret_cast<const Wide<Table, kPairs>*>(cos);
  const auto s = *reinterpret_cast<const Wide<Table, kPairs>*>(sin);
#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
    if (heads[h] != nullptr) {
#pragma unroll
      for (int p = 0; p < kPairs; ++p) {
        const float a = static_cast<float>(held[h].first(p));
        const float b = static_cast<float>(held[h].second(p));
        const float cosine = static_cast<float>(c.values[p]);
        const float sine = static_cast<float>(s.values[p]);
        held[h].first(p) = static_cast<T>(a * cosine - b * sine);
        held[h].second(p) = static_cast<T>(a * sine + b * cosine);
      }
      held[h].store(heads[h], i, half);
    }
  }
  // [end]
}

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
  const int64_t position = positions[token];

  T* x[kHeads];  // the heads; null behind the last one
#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
    const int head = group + h * groups;
    x[h] = nullptr;
    if (head < q_heads) {
      x[h] = q + token * q_stride + head * head_dim;
    } else if (head < q_heads + k_heads) {
      x[h] = k + token * k_stride + (head - q_heads) * head_dim;
    }
  }

  turn<pairing, kPairs>(x, i, half, cos + position * half + i, sin + position * half + i);
}

/// Does `pointer` start at a multiple of so many bytes, or of 16 if they are more?
inline bool is_aligned(const void* pointer, size_t bytes) {
  return reinterpret_cast<uintptr_t>(pointer) % (bytes < 16 ? bytes : 16) == 0;
}

template <typename T, typename Table, typename Position>
void rope_fast(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
               const Table* cos, const Table* sin, int tokens, int q_heads, int k_heads,
               int head_dim, int rotary_dim, Pairing pairing, cudaStream_t stream) {
  if (tokens == 0) {
    return;  // a grid of no blocks is a launch error
  }
  const int half = rotary_dim / 2;
  // Can all runs have so many elements?
  const auto fits = [&](int elements) {
    bool whole = false;
    // TODO 2: when q, k, cos and sin are aligned to what is moved of them at a time, and when
    // tokens, heads and the halves of what is turned begin whole runs apart. As many angles are
    // moved as a run has elements, or half as many if pairs are interleaved.
    // [solution 2]
    const size_t bytes = elements * sizeof(T);
    const size_t angles = elements * sizeof(Table) / (pairing == Pairing::interleaved ? 2 : 1);
    whole = half % elements == 0 && head_dim % elements == 0 && q_stride % elements == 0 &&
            k_stride % elements == 0 && is_aligned(q, bytes) && is_aligned(k, bytes) &&
            is_aligned(cos, angles) && is_aligned(sin, angles);
    // [end]
    return whole;
  };

  const int heads = q_heads + k_heads;
  int groups = heads;  // into which a token's heads are dealt: a head each
  // TODO 3: how many groups are enough for kHeads heads each? The last ones may have less.
  // [solution 3]
  groups = (heads + kHeads - 1) / kHeads;
  // [end]
  const auto launch = [&](auto kernel, int pairs) {
    const int64_t threads = static_cast<int64_t>(tokens) * groups * (half / pairs);
    const auto blocks = static_cast<unsigned>((threads + kThreads - 1) / kThreads);
    kernel<<<blocks, kThreads, 0, stream>>>(q, q_stride, k, k_stride, positions, cos, sin, threads,
                                            q_heads, k_heads, head_dim, half, groups);
  };
  constexpr int kElements = 16 / sizeof(T);  // in 16 bytes
  constexpr int kFew = 4 / sizeof(T);        // pairs of a piece, where these do not fit
  // Pairs of a piece: 16 bytes are kElements / 2 interleaved ones, or one half of kElements others.
  if (pairing == Pairing::interleaved) {
    constexpr int kPairs = kElements / 2;
    fits(kElements)
        ? launch(rope_fast_kernel<Pairing::interleaved, kPairs, T, Table, Position>, kPairs)
    : fits(2 * kFew)
        ? launch(rope_fast_kernel<Pairing::interleaved, kFew, T, Table, Position>, kFew)
        : launch(rope_fast_kernel<Pairing::interleaved, 1, T, Table, Position>, 1);
  } else {
    constexpr int kPairs = kElements;
    fits(kElements) ? launch(rope_fast_kernel<Pairing::split, kPairs, T, Table, Position>, kPairs)
    : fits(kFew)    ? launch(rope_fast_kernel<Pairing::split, kFew, T, Table, Position>, kFew)
                    : launch(rope_fast_kernel<Pairing::split, 1, T, Table, Position>, 1);
  }
}

}  // namespace onepass
