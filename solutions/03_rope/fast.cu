// Exercise 3.4: RoPE at the speed of memory: q and k in one launch, in either pairing.
//
//     q, k       [tokens, q_heads or k_heads, head_dim]  with strides, turned in place, as in 3.3
//     positions  [tokens]                                int32 or int64: its row of the tables
//     cos, sin   [.., rotary_dim / 2]                    fp32 or T
//     pairing    interleaved or split                    pair i is elements 2i and 2i + 1, or i and
//                                                        i + rotary_dim / 2
//
// 3.1 and 3.3 in one function, and two ideas to make it fast:
//   - An access moves 16 bytes, or as many as alignment allows: a thread has a piece of a head,
//     several pairs side by side.
//   - A thread turns the same piece of four heads. It loads their angles once, and has four times
//     as many bytes in flight.
// Packs are given: read "1. Packs" in onepass/fast.h first.
//
// Grade it:   build/onepass grade 3.4
// Read first: docs/03_rope.md, "3.4 At the speed of memory"

#include <onepass/fast.h>
#include <onepass/rope.h>

namespace onepass {

constexpr int kHeads = 4;  // heads that a thread turns by the same angles

/// Neighbouring pairs of a head in registers, in packs of V elements: one pack of interleaved
/// pairs, or two packs of split pairs, one from either half. A single pair (V = 1) is two packs.
template <Pairing pairing, int V, typename T>
struct Piece {
  static constexpr bool kSplit = pairing == Pairing::split;
  static constexpr int kPacks = kSplit || V == 1 ? 2 : 1;
  static constexpr int kPairs = V * kPacks / 2;
  Pack<T, V> packs[kPacks];

  /// Pack number `which` of the head x, if the piece begins with pair i of `half`.
  __device__ static auto* place(T* x, int i, int half, int which) {
    return reinterpret_cast<Pack<T, V>*>(x + (kSplit ? i + which * half : 2 * i + which));
  }
  __device__ void load(T* x, int i, int half) {
    for (int which = 0; which < kPacks; ++which) {
      packs[which] = *place(x, i, half, which);
    }
  }
  __device__ void store(T* x, int i, int half) const {
    for (int which = 0; which < kPacks; ++which) {
      if constexpr (V > 1) {
        *place(x, i, half, which) = packs[which];
      } else {  // element by element the L2 cache does better if it may soon let go of them
        __stcs(place(x, i, half, which)->values, packs[which].values[0]);
      }
    }
  }

