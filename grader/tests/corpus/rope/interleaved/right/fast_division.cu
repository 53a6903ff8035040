// Right: a pair's token and angle are found by two divisions by numbers that are the same for all
// threads. Each is a multiplication and a shift (Granlund and Montgomery, 1994), for numbers below
// 2^31: more pairs than that have a kernel that divides.

#include <onepass/rope.h>

namespace onepass {

constexpr int kThreads = 256;

/// n / divisor by a multiplication and a shift.
struct Divider {
  unsigned divisor, magic, shift;

  explicit Divider(unsigned d) : divisor(d), shift(0) {
    while (shift < 32 && (1ull << shift) < d) {
      ++shift;
    }
    magic = static_cast<unsigned>((1ull << 32) * ((1ull << shift) - d) / d + 1);
  }
  __device__ unsigned divide(unsigned n) const { return (__umulhi(n, magic) + n) >> shift; }
};

template <typename T>
__device__ inline void turn(T* x, float cos, float sin) {
  const float a = static_cast<float>(x[0]);
  const float b = static_cast<float>(x[1]);
  x[0] = static_cast<T>(a * cos - b * sin);
  x[1] = static_cast<T>(a * sin + b * cos);
}

template <typename T>
__global__ void rope_kernel(T* x, const float* cos, const float* sin, unsigned pairs, Divider half,
                            Divider heads) {
  const unsigned pair = blockIdx.x * kThreads + threadIdx.x;
  if (pair >= pairs) {
    return;
  }
  const unsigned head = half.divide(pair);
  const unsigned i = pair - head * half.divisor;
  const int64_t token = heads.divide(head);
  const int64_t angle = token * half.divisor + i;
  turn(x + 2 * static_cast<int64_t>(pair), cos[angle], sin[angle]);
}

template <typename T>
__global__ void rope_many_kernel(T* x, const float* cos, const float* sin, int64_t pairs, int half,
                                 int heads) {
  const int64_t pair = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (pair >= pairs) {
    return;
  }
  const int64_t token = pair / half / heads;
  const int64_t angle = token * half + pair % half;
  turn(x + 2 * pair, cos[angle], sin[angle]);
}

template <typename T>
void rope_interleaved(T* x, const float* cos, const float* sin, int tokens, int heads, int head_dim,
                      cudaStream_t stream) {
  if (tokens == 0) {
    return;
  }
  const int half = head_dim / 2;
  const int64_t pairs = static_cast<int64_t>(tokens) * heads * half;
  const auto blocks = static_cast<unsigned>((pairs + kThreads - 1) / kThreads);
  if (pairs <= 0x7fffffff) {
    rope_kernel<<<blocks, kThreads, 0, stream>>>(x, cos, sin, static_cast<unsigned>(pairs),
                                                 Divider(half), Divider(heads));
  } else {
    rope_many_kernel<<<blocks, kThreads, 0, stream>>>(x, cos, sin, pairs, half, heads);
  }
}

}  // namespace onepass
