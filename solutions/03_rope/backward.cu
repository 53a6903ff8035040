// Exercise 3.2: the backward pass of RoPE, which turns the gradient back.
//
//     dy        [tokens, heads, head_dim]  the gradient of what 3.1 wrote
//     dx        [tokens, heads, head_dim]  the gradient of what 3.1 read; may be dy itself
//     cos, sin  [tokens, head_dim / 2]     fp32, as in 3.1
//
//     dx[t][h][2i]     =  a * cos[t][i] + b * sin[t][i]     with a = dy[t][h][2i]
//     dx[t][h][2i + 1] = -a * sin[t][i] + b * cos[t][i]          b = dy[t][h][2i + 1]
//
// Nothing is saved by the forward pass but the tables, and they are the same for all layers: the
// cheapest backward pass of this workbook.
//
// Grade it:   make -C build grade_rope
// Read first: docs/03_rope.md, "3.2 The backward pass"

#include <onepass/rope.h>

namespace onepass {

constexpr int kThreads = 256;  // threads a block

/// Neighbouring elements that travel together, aligned to kAligned of them.
template <typename T, int kCount, int kAligned>
struct alignas(kAligned * sizeof(T)) Run {
  T values[kCount];
};

/// The elements of kPairs pairs, aligned to their size; a single pair may lie at any address.
template <typename T, int kPairs>
using Pairs = Run<T, 2 * kPairs, kPairs == 1 ? 1 : 2 * kPairs>;

/// The cosines or the sines of kPairs pairs.
template <int kPairs>
using Angles = Run<float, kPairs, kPairs>;

/// Turns kPairs neighbouring pairs back, from dy to dx, which may be the same. cos, sin: of their
/// angles. More than one pair are aligned to their size, a single one to an element (exercise 3.1).
template <int kPairs, typename T>
__device__ inline void turn_back(const T* dy, T* dx, const float* cos, const float* sin) {
  // TODO 1: turn each pair p of dy by the negative angle and write it to dx. cos(-angle) is
  // cos(angle), and sin(-angle) is -sin(angle).
  // [solution 1]
  auto pairs = *reinterpret_cast<const Pairs<T, kPairs>*>(dy);
  const auto c = *reinterpret_cast<const Angles<kPairs>*>(cos);
  const auto s = *reinterpret_cast<const Angles<kPairs>*>(sin);
  for (int p = 0; p < kPairs; ++p) {
    const float a = static_cast<float>(pairs.values[2 * p]);
    const float b = static_cast<float>(pairs.values[2 * p + 1]);
    pairs.values[2 * p] = static_cast<T>(a * c.values[p] + b * s.values[p]);
    pairs.values[2 * p + 1] = static_cast<T>(b * c.values[p] - a * s.values[p]);
  }
  *reinterpret_cast<Pairs<T, kPairs>*>(dx) = pairs;
  // [end]
}

/// One thread for kPairs pairs, which all belong to one head. `half`: pairs a head.
template <int kPairs, typename T>
__global__ void rope_backward_kernel(const T* dy, const float* cos, const float* sin, T* dx,
                                     int64_t pairs, int heads, int half) {
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int64_t pair = thread * kPairs;  // the first of this thread's, counted through all of dy
  if (pair >= pairs) {
    return;
  }
  const int64_t token = pair / half / heads;
  const int64_t angle = token * half + pair % half;  // its place in the tables
  turn_back<kPairs>(dy + 2 * pair, dx + 2 * pair, cos + angle, sin + angle);
}

template <int kPairs, typename T>
void launch(const T* dy, const float* cos, const float* sin, T* dx, int tokens, int heads, int half,
            cudaStream_t stream) {
  const int64_t pairs = static_cast<int64_t>(tokens) * heads * half;
  int64_t blocks = 1;
  // TODO 2: one block does kThreads * kPairs pairs. How many blocks does it take for all of them?
  // The last one may be partly idle: the kernel looks whether its pairs exist.
  // [solution 2]
  const int64_t per_block = static_cast<int64_t>(kThreads) * kPairs;
  blocks = (pairs + per_block - 1) / per_block;
  // [end]
  rope_backward_kernel<kPairs><<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(
      dy, cos, sin, dx, pairs, heads, half);
}

inline bool is_aligned(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % 16 == 0;
}

template <typename T>
void rope_backward(const T* dy, const float* cos, const float* sin, T* dx, int tokens, int heads,
                   int head_dim, cudaStream_t stream) {
  if (tokens == 0) {
    return;  // a grid of no blocks is a launch error
  }
  const int half = head_dim / 2;
  constexpr int kPairs = 8 / sizeof(T);  // in 16 bytes
  const bool whole =
      half % kPairs == 0 && is_aligned(dy) && is_aligned(dx) && is_aligned(cos) && is_aligned(sin);
  if (whole) {
    launch<kPairs>(dy, cos, sin, dx, tokens, heads, half, stream);
  } else {
    launch<1>(dy, cos, sin, dx, tokens, heads, half, stream);
  }
}

}  // namespace onepass