  /// The two elements of pair p, and how to set them.
  __device__ float first(int p) const { return value_of(packs[0], kPacks == 2 ? p : 2 * p); }
  __device__ float second(int p) const {
    return value_of(packs[kPacks - 1], kPacks == 2 ? p : 2 * p + 1);
  }
  __device__ void set(int p, float first, float second) {
    packs[0].values[kPacks == 2 ? p : 2 * p] = static_cast<T>(first);
    packs[kPacks - 1].values[kPacks == 2 ? p : 2 * p + 1] = static_cast<T>(second);
  }
};

/// Cosines or sines of neighbouring pairs, loaded kBytes at a time, or one by one if that is more.
template <typename Table, size_t kPairs, size_t kBytes>
struct alignas(kBytes < sizeof(Table)            ? sizeof(Table)
               : kBytes < kPairs * sizeof(Table) ? kBytes
                                                 : kPairs * sizeof(Table)) Angles {
  Table values[kPairs];
};

/// One thread for the same piece of kHeads heads of a token or less: number group, group + groups,
/// group + 2 * groups, ... of q's and k's, counted through. half: pairs of a head.
template <Pairing pairing, int V, typename T, typename Table, typename Position>
__global__ void rope_fast_kernel(T* q, int64_t q_stride, T* k, int64_t k_stride,
                                 const Position* positions, const Table* cos, const Table* sin,
                                 int tokens, int q_heads, int k_heads, int head_dim, int half,
                                 int groups) {
  using HeadPiece = Piece<pairing, V, T>;
  constexpr int kPairs = HeadPiece::kPairs;
  using PieceAngles = Angles<Table, kPairs, V * sizeof(T)>;
  const unsigned number = blockIdx.x * blockDim.y + threadIdx.y;   // among all tokens' groups
  const int i = (blockIdx.y * blockDim.x + threadIdx.x) * kPairs;  // the piece's first pair
  if (number >= static_cast<unsigned>(tokens) * groups || i >= half) {
    return;
  }
  const int group = number % groups;
  const int64_t token = number / groups;
  const int64_t angle = positions[token] * static_cast<int64_t>(half) + i;  // of pair i

  // body(h, x) for each head of this thread: its own number h, and where the head begins.
  const auto for_heads = [&](auto body) {
#pragma unroll
    for (int h = 0; h < kHeads; ++h) {
      const int head = group + h * groups;
      if (head < q_heads) {
        body(h, q + token * q_stride + head * head_dim);
      } else if (head < q_heads + k_heads) {
        body(h, k + token * k_stride + (head - q_heads) * head_dim);
      }
    }
  };

  // TODO 1: for_heads([&](int h, T* x) { ... }) does for each head what stands between the braces.
  // Load all pieces: pieces[h].load(x, i, half). Load the angles, each once:
  // *reinterpret_cast<const PieceAngles*>(cos + angle) has kPairs cosines. Then turn the piece of
  // each head as in 3.3, pair by pair, from pieces[h].first(p) and pieces[h].second(p) to a new
  // HeadPiece, turned.set(p, ..., ...), and store that: turned.store(x, i, half).
  // [solution 1]
  HeadPiece pieces[kHeads];
  for_heads([&](int h, T* x) { pieces[h].load(x, i, half); });
  const auto cosines = *reinterpret_cast<const PieceAngles*>(cos + angle);
  const auto sines = *reinterpret_cast<const PieceAngles*>(sin + angle);
  for_heads([&](int h, T* x) {
    HeadPiece turned;
#pragma unroll
    for (int p = 0; p < kPairs; ++p) {
      const float a = pieces[h].first(p);
      const float b = pieces[h].second(p);
      const float cosine = static_cast<float>(cosines.values[p]);
      const float sine = static_cast<float>(sines.values[p]);
      turned.set(p, a * cosine - b * sine, a * sine + b * cosine);
    }
    turned.store(x, i, half);
  });
  // [end]
}

inline uint64_t address(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

template <typename T, typename Table, typename Position>
void rope_fast(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
               const Table* cos, const Table* sin, int tokens, int q_heads, int k_heads,
               int head_dim, int rotary_dim, Pairing pairing, cudaStream_t stream) {
  const int half = rotary_dim / 2;
  const int turned = pairing == Pairing::split ? half : rotary_dim;  // neighbours that are turned
  int bytes = sizeof(T);                                             // of an access
  // TODO 2: the largest power of two, 16 at most, that divides address(q), address(k),
  // address(cos), address(sin), and the bytes of q_stride, k_stride, head_dim and `turned` elements
  // of T: then every pack begins at a multiple of its size. Without this an access has one element.
  // [solution 2]
  const uint64_t all = address(q) | address(k) | address(cos) | address(sin) |
                       (q_stride | k_stride | head_dim | turned) * sizeof(T);
  for (const int size : {4, 8, 16}) {
    bytes = all % size == 0 ? size : bytes;  // what divides all of them divides these bits
  }
  // [end]

  const int heads = q_heads + k_heads;
  int groups = heads;  // a thread has one head: that is right, and loads angles for each head
  // TODO 3: how many groups are enough for kHeads heads each? The last ones may have fewer.
  // [solution 3]
  groups = (heads - 1) / kHeads + 1;
  // [end]
  const auto launch = [&](auto kind, auto elements) {
    using HeadPiece = Piece<kind.value, elements.value, T>;
    const int pieces = (half - 1) / HeadPiece::kPairs + 1;                     // of a head
    const int threads = min(2048 / static_cast<int>(sizeof(HeadPiece)), 256);  // of a block
    const dim3 block(min(pieces, threads), max(threads / pieces, 1));
    const dim3 grid((int64_t{tokens} * groups - 1) / block.y + 1, (pieces - 1) / block.x + 1);
    rope_fast_kernel<kind.value, elements.value, T, Table, Position>
        <<<grid, block, 0, stream>>>(q, q_stride, k, k_stride, positions, cos, sin, tokens, q_heads,
                                     k_heads, head_dim, half, groups);
  };
  const auto launch_packs_of = [&](auto elements) {
    pairing == Pairing::split
        ? launch(std::integral_constant<Pairing, Pairing::split>(), elements)
        : launch(std::integral_constant<Pairing, Pairing::interleaved>(), elements);
  };
  bytes == 16  ? launch_packs_of(std::integral_constant<int, 16 / sizeof(T)>())
  : bytes == 8 ? launch_packs_of(std::integral_constant<int, 8 / sizeof(T)>())
  : bytes == 4 ? launch_packs_of(std::integral_constant<int, 4 / sizeof(T)>())
               : launch_packs_of(std::integral_constant<int, 1>());
}

}  // namespace onepass
