// diagnosis: none
// status: crashed
// says: as a division of integers by 0 does
// Rows of threads have a head each: a head of more pairs than a block has threads leaves no row.
#include <onepass/rope.h>

namespace onepass {

constexpr int kThreads = 256;  // threads a block

/// Turns the pair dy[0], dy[1] back, into dx[0], dx[1], which may be the same (exercise 3.1).
template <typename T>
__device__ inline void turn_back(const T* dy, T* dx, float cos, float sin) {
  // TODO 1: turn the pair by the negative angle. cos(-angle) is cos(angle), and sin(-angle) is
  // -sin(angle).
  const float a = static_cast<float>(dy[0]);
  const float b = static_cast<float>(dy[1]);
  dx[0] = static_cast<T>(a * cos + b * sin);
  dx[1] = static_cast<T>(b * cos - a * sin);
}

/// One thread a pair. `pairs`: of all heads of all tokens. `half`: pairs a head.
template <typename T>
__global__ void rope_backward_kernel(const T* dy, const float* cos, const float* sin, T* dx,
                                     int64_t pairs, int heads, int half) {
  // A row of threads has a head: its number in all of dy.
  const int64_t head = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  const int64_t pair = head * half + threadIdx.x;
  if (pair >= pairs) {
    return;
  }
  const int64_t angle = head / heads * half + threadIdx.x;  // its place in the tables
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
  const dim3 block(half, kThreads / half);  // a thread a pair, several heads a block
  blocks = (pairs / half + block.y - 1) / block.y;
  rope_backward_kernel<<<static_cast<unsigned>(blocks), block, 0, stream>>>(dy, cos, sin, dx, pairs,
                                                                            heads, half);
}

}  // namespace onepass
