// Exercise 3.5: RMSNorm of each head of q and of k, and then RoPE, in one pass.
//
//     q          [tokens, q_heads, head_dim]  tokens q_stride elements apart, changed in place
//     k          [tokens, k_heads, head_dim]  tokens k_stride elements apart, changed in place
//     q_weight   [head_dim]                   one for all heads of q
//     k_weight   [head_dim]                   one for all heads of k
//     positions  [tokens]                     int32 or int64: its row of the tables
//     cos, sin   [.., rotary_dim / 2]         fp32 or T
//
//     n = x * rstd * weight   with rstd = 1 / sqrt(mean of the head's squares + eps), in fp32
//     a = n[i], b = n[i + rotary_dim / 2] are turned by row positions[t], and rounded to T;
//     n[rotary_dim], ..., n[head_dim - 1] are rounded to T as they are
//
// Two operators of which each reads and writes q and k become one that does so once. What goes from
// the first to the second stays in the registers of a warp: it has a head.
//
// Grade it:   make -C build grade_rope
// Read first: docs/03_rope.md, "3.5 RMSNorm of q and k first"

#include <onepass/rope.h>

namespace onepass {

constexpr int kWarps = 4;  // of a block, and its heads

/// The sum of `value` over the 32 lanes of a warp, in every lane (exercise 1.1).
__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// Where the two elements of couple c of a head lie. The first `half` couples are the pairs that
/// are turned; what is behind these follows two by two, so that every element is in one couple.
struct Couple {
  int first, second;

  __device__ Couple(int c, int half) : first(c < half ? c : 2 * c), second(first + 1) {
    if (c < half) {
      second = c + half;
    }
  }
};

/// A warp a head: lane l has its couples l, l + 32, l + 64, ..., kEach of them or less. half: how
/// many of the head's couples are turned. heads: of q and k, in all tokens.
template <int kEach, typename T, typename Table, typename Position>
__global__ void rope_qk_norm_kernel(T* q, int64_t q_stride, T* k, int64_t k_stride,
                                    const T* q_weight, const T* k_weight, const Position* positions,
                                    const Table* cos, const Table* sin, int64_t heads, int q_heads,
                                    int k_heads, int head_dim, int half, float eps) {
  const int64_t number = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.y;
  if (number >= heads) {
    return;  // a whole warp
  }
  const int lane = threadIdx.x;
  const int couples = head_dim / 2;
  const int64_t token = number / (q_heads + k_heads);
  const int64_t head = number % (q_heads + k_heads);
  T* x = nullptr;             // the head
  const T* weight = nullptr;  // [head_dim]
  if (head < q_heads) {
    x = q + token * q_stride + head * head_dim;
    weight = q_weight;
  }
  // TODO 3: heads from q_heads on are k's. They have a stride and a weight of their own.
  if (x == nullptr) {
    return;
  }

  float a[kEach] = {};  // the couples' elements; zeros behind the last one
  float b[kEach] = {};
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const int c = lane + 32 * e;
    if (c < couples) {
      a[e] = static_cast<float>(x[Couple(c, half).first]);
      b[e] = static_cast<float>(x[Couple(c, half).second]);
    }
  }

  // TODO 1: normalise the head. Add up the squares of all a and b; zeros add nothing. warp_sum()
  // gives the head's sum. Multiply each element that is there, c < couples, by rstd and by its
  // weight.

  // TODO 2: turn the couples c < half by angle c of the token's row, positions[token], of half
  // cosines and sines. What is in a and b stays fp32.

#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const int c = lane + 32 * e;
    if (c < couples) {
      x[Couple(c, half).first] = static_cast<T>(a[e]);
      x[Couple(c, half).second] = static_cast<T>(b[e]);
    }
  }
}

template <typename T, typename Table, typename Position>
void rope_qk_norm(T* q, int64_t q_stride, T* k, int64_t k_stride, const T* q_weight,
                  const T* k_weight, const Position* positions, const Table* cos, const Table* sin,
                  int tokens, int q_heads, int k_heads, int head_dim, int rotary_dim, float eps,
                  cudaStream_t stream) {
  if (tokens == 0) {
    return;  // a grid of no blocks is a launch error
  }
  const int64_t heads = static_cast<int64_t>(tokens) * (q_heads + k_heads);
  const auto launch = [&](auto kernel) {
    const auto blocks = static_cast<unsigned>((heads + kWarps - 1) / kWarps);
    kernel<<<blocks, dim3(32, kWarps), 0, stream>>>(q, q_stride, k, k_stride, q_weight, k_weight,
                                                    positions, cos, sin, heads, q_heads, k_heads,
                                                    head_dim, rotary_dim / 2, eps);
  };
  // Couples a lane: as few as hold the head, for each is registers.
  if (head_dim <= 128) {
    launch(rope_qk_norm_kernel<2, T, Table, Position>);
  } else if (head_dim <= 256) {
    launch(rope_qk_norm_kernel<4, T, Table, Position>);
  } else {
    launch(rope_qk_norm_kernel<16, T, Table, Position>);
  }
}

}  // namespace onepass
