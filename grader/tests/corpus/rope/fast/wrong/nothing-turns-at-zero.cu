// diagnosis: output-partly-written
// says: but in its own place
// Tokens at position 0 are left alone, as if row 0 of the tables had to be ones and zeros.
#include <algorithm>

#include <onepass/rope.h>

namespace onepass {

constexpr int kThreads = 256;
constexpr int kAtOnce = 4;  // heads that are loaded before the first one is stored

/// kBytes of neighbouring elements.
template <typename T, int kCount>
struct alignas(kCount * sizeof(T)) Vector {
  T at[kCount];
};

/// A block goes from token to token; its threads have kPairs pairs each, of all of the token's
/// heads, so that each angle is loaded once.
template <Pairing kPairing, int kPairs, typename T, typename Table, typename Position>
__global__ void __launch_bounds__(kThreads)
    rope_tokens(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
                const Table* cos, const Table* sin, int tokens, int q_heads, int k_heads,
                int head_dim, int half) {
  constexpr bool kSplit = kPairing == Pairing::split;
  constexpr bool kWide = kPairs * sizeof(T) >= 8;
  constexpr int kElements = !kWide ? 1 : kSplit ? kPairs : 2 * kPairs;  // of an access
  constexpr int kAccesses = 2 * kPairs / kElements;
  using Access = Vector<T, kElements>;
  const int apart = kSplit ? half : kElements;  // from one access to the next
  const int pieces = half / kPairs;
  const int heads = q_heads + k_heads;

  for (int64_t token = blockIdx.x; token < tokens; token += gridDim.x) {
    const Position position = positions[token];
    if (position == 0) {
      continue;  // nothing turns
    }
    const Table* cos_row = cos + static_cast<int64_t>(position) * half;
    const Table* sin_row = sin + static_cast<int64_t>(position) * half;
    for (int piece = threadIdx.x; piece < pieces; piece += kThreads) {
      const int i = piece * kPairs;
      float c[kPairs], s[kPairs];
#pragma unroll
      for (int p = 0; p < kPairs; ++p) {
        c[p] = static_cast<float>(cos_row[i + p]);
        s[p] = static_cast<float>(sin_row[i + p]);
      }
      T* q_piece = q + token * q_stride + (kSplit ? i : 2 * i);
      T* k_piece = k + token * k_stride + (kSplit ? i : 2 * i);
      for (int first = 0; first < heads; first += kAtOnce) {
        T* x[kAtOnce];
        Access held[kAtOnce][kAccesses];
#pragma unroll
        for (int h = 0; h < kAtOnce; ++h) {
          const int head = first + h;
          x[h] = head < q_heads ? q_piece + static_cast<int64_t>(head) * head_dim
                                : k_piece + static_cast<int64_t>(head - q_heads) * head_dim;
#pragma unroll
          for (int r = 0; r < kAccesses; ++r) {
            if (head < heads) {
              held[h][r] = *reinterpret_cast<const Access*>(x[h] + r * apart);
            }
          }
        }
#pragma unroll
        for (int h = 0; h < kAtOnce; ++h) {
          if (first + h < heads) {
#pragma unroll
            for (int p = 0; p < kPairs; ++p) {
              T& one = held[h][0].at[kSplit || !kWide ? p : 2 * p];
              T& other = held[h][kAccesses - 1].at[kSplit || !kWide ? p : 2 * p + 1];
              const float a = static_cast<float>(one);
              const float b = static_cast<float>(other);
              one = static_cast<T>(a * c[p] - b * s[p]);
              other = static_cast<T>(a * s[p] + b * c[p]);
            }
#pragma unroll
            for (int r = 0; r < kAccesses; ++r) {
              *reinterpret_cast<Access*>(x[h] + r * apart) = held[h][r];
            }
          }
        }
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
  const auto at16 = [](const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; };
  const bool wide = at16(q) && at16(k) && q_stride % kCount == 0 && k_stride % kCount == 0 &&
                    head_dim % kCount == 0 && half % kCount == 0;
  const int blocks = std::min(tokens, 1 << 20);
  const auto launch = [&](auto kernel) {
    kernel<<<blocks, kThreads, 0, stream>>>(q, q_stride, k, k_stride, positions, cos, sin, tokens,
                                            q_heads, k_heads, head_dim, half);
  };
  if (pairing == Pairing::split) {
    wide ? launch(rope_tokens<Pairing::split, kCount, T, Table, Position>)
         : launch(rope_tokens<Pairing::split, 1, T, Table, Position>);
  } else {
    wide ? launch(rope_tokens<Pairing::interleaved, kCount / 2, T, Table, Position>)
         : launch(rope_tokens<Pairing::interleaved, 1, T, Table, Position>);
  }
}

}  // namespace onepass
