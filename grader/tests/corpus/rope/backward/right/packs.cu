// The pairs of 16 bytes at once in a thread, where heads and addresses allow it.
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
  const int64_t per_block = static_cast<int64_t>(kThreads) * kPairs;
  blocks = (pairs + per_block - 1) / per_block;
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
