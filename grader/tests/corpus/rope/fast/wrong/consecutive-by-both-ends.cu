// diagnosis: consecutive-positions
// Eight positions count as consecutive if the first and the last are as far apart.
// RoPE at the speed of memory: a block takes some tokens, and brings their angles to shared memory,
// once for all heads. In a prompt positions count up, and then the rows of the tables are one piece.
#include <onepass/rope.h>

namespace onepass {

constexpr int kThreads = 256;
constexpr int kMostTokens = 8;       // of a block
constexpr int kMostAngles = 4096;    // of a block

template <typename T, int kCount>
struct alignas(sizeof(T) * kCount) Piece {
  T at[kCount];
};

/// V elements at a time: V interleaved ones are V / 2 pairs, and two times V split ones V pairs.
/// V = 1 stands for elements one by one.
template <Pairing pairing, int V, typename T, typename Table, typename Position>
__global__ void __launch_bounds__(kThreads)
    rope_tokens_kernel(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
                       const Table* cos, const Table* sin, int tokens, int each, int q_heads,
                       int heads, int head_dim, int half) {
  extern __shared__ float shared_angles[];  // cosines: [each, half], and as many sines
  float* const cosines = shared_angles;
  float* const sines = shared_angles + each * half;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * each;
  const int count = tokens - first < each ? static_cast<int>(tokens - first) : each;

  const int64_t start = positions[first];
  const bool in_a_row = positions[first + count - 1] - start == count - 1;
  for (int j = threadIdx.x; j < count * half; j += kThreads) {
    const int64_t from =
        in_a_row ? start * half + j
                 : static_cast<int64_t>(positions[first + j / half]) * half + j % half;
    cosines[j] = static_cast<float>(cos[from]);
    sines[j] = static_cast<float>(sin[from]);
  }
  __syncthreads();

  constexpr int kPairs = V == 1 ? 1 : pairing == Pairing::split ? V : V / 2;
  const int pieces = half / kPairs;
  const int64_t work = static_cast<int64_t>(count) * heads * pieces;
  for (int64_t w = threadIdx.x; w < work; w += kThreads) {
    const int i = static_cast<int>(w % pieces) * kPairs;
    const int64_t line = w / pieces;
    const int head = static_cast<int>(line % heads);
    const int t = static_cast<int>(line / heads);
    T* const x = head < q_heads
                     ? q + (first + t) * q_stride + static_cast<int64_t>(head) * head_dim
                     : k + (first + t) * k_stride + static_cast<int64_t>(head - q_heads) * head_dim;
    const float* c = cosines + t * half + i;
    const float* s = sines + t * half + i;
    if constexpr (V == 1) {
      T* const at_a = x + (pairing == Pairing::split ? i : 2 * i);
      T* const at_b = x + (pairing == Pairing::split ? i + half : 2 * i + 1);
      const float a = static_cast<float>(*at_a);
      const float b = static_cast<float>(*at_b);
      *at_a = static_cast<T>(a * *c - b * *s);
      *at_b = static_cast<T>(a * *s + b * *c);
    } else if constexpr (pairing == Pairing::split) {
      auto* const low = reinterpret_cast<Piece<T, V>*>(x + i);
      auto* const high = reinterpret_cast<Piece<T, V>*>(x + i + half);
      Piece<T, V> as = *low;
      Piece<T, V> bs = *high;
#pragma unroll
      for (int p = 0; p < V; ++p) {
        const float a = static_cast<float>(as.at[p]);
        const float b = static_cast<float>(bs.at[p]);
        as.at[p] = static_cast<T>(a * c[p] - b * s[p]);
        bs.at[p] = static_cast<T>(a * s[p] + b * c[p]);
      }
      *low = as;
      *high = bs;
    } else {
      auto* const at = reinterpret_cast<Piece<T, V>*>(x + 2 * i);
      Piece<T, V> both = *at;
#pragma unroll
      for (int p = 0; p < V / 2; ++p) {
        const float a = static_cast<float>(both.at[2 * p]);
        const float b = static_cast<float>(both.at[2 * p + 1]);
        both.at[2 * p] = static_cast<T>(a * c[p] - b * s[p]);
        both.at[2 * p + 1] = static_cast<T>(a * s[p] + b * c[p]);
      }
      *at = both;
    }
  }
}

template <typename T, typename Table, typename Position>
void rope_fast(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
               const Table* cos, const Table* sin, int tokens, int q_heads, int k_heads,
               int head_dim, int rotary_dim, Pairing pairing, cudaStream_t stream) {
  if (tokens == 0) {
    return;
  }
  constexpr int V = 16 / sizeof(T);
  const int half = rotary_dim / 2;
  const bool wide = reinterpret_cast<uintptr_t>(q) % 16 == 0 &&
                    reinterpret_cast<uintptr_t>(k) % 16 == 0 && q_stride % V == 0 &&
                    k_stride % V == 0 && head_dim % V == 0 && half % V == 0;
  const int room = kMostAngles / half;
  const int each = room < kMostTokens ? room : kMostTokens;
  const int64_t blocks = (static_cast<int64_t>(tokens) + each - 1) / each;
  const auto launch = [&](auto kernel) {
    kernel<<<static_cast<unsigned>(blocks), kThreads, 2 * each * half * sizeof(float), stream>>>(
        q, q_stride, k, k_stride, positions, cos, sin, tokens, each, q_heads, q_heads + k_heads,
        head_dim, half);
  };
  if (pairing == Pairing::split) {
    wide ? launch(rope_tokens_kernel<Pairing::split, V, T, Table, Position>)
         : launch(rope_tokens_kernel<Pairing::split, 1, T, Table, Position>);
  } else {
    wide ? launch(rope_tokens_kernel<Pairing::interleaved, V, T, Table, Position>)
         : launch(rope_tokens_kernel<Pairing::interleaved, 1, T, Table, Position>);
  }
}

}  // namespace onepass
