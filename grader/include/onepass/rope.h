// Chapter 3, rotary position embedding (RoPE): the functions that the exercises define.
//
// RoPE (Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021, sections
// 3.2.2 and 3.4.2) takes the elements of a head two by two and turns each pair (a, b) by an angle:
//
//     a' = a * cos - b * sin
//     b' = a * sin + b * cos                computed in fp32, rounded to T once
//
// Pair i of a token at position p is turned by p * base^(-2i / rotary_dim). The angles are not
// computed here: their cosines and sines come as tables, with one column a pair.
//
// What holds for all functions of all chapters (streams, errors, pointers, strides, precision, NaN)
// stands in onepass/launchers.h. Here besides:
//   tokens    0 to 2^24, all sequences of a batch one after the other
//   heads     1 to 1,024. tokens * heads fits an int, from 3.3 on tokens * (q_heads + k_heads);
//             tokens * heads * head_dim, and the number of pairs, need not.
//   head_dim  even, 2 to 8,192
#pragma once

#include <onepass/launchers.h>
#include <onepass/rope_types.h>

namespace onepass {

/// Exercise 3.1. Turns the pairs (2i, 2i + 1) of x in place, token t by the angles of row t:
///
///     a = x[t][h][2i],  b = x[t][h][2i + 1],  cos[t][i],  sin[t][i]
///
/// x: [tokens, heads, head_dim], dense. cos, sin: [tokens, head_dim / 2], dense, fp32; all heads of
/// a token share its row.
template <typename T>
void rope_interleaved(T* x, const float* cos, const float* sin, int tokens, int heads, int head_dim,
                      cudaStream_t stream);

/// Exercise 3.2. The gradient of 3.1: from dy, the gradient of what came out, dx, that of what went
/// in. A rotation's transpose is its inverse, so each pair (a, b) of dy is turned back:
///
///     dx[t][h][2i]     =  a * cos[t][i] + b * sin[t][i]
///     dx[t][h][2i + 1] = -a * sin[t][i] + b * cos[t][i]
///
/// dy, dx: [tokens, heads, head_dim], dense. dx may be dy itself: then the gradient is turned in
/// place. cos, sin: as in 3.1.
template <typename T>
void rope_backward(const T* dy, const float* cos, const float* sin, T* dx, int tokens, int heads,
                   int head_dim, cudaStream_t stream);

/// Exercise 3.3. Turns the pairs (i, i + rotary_dim / 2) of q and of k in place, token t by the
/// angles of row p = positions[t]:
///
///     a = q[t][h][i],  b = q[t][h][i + rotary_dim / 2],  cos[p][i],  sin[p][i]      and k likewise
///
/// The elements rotary_dim to head_dim - 1 of each head stay as they are.
///
/// q: [tokens, q_heads, head_dim], tokens q_stride elements apart, q_stride >= q_heads * head_dim.
/// k: [tokens, k_heads, head_dim], tokens k_stride elements apart, k_stride >= k_heads * head_dim.
/// Within a token all heads are dense. q and k may be parts of one tensor, which has the heads of k
/// behind those of q in each token: no element is in both, but between two tokens of q lie elements
/// of k, and the other way round.
/// positions: [tokens], the same for q and k, each the number of a row of the tables, from 0 on, in
/// no order; tokens may share one.
/// cos, sin: [up to 2^24 rows, rotary_dim / 2], dense, in fp32 or in T, used as they are stored;
/// they may have more than 2^31 elements.
/// rotary_dim: even, 2 to head_dim.  Table: float or T.  Position: int32_t or int64_t.
template <typename T, typename Table, typename Position>
void rope_half_split(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
                     const Table* cos, const Table* sin, int tokens, int q_heads, int k_heads,
                     int head_dim, int rotary_dim, cudaStream_t stream);

/// Exercise 3.4. The function of 3.3 in either pairing, fast:
///
///     Pairing::split         as 3.3
///     Pairing::interleaved   a = q[t][h][2i],  b = q[t][h][2i + 1],  the rest as 3.3
///
/// q, k, positions, cos, sin, rotary_dim, Table, Position: as in 3.3, at any address and stride.
///
/// What makes it fast, whatever the shape:
///   q, k      Each element that is turned is loaded once.
///   cos, sin  A row is loaded once for each four of the token's q_heads + k_heads heads, or less
///             often.
/// And where q, k, cos and sin start at multiples of 16 bytes, and q_stride, k_stride, head_dim and
/// rotary_dim / 2 are each a multiple of 16 bytes of T, q and k are loaded and stored 16 bytes at a
/// time.
template <typename T, typename Table, typename Position>
void rope_fast(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
               const Table* cos, const Table* sin, int tokens, int q_heads, int k_heads,
               int head_dim, int rotary_dim, Pairing pairing, cudaStream_t stream);

/// Exercise 3.5. RMSNorm of each head of q and of k by itself, then 3.3, in place:
///
///     n[t][h][c] = x[t][h][c] * rstd[t][h] * weight[c]          x: q or k, weight: its own
///     rstd[t][h] = 1 / sqrt((sum over c of x[t][h][c]^2) / head_dim + eps)
///
/// and of n the pairs (i, i + rotary_dim / 2) are turned as in 3.3, in fp32. n is not rounded to T:
/// it is in no memory, and each result is rounded once, at the end. (Two kernels, the first of
/// which writes its n, round it; so the last digit differs from that of models which run them.)
///
/// The elements rotary_dim to head_dim - 1 of each head become n: they are normalised, not turned.
///
/// q, k, positions, cos, sin, rotary_dim, Table, Position: as in 3.3, but head_dim is at most
/// 1,024. q_weight, k_weight: [head_dim], for all heads of q, and for all of k. Who has weights
/// that are meant as 1 + weight, as Gemma 3's are, adds the 1 first.
///
/// Each element of q and k is loaded once and stored once. Nothing is saved for a backward pass.
template <typename T, typename Table, typename Position>
void rope_qk_norm(T* q, int64_t q_stride, T* k, int64_t k_stride, const T* q_weight,
                  const T* k_weight, const Position* positions, const Table* cos, const Table* sin,
                  int tokens, int q_heads, int k_heads, int head_dim, int rotary_dim, float eps,
                  cudaStream_t stream);

}  // namespace onepass
