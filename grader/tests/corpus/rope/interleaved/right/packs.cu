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

/// Turns kPairs neighbouring pairs in place. x: their elements, 2 * kPairs. cos, sin: of their
/// angles, kPairs each. More than one pair are aligned to their size, a single one to an element.
template <int kPairs, typename T>
__device__ inline void turn(T* x, const float* cos, const float* sin) {
  auto pairs = *reinterpret_cast<const Pairs<T, kPairs>*>(x);
  const auto c = *reinterpret_cast<const Angles<kPairs>*>(cos);
  const auto s = *reinterpret_cast<const Angles<kPairs>*>(sin);
  for (int p = 0; p < kPairs; ++p) {
    const float a = static_cast<float>(pairs.values[2 * p]);
    const float b = static_cast<float>(pairs.values[2 * p + 1]);
    pairs.values[2 * p] = static_cast<T>(a * c.values[p] - b * s.values[p]);
    pairs.values[2 * p + 1] = static_cast<T>(a * s.values[p] + b * c.values[p]);
  }
  *reinterpret_cast<Pairs<T, kPairs>*>(x) = pairs;
}

/// One thread for kPairs pairs, which all belong to one head. `half`: pairs a head.
template <int kPairs, typename T>
__global__ void rope_interleaved_kernel(T* x, const float* cos, const float* sin, int64_t pairs,
                                        int heads, int half) {
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int64_t pair = thread * kPairs;  // the first of this thread's, counted through all of x
  if (pair >= pairs) {
    return;
  }
  const int64_t i = pair % half;  // its number within the head
  int64_t token = 0;
  token = pair / half / heads;
  turn<kPairs>(x + 2 * pair, cos + token * half + i, sin + token * half + i);
}

template <int kPairs, typename T>
void launch(T* x, const float* cos, const float* sin, int tokens, int heads, int half,
            cudaStream_t stream) {
  const int64_t pairs = static_cast<int64_t>(tokens) * heads * half;
  const int64_t per_block = static_cast<int64_t>(kThreads) * kPairs;
  const auto blocks = static_cast<unsigned>((pairs + per_block - 1) / per_block);
  rope_interleaved_kernel<kPairs><<<blocks, kThreads, 0, stream>>>(x, cos, sin, pairs, heads, half);
}

inline bool is_aligned(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % 16 == 0;
}

template <typename T>
void rope_interleaved(T* x, const float* cos, const float* sin, int tokens, int heads, int head_dim,
                      cudaStream_t stream) {
  if (tokens == 0) {
    return;  // a grid of no blocks is a launch error
  }
  const int half = head_dim / 2;
  constexpr int kPairs = 8 / sizeof(T);  // in 16 bytes
  const bool whole = half % kPairs == 0 && is_aligned(x) && is_aligned(cos) && is_aligned(sin);
  if (whole) {
    launch<kPairs>(x, cos, sin, tokens, heads, half, stream);
  } else {
    launch<1>(x, cos, sin, tokens, heads, half, stream);
  }
}

}  // namespace onepass
