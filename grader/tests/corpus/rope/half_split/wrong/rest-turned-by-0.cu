// diagnosis: nan-spread
// What lies behind rotary_dim is turned by an angle of 0: 0 * infinity is NaN.
// Exercise 3.3: rotary position embedding the way LLaMA's weights want it: q and k, split halves.
//
//     q          [tokens, q_heads, head_dim]  tokens q_stride elements apart, turned in place
//     k          [tokens, k_heads, head_dim]  tokens k_stride elements apart, turned in place
//     positions  [tokens]                     int32 or int64: its row of the tables, for q and k
//     cos, sin   [.., rotary_dim / 2]         fp32 or T
//
//     a = q[t][h][i], b = q[t][h][i + rotary_dim / 2], turned by row positions[t], and k likewise;
//     the elements rotary_dim ... head_dim - 1 of a head stay as they are
//
// The partners lie half a head apart. One thread must own both: if the one that writes a' is not
// the one that reads a for b', the two race.
//
// Grade it:   make -C build grade_rope
// Read first: docs/03_rope.md, "3.3 Split halves"

#include <onepass/rope.h>

namespace onepass {

constexpr int kThreads = 256;  // threads a block

/// Turns pair i of the head x in place, by angle i of the tables' rows cos and sin. half: how many
/// pairs of the head are turned. Those from there on are neighbours, and are turned by 0.
template <typename T, typename Table>
__device__ inline void turn(T* x, int i, int half, const Table* cos, const Table* sin) {
  // TODO 1: the pair. It is element i and the one half further on. Turn it as in 3.1. The tables
  // may be of 16 bits too: convert to float whatever you read.
  const bool turned = i < half;
  const int first = turned ? i : 2 * i;
  const int second = turned ? i + half : 2 * i + 1;
  const float a = static_cast<float>(x[first]);
  const float b = static_cast<float>(x[second]);
  const float cosine = turned ? static_cast<float>(cos[i]) : 1.0f;
  const float sine = turned ? static_cast<float>(sin[i]) : 0.0f;
  x[first] = static_cast<T>(a * cosine - b * sine);
  x[second] = static_cast<T>(a * sine + b * cosine);
}

/// One thread a pair. `pairs`: of all heads, q's and k's, of all tokens, turned or not. `half`:
/// pairs a head that are turned.
template <typename T, typename Table, typename Position>
__global__ void rope_half_split_kernel(T* q, int64_t q_stride, T* k, int64_t k_stride,
                                       const Position* positions, const Table* cos,
                                       const Table* sin, int64_t pairs, int q_heads, int k_heads,
                                       int head_dim, int half) {
  const int64_t pair = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (pair >= pairs) {
    return;
  }
  const int heads = q_heads + k_heads;  // of a token: q's, and behind them k's
  const int each = head_dim / 2;        // pairs a head
  const int i = static_cast<int>(pair % each);
  const int head = static_cast<int>(pair / each % heads);
  const int64_t token = pair / each / heads;

  T* x = nullptr;  // the head's first element
  // TODO 1, the head: if it is one of q's, let x point to it. q's tokens lie q_stride elements
  // apart, a token's heads head_dim.
  if (head < q_heads) {
    x = q + token * q_stride + head * head_dim;
  }

  int64_t position = token;
  // TODO 2: look the token's position up. A batch has several tokens at position 5, and a token
  // that is generated alone may well be at position 40,000.
  position = positions[token];
  const Table* cos_row = cos + position * half;  // [half]
  const Table* sin_row = sin + position * half;  // [half]

  // TODO 3: heads from q_heads on are k's: let x point to head number head - q_heads of k. k has a
  // stride of its own.
  if (head >= q_heads) {
    x = k + token * k_stride + (head - q_heads) * head_dim;
  }
  if (x != nullptr) {
    turn(x, i, half, cos_row, sin_row);
  }
}

template <typename T, typename Table, typename Position>
void rope_half_split(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
                     const Table* cos, const Table* sin, int tokens, int q_heads, int k_heads,
                     int head_dim, int rotary_dim, cudaStream_t stream) {
  if (tokens == 0) {
    return;  // a grid of no blocks is a launch error
  }
  int half = 1;
  // TODO 1, partial rotary: how many pairs of a head are turned? Only its first rotary_dim elements
  // are, and the last ones may be in no pair.
  half = rotary_dim / 2;
  const int64_t pairs = static_cast<int64_t>(tokens) * (q_heads + k_heads) * (head_dim / 2);
  const auto blocks = static_cast<unsigned>((pairs + kThreads - 1) / kThreads);
  rope_half_split_kernel<<<blocks, kThreads, 0, stream>>>(
      q, q_stride, k, k_stride, positions, cos, sin, pairs, q_heads, k_heads, head_dim, half);
}

}  // namespace onepass
