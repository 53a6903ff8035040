// diagnosis: no-tail-mask
// Pairs before the first boundary go one by one, though there may be fewer pairs than that.
// The backward pass of RoPE, 16 bytes at a time where dy and dx begin equally far from a multiple of
// 16 bytes: the pairs before the first multiple go one by one, and so do those behind the last.

#include <onepass/rope.h>

namespace onepass {

namespace {

constexpr int kBlockThreads = 256;

template <typename T>
struct alignas(16) Sixteen {
  T values[16 / sizeof(T)];
};

/// How pairs are dealt out: `lead` threads with a pair each, `packs` with 16 bytes each, then a
/// thread for each pair that is left.
struct Plan {
  int64_t lead, packs, threads;
};

template <typename T>
__device__ inline void turn_back(T& first, T& second, float c, float s) {
  const float a = static_cast<float>(first);
  const float b = static_cast<float>(second);
  first = static_cast<T>(a * c + b * s);
  second = static_cast<T>(b * c - a * s);
}

template <typename T>
__global__ void rope_back(const T* dy, const float* cos, const float* sin, T* dx, Plan plan,
                          int heads, int half) {
  constexpr int kPairs = 8 / sizeof(T);  // of a pack
  const int64_t step = static_cast<int64_t>(gridDim.x) * kBlockThreads;
  for (int64_t t = static_cast<int64_t>(blockIdx.x) * kBlockThreads + threadIdx.x;
       t < plan.threads; t += step) {
    if (t >= plan.lead && t - plan.lead < plan.packs) {
      const int64_t pair = plan.lead + (t - plan.lead) * kPairs;
      Sixteen<T> pack = *reinterpret_cast<const Sixteen<T>*>(dy + 2 * pair);
      for (int p = 0; p < kPairs; ++p) {
        const int64_t row = (pair + p) / half;
        const int64_t angle = row / heads * half + (pair + p - row * half);
        turn_back(pack.values[2 * p], pack.values[2 * p + 1], cos[angle], sin[angle]);
      }
      *reinterpret_cast<Sixteen<T>*>(dx + 2 * pair) = pack;
    } else {
      const int64_t pair = t < plan.lead ? t : t + plan.packs * (kPairs - 1);
      const int64_t row = pair / half;
      const int64_t angle = row / heads * half + (pair - row * half);
      T first = dy[2 * pair];
      T second = dy[2 * pair + 1];
      turn_back(first, second, cos[angle], sin[angle]);
      dx[2 * pair] = first;
      dx[2 * pair + 1] = second;
    }
  }
}

}  // namespace

template <typename T>
void rope_backward(const T* dy, const float* cos, const float* sin, T* dx, int tokens, int heads,
                   int head_dim, cudaStream_t stream) {
  if (tokens == 0) {
    return;
  }
  constexpr int kPairs = 8 / sizeof(T);
  const int half = head_dim / 2;
  const int64_t pairs = static_cast<int64_t>(tokens) * heads * half;
  const auto past = reinterpret_cast<uintptr_t>(dy) % 16;
  Plan plan = {0, 0, pairs};
  if (past == reinterpret_cast<uintptr_t>(dx) % 16 && past % (2 * sizeof(T)) == 0) {
    plan.lead = static_cast<int64_t>((16 - past) % 16 / (2 * sizeof(T)));
    plan.packs = (pairs - plan.lead) / kPairs;
    const int64_t rest = (pairs - plan.lead) % kPairs;
    plan.threads = plan.lead + plan.packs + (rest > 0 ? rest : 0);
  }
  const int64_t wanted = (plan.threads + kBlockThreads - 1) / kBlockThreads;
  const auto blocks = static_cast<unsigned>(wanted < (1 << 30) ? wanted : (1 << 30));
  rope_back<T><<<blocks, kBlockThreads, 0, stream>>>(dy, cos, sin, dx, plan, heads, half);
}

}  // namespace onepass
