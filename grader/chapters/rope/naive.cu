// The naive baseline of chapter 3: the same contract, run the way a framework without fusion runs
// it (chapters/common/naive.h). Slicing a tensor moves nothing there, it is a view; putting the
// slices together again is a kernel of its own over the whole tensor.
//
// Bytes moved per element of the tensor, size bytes each, tables left out:
//   interleaved, backward   four products of half a tensor, 4 (size / 2 + 2); a difference and a
//                           sum, 2 (4 + 2); interleaving, 4 + size: 3 size + 24
//   half_split, fast        rotate_half 2 size; two products 2 (size + 4); their sum 8 + size:
//                           5 size + 16
//   qk_norm                 squares size + 4, their mean 4, times rstd size + 4, times weight 8,
//                           rounded 4 + size; then half_split of what is in fp32, 32 + size:
//                           4 size + 56

#include <onepass/rope.h>

#include "chapters/common/naive.h"

namespace onepass {
namespace naive {

/// A row of a table a token, where the rows are the heads of [tokens, heads].
struct OneEachToken {
  int heads, width;

  __device__ int64_t operator()(int64_t row, int col) const { return row / heads * width + col; }
};

// ---- 3.1 and 3.2 ----

/// x[2i] = even[i], x[2i + 1] = odd[i].
template <typename T>
__global__ void interleave_kernel(const float* even, const float* odd, T* x, int64_t pairs) {
  const int64_t i = element_index();
  if (i < 2 * pairs) {
    x[i] = static_cast<T>(i % 2 == 0 ? even[i / 2] : odd[i / 2]);
  }
}

/// y = x turned by the tables' angles times `sign`. y may be x.
template <typename T>
void turn(const T* x, const float* cos, const float* sin, float sign, T* y, int tokens, int heads,
          int half, cudaStream_t stream) {
  const Operators run = {static_cast<int64_t>(tokens) * heads, half, stream};
  float* memory = run.memory(4);
  if (memory == nullptr) {
    return;
  }
  const View<const T, Steps> a = {x, {2 * half, 2}};  // slices of x, each [tokens, heads, half]
  const View<const T, Steps> b = {x + 1, {2 * half, 2}};
  const View<const float, OneEachToken> cosines = {cos, {heads, half}};
  const View<const float, OneEachToken> sines = {sin, {heads, half}};
  const auto even = tensor(memory, half);
  const auto odd_sin = tensor(memory + run.size(), half);
  const auto odd = tensor(memory + 2 * run.size(), half);
  const auto even_sin = tensor(memory + 3 * run.size(), half);
  run.multiply(a, cosines, even);
  run.multiply(b, sines, odd_sin);
  run.multiply(b, cosines, odd);
  run.multiply(a, sines, even_sin);
  if (sign > 0) {
    run.subtract(even, odd_sin, even);
    run.add(odd, even_sin, odd);
  } else {
    run.add(even, odd_sin, even);
    run.subtract(odd, even_sin, odd);
  }
  interleave_kernel<<<blocks_for(2 * run.size()), kThreads, 0, stream>>>(even.data, odd.data, y,
                                                                         run.size());
}

// ---- 3.3 and 3.4 ----

/// Where the elements of q or k are that are turned.
struct Heads {
  int64_t stride;  // from token to token
  int heads, head_dim;

  __device__ int64_t operator()(int64_t row, int col) const {
    return row / heads * stride + row % heads * head_dim + col;
  }
};

/// Of the elements of a head that are turned: which pair one is in, and which one of it.
struct Pairs {
  Pairing pairing;
  int half;

