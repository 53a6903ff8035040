// Exercise 3.1: rotary position embedding, interleaved pairs, in place.
//
//     x         [tokens, heads, head_dim]  read, turned, and written back to where it was
//     cos, sin  [tokens, head_dim / 2]     fp32, a row a token, shared by all heads of the token
//
//     x[t][h][2i]     = a * cos[t][i] - b * sin[t][i]     with a = x[t][h][2i]
//     x[t][h][2i + 1] = a * sin[t][i] + b * cos[t][i]          b = x[t][h][2i + 1]
//
// No reduction, no barrier: a pair needs nothing but itself and its angle. One thread owns it: it
// holds both elements in registers and can write the result over them, for nobody else ever looks
// there.
//
// Grade it:   make -C build grade_rope
// Read first: docs/03_rope.md, "3.1 Interleaved pairs"

#include <onepass/rope.h>

namespace onepass {

constexpr int kThreads = 256;  // threads a block

/// Turns the pair x[0], x[1] in place, by the angle that has this cosine and this sine.
template <typename T>
__device__ inline void turn(T* x, float cos, float sin) {
  // TODO 1: a = x[0], b = x[1] become a * cos - b * sin and a * sin + b * cos, in fp32, converted
  // to T at the very end. Read both before you write either.
}

/// One thread a pair. `pairs`: of all heads of all tokens. `half`: pairs a head.
template <typename T>
__global__ void rope_interleaved_kernel(T* x, const float* cos, const float* sin, int64_t pairs,
                                        int heads, int half) {
  const int64_t pair = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;  // in all of x
  if (pair >= pairs) {
    return;
  }
  const int64_t i = pair % half;  // its number within the head
  int64_t token = 0;
  // TODO 2: which token does the pair belong to? A token has heads * half pairs.
  const int64_t angle = token * half + i;  // its place in the tables
  turn(x + 2 * pair, cos[angle], sin[angle]);
}

template <typename T>
void rope_interleaved(T* x, const float* cos, const float* sin, int tokens, int heads, int head_dim,
                      cudaStream_t stream) {
  if (tokens == 0) {
    return;  // a grid of no blocks is a launch error
  }
  const int half = head_dim / 2;
  const int64_t pairs = static_cast<int64_t>(tokens) * heads * half;
  const auto blocks = static_cast<unsigned>((pairs + kThreads - 1) / kThreads);
  rope_interleaved_kernel<<<blocks, kThreads, 0, stream>>>(x, cos, sin, pairs, heads, half);
}

}  // namespace onepass
