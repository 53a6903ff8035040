// diagnosis: misaligned-vector
// Two tensors off a boundary by as many bytes are taken for aligned: their addresses are put together
// by exclusive or.
// RoPE, interleaved pairs, in place: 16 bytes of x a thread, with the angles of all pairs in them,
// where heads and addresses allow it.

#include <onepass/rope.h>

namespace onepass {

template <typename E, int kCount>
struct alignas(kCount * sizeof(E)) Packed {
  E at[kCount];
};

/// kPairs neighbouring pairs of one head a thread.
template <int kPairs, typename T>
__global__ void __launch_bounds__(256)
    rotate_packs(T* x, const float* cos, const float* sin, int64_t packs, int heads,
                 int packs_a_head) {
  using Elements = Packed<T, 2 * kPairs>;
  using Angles = Packed<float, kPairs>;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t p = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; p < packs;
       p += step) {
    const int64_t row = p / packs_a_head;  // a head of a token
    const int64_t angle = row / heads * packs_a_head + (p - row * packs_a_head);
    Elements held = reinterpret_cast<const Elements*>(x)[p];
    const Angles c = reinterpret_cast<const Angles*>(cos)[angle];
    const Angles s = reinterpret_cast<const Angles*>(sin)[angle];
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const float re = static_cast<float>(held.at[2 * i]);
      const float im = static_cast<float>(held.at[2 * i + 1]);
      held.at[2 * i] = static_cast<T>(re * c.at[i] - im * s.at[i]);
      held.at[2 * i + 1] = static_cast<T>(re * s.at[i] + im * c.at[i]);
    }
    reinterpret_cast<Elements*>(x)[p] = held;
  }
}

template <typename T>
__global__ void __launch_bounds__(256)
    rotate_pairs(T* x, const float* cos, const float* sin, int64_t pairs, int heads, int half) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t p = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; p < pairs;
       p += step) {
    const int64_t row = p / half;
    const int64_t angle = row / heads * half + (p - row * half);
    const float re = static_cast<float>(x[2 * p]);
    const float im = static_cast<float>(x[2 * p + 1]);
    x[2 * p] = static_cast<T>(re * cos[angle] - im * sin[angle]);
    x[2 * p + 1] = static_cast<T>(re * sin[angle] + im * cos[angle]);
  }
}

template <typename T>
void rope_interleaved(T* x, const float* cos, const float* sin, int tokens, int heads, int head_dim,
                      cudaStream_t stream) {
  if (tokens == 0) {
    return;
  }
  constexpr int kPairs = 8 / sizeof(T);  // in 16 bytes
  const int half = head_dim / 2;
  const int64_t pairs = static_cast<int64_t>(tokens) * heads * half;
  const auto grid = [](int64_t threads) {
    const int64_t blocks = (threads + 255) / 256;
    return static_cast<unsigned>(blocks < (int64_t{1} << 30) ? blocks : int64_t{1} << 30);
  };
  const uintptr_t misaligned = reinterpret_cast<uintptr_t>(x) ^ reinterpret_cast<uintptr_t>(cos) ^
                               reinterpret_cast<uintptr_t>(sin);
  if (half % kPairs == 0 && (misaligned & 15) == 0) {
    const int64_t packs = pairs / kPairs;
    rotate_packs<kPairs, T>
        <<<grid(packs), 256, 0, stream>>>(x, cos, sin, packs, heads, half / kPairs);
  } else {
    rotate_pairs<T><<<grid(pairs), 256, 0, stream>>>(x, cos, sin, pairs, heads, half);
  }
}

}  // namespace onepass