  __device__ int pair(int col) const { return pairing == Pairing::split ? col % half : col / 2; }
  __device__ bool is_first(int col) const {
    return pairing == Pairing::split ? col < half : col % 2 == 0;
  }
  __device__ int partner(int col) const {
    const int apart = pairing == Pairing::split ? half : 1;
    return is_first(col) ? col + apart : col - apart;
  }
};

/// rotated = (-b, a) where a pair is (a, b): rotate_half, or the same of neighbours.
template <typename T>
__global__ void rotate_kernel(View<T, Heads> x, T* rotated, int64_t rows, Pairs pairs) {
  const int64_t i = element_index();
  const int cols = 2 * pairs.half;
  if (i < rows * cols) {
    const int col = static_cast<int>(i % cols);
    const float partner = x.at(i / cols, pairs.partner(col));
    rotated[i] = static_cast<T>(pairs.is_first(col) ? -partner : partner);
  }
}

/// gathered[t] = table[positions[t]], in fp32, each angle twice: for both elements of its pair.
template <typename Table, typename Position>
__global__ void gather_kernel(const Table* table, const Position* positions, float* gathered,
                              int tokens, Pairs pairs) {
  const int64_t i = element_index();
  const int cols = 2 * pairs.half;
  if (i < static_cast<int64_t>(tokens) * cols) {
    const int64_t row = positions[i / cols];
    const int col = static_cast<int>(i % cols);
    gathered[i] = static_cast<float>(table[row * pairs.half + pairs.pair(col)]);
  }
}

/// to = from * cos + rotated from * sin. work: 3 tensors of floats. `to` may be `from`.
template <typename From, typename T>
void turn_heads(View<From, Heads> from, View<T, Heads> to, int tokens, Pairs pairs,
                const float* cos, const float* sin, float* work, cudaStream_t stream) {
  const int heads = from.place.heads;
  const int cols = 2 * pairs.half;
  const Operators run = {static_cast<int64_t>(tokens) * heads, cols, stream};
  const auto with_cos = tensor(work, cols);
  const auto with_sin = tensor(work + run.size(), cols);
  const auto rotated = tensor(reinterpret_cast<From*>(work + 2 * run.size()), cols);
  rotate_kernel<<<blocks_for(run.size()), kThreads, 0, stream>>>(from, rotated.data, run.rows,
                                                                 pairs);
  run.multiply(from, View<const float, OneEachToken>{cos, {heads, cols}}, with_cos);
  run.multiply(rotated, View<const float, OneEachToken>{sin, {heads, cols}}, with_sin);
  run.add(with_cos, with_sin, to);
}

/// The cosines and sines of each token, for turn_heads().
struct Angles {
  Pairs pairs;
  float *cos, *sin;  // [tokens, 2 * half]

