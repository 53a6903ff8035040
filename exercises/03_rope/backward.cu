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

/// Turns the pair dy[0], dy[1] back, into dx[0], dx[1], which may be the same (exercise 3.1).
template <typename T>
__device__ inline void turn_back(const T* dy, T* dx, float cos, float sin) {
  // TODO 1: turn the pair by the negative angle. cos(-angle) is cos(angle), and sin(-angle) is
  // -sin(angle).
}

/// One thread a pair. `pairs`: of all heads of all tokens. `half`: pairs a head.
template <typename T>
__global__ void rope_backward_kernel(const T* dy, const float* cos, const float* sin, T* dx,
                                     int64_t pairs, int heads, int half) {
  const int64_t pair = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;  // in all of dy
  if (pair >= pairs) {
    return;
  }
  const int64_t token = pair / half / heads;
  const int64_t angle = token * half + pair % half;  // its place in the tables
  turn_back(dy + 2 * pair, dx + 2 * pair, cos[angle], sin[angle]);
}

template <typename T>
void rope_backward(const T* dy, const float* cos, const float* sin, T* dx, int tokens, int heads,
                   int head_dim, cudaStream_t stream) {
  if (tokens == 0) {
    return;  // a grid of no blocks is a launch error
  }
  const int half = head_dim / 2;
  const int64_t pairs = static_cast<int64_t>(tokens) * heads * half;
  int64_t blocks = 1;
  // TODO 2: one block does kThreads pairs. How many blocks does it take for all of them? The last
  // one may be partly idle: the kernel looks whether its pairs exist.
  rope_backward_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(dy, cos, sin, dx,
                                                                               pairs, heads, half);
}

}  // namespace onepass
