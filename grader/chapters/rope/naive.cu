// The naive baseline of chapter 3: the same contract, run the way a framework without fusion runs
// it (chapters/common/naive.h). Slicing a tensor moves nothing there, it is a view; putting the
// slices together again is a kernel of its own over the whole tensor.
//
// Bytes moved per element of the tensor, size bytes each, tables left out:
//   interleaved, backward   four products of half a tensor, 4 (size / 2 + 2); a difference and a
//                           sum, 2 (4 + 2); interleaving, 4 + size: 3 size + 24
//   half_split, fast        rotate_half 2 size; two products 2 (size + 4); their sum 8 + size:
//                           5 size + 16

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

/// x * cos + rotated x * sin. work: 2 tensors of floats, and room for one of T behind them.
template <typename T>
void turn_heads(View<T, Heads> x, int tokens, Pairs pairs, const float* cos, const float* sin,
                float* work, cudaStream_t stream) {
  const int heads = x.place.heads;
  const int cols = 2 * pairs.half;
  const Operators run = {static_cast<int64_t>(tokens) * heads, cols, stream};
  const auto with_cos = tensor(work, cols);
  const auto with_sin = tensor(work + run.size(), cols);
  const auto rotated = tensor(reinterpret_cast<T*>(work + 2 * run.size()), cols);
  rotate_kernel<<<blocks_for(run.size()), kThreads, 0, stream>>>(x, rotated.data, run.rows, pairs);
  run.multiply(x, View<const float, OneEachToken>{cos, {heads, cols}}, with_cos);
  run.multiply(rotated, View<const float, OneEachToken>{sin, {heads, cols}}, with_sin);
  run.add(with_cos, with_sin, x);
}

/// q, then k.
template <typename T, typename Table, typename Position>
void turn_q_and_k(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
                  const Table* cos, const Table* sin, int tokens, int q_heads, int k_heads,
                  int head_dim, int rotary_dim, Pairing pairing, cudaStream_t stream) {
  const Pairs pairs = {pairing, rotary_dim / 2};
  const int64_t angles = static_cast<int64_t>(tokens) * rotary_dim;
  const int most_heads = q_heads > k_heads ? q_heads : k_heads;
  float* memory = intermediates(2 * angles + 3 * angles * most_heads);
  if (memory == nullptr) {
    return;
  }
  float* cosines = memory;  // [tokens, rotary_dim]
  float* sines = memory + angles;
  float* work = memory + 2 * angles;
  const unsigned blocks = blocks_for(angles);
  gather_kernel<<<blocks, kThreads, 0, stream>>>(cos, positions, cosines, tokens, pairs);
  gather_kernel<<<blocks, kThreads, 0, stream>>>(sin, positions, sines, tokens, pairs);
  turn_heads(View<T, Heads>{q, {q_stride, q_heads, head_dim}}, tokens, pairs, cosines, sines, work,
             stream);
  turn_heads(View<T, Heads>{k, {k_stride, k_heads, head_dim}}, tokens, pairs, cosines, sines, work,
             stream);
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
  naive::turn_q_and_k(q, q_stride, k, k_stride, positions, cos, sin, tokens, q_heads, k_heads,
                      head_dim, rotary_dim, Pairing::split, stream);
}

template <typename T, typename Table, typename Position>
void rope_fast(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
               const Table* cos, const Table* sin, int tokens, int q_heads, int k_heads,
               int head_dim, int rotary_dim, Pairing pairing, cudaStream_t stream) {
  naive::turn_q_and_k(q, q_stride, k, k_stride, positions, cos, sin, tokens, q_heads, k_heads,
                      head_dim, rotary_dim, pairing, stream);
}

}  // namespace onepass
