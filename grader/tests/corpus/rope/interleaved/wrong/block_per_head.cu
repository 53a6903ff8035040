// diagnosis: output-partly-written
// says: With head_dim = 2046 the same call is right, with head_dim = 2050 it is not
// A block has a head, and a thread one pair of it: a block has 1,024 threads at most.
#include <onepass/rope.h>

namespace onepass {

constexpr int kMostThreads = 1024;  // threads a block

/// Turns the pair x[0], x[1] in place, by the angle that has this cosine and this sine.
template <typename T>
__device__ inline void turn(T* x, float cos, float sin) {
  // TODO 1: a = x[0], b = x[1] become a * cos - b * sin and a * sin + b * cos, in fp32, converted
  // to T at the very end. Read both before you write either.
  const float a = static_cast<float>(x[0]);
  const float b = static_cast<float>(x[1]);
  x[0] = static_cast<T>(a * cos - b * sin);
  x[1] = static_cast<T>(a * sin + b * cos);
}

/// One block a head, one thread a pair. `half`: pairs a head.
template <typename T>
__global__ void rope_interleaved_kernel(T* x, const float* cos, const float* sin, int heads,
                                        int half) {
  const int64_t head = blockIdx.x;  // of all tokens
  const int i = threadIdx.x;        // the pair's number within it
  const int64_t pair = head * half + i;
  int64_t token = 0;
  // TODO 2: which token does the pair belong to? A token has heads * half pairs.
  token = head / heads;
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
  const int threads = half < kMostThreads ? half : kMostThreads;
  rope_interleaved_kernel<<<tokens * heads, threads, 0, stream>>>(x, cos, sin, heads, half);
}

}  // namespace onepass