  template <typename Table, typename Position>
  void gather(const Table* cos_table, const Table* sin_table, const Position* positions, int tokens,
              cudaStream_t stream) const {
    const unsigned blocks = blocks_for(static_cast<int64_t>(tokens) * 2 * pairs.half);
    gather_kernel<<<blocks, kThreads, 0, stream>>>(cos_table, positions, cos, tokens, pairs);
    gather_kernel<<<blocks, kThreads, 0, stream>>>(sin_table, positions, sin, tokens, pairs);
  }
};

/// q, then k.
template <typename T, typename Table, typename Position>
void turn_q_and_k(View<T, Heads> q, View<T, Heads> k, const Position* positions, const Table* cos,
                  const Table* sin, int tokens, int rotary_dim, Pairing pairing,
                  cudaStream_t stream) {
  const int64_t size = static_cast<int64_t>(tokens) * rotary_dim;
  const int most_heads = q.place.heads > k.place.heads ? q.place.heads : k.place.heads;
  float* memory = intermediates(2 * size + 3 * size * most_heads);
  if (memory == nullptr) {
    return;
  }
  const Angles angles = {{pairing, rotary_dim / 2}, memory, memory + size};
  float* work = memory + 2 * size;
  angles.gather(cos, sin, positions, tokens, stream);
  turn_heads(q, q, tokens, angles.pairs, angles.cos, angles.sin, work, stream);
  turn_heads(k, k, tokens, angles.pairs, angles.cos, angles.sin, work, stream);
}

// ---- 3.5 ----

/// normalised = x * rstd * weight in fp32, [tokens * heads, head_dim], dense; and x is that,
/// rounded. rstd: one a head.
template <typename T>
void normalise_heads(View<T, Heads> x, const T* weight, float eps, int tokens, float* normalised,
                     float* rstd, cudaStream_t stream) {
  const int head_dim = x.place.head_dim;
  const int heads = tokens * x.place.heads;
  const Operators run = {heads, head_dim, stream};
  const auto result = tensor(normalised, head_dim);
  run.map(Square(), x, result);
  run.mean(result, rstd);
  rsqrt(rstd, eps, rstd, heads, stream);
  run.multiply(x, one_each_row(rstd), result);
  run.multiply(result, one_each_col(weight), result);
  run.map(Convert(), result, x);  // what is not turned is there already
}

}  // namespace naive

template <typename T>
void rope_interleaved(T* x, const float* cos, const float* sin, int tokens, int heads, int head_dim,
                      cudaStream_t stream) {
  naive::turn(x, cos, sin, 1.0f, x, tokens, heads, head_dim / 2, stream);
}

template <typename T>
void rope_backward(const T* dy, const float* cos, const float* sin, T* dx, int tokens, int heads,
                   int head_dim, cudaStream_t stream) {
  naive::turn(dy, cos, sin, -1.0f, dx, tokens, heads, head_dim / 2, stream);
}

template <typename T, typename Table, typename Position>
void rope_half_split(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
                     const Table* cos, const Table* sin, int tokens, int q_heads, int k_heads,
                     int head_dim, int rotary_dim, cudaStream_t stream) {
  naive::turn_q_and_k(naive::View<T, naive::Heads>{q, {q_stride, q_heads, head_dim}},
                      naive::View<T, naive::Heads>{k, {k_stride, k_heads, head_dim}}, positions,
                      cos, sin, tokens, rotary_dim, Pairing::split, stream);
}

template <typename T, typename Table, typename Position>
void rope_fast(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
               const Table* cos, const Table* sin, int tokens, int q_heads, int k_heads,
               int head_dim, int rotary_dim, Pairing pairing, cudaStream_t stream) {
  naive::turn_q_and_k(naive::View<T, naive::Heads>{q, {q_stride, q_heads, head_dim}},
                      naive::View<T, naive::Heads>{k, {k_stride, k_heads, head_dim}}, positions,
                      cos, sin, tokens, rotary_dim, pairing, stream);
}

template <typename T, typename Table, typename Position>
void rope_qk_norm(T* q, int64_t q_stride, T* k, int64_t k_stride, const T* q_weight,
                  const T* k_weight, const Position* positions, const Table* cos, const Table* sin,
                  int tokens, int q_heads, int k_heads, int head_dim, int rotary_dim, float eps,
                  cudaStream_t stream) {
  using namespace naive;
  const int64_t size = static_cast<int64_t>(tokens) * rotary_dim;
  const int64_t most_heads = q_heads > k_heads ? q_heads : k_heads;
  const int64_t heads = tokens * most_heads;
  float* memory = intermediates(2 * size + 3 * size * most_heads + heads * head_dim + heads);
  if (memory == nullptr) {
    return;
  }
  const Angles angles = {{Pairing::split, rotary_dim / 2}, memory, memory + size};
  float* work = memory + 2 * size;
  float* normalised = work + 3 * size * most_heads;  // [tokens, heads, head_dim]
  float* rstd = normalised + heads * head_dim;       // [tokens, heads]
  angles.gather(cos, sin, positions, tokens, stream);
  const auto run = [&](View<T, Heads> x, const T* weight) {
    normalise_heads(x, weight, eps, tokens, normalised, rstd, stream);
    const int64_t stride = static_cast<int64_t>(x.place.heads) * head_dim;
    turn_heads(View<float, Heads>{normalised, {stride, x.place.heads, head_dim}}, x, tokens,
               angles.pairs, angles.cos, angles.sin, work, stream);
  };
  run({q, {q_stride, q_heads, head_dim}}, q_weight);
  run({k, {k_stride, k_heads, head_dim}}, k_weight);
}

}  // namespace onepass
