// diagnosis: loaded-twice
// Of one head of q and seven of k, say, the angles are loaded three times.
// Exercise 3.4: a thread has a piece, 16 bytes of either half, of six heads of q, or of six of k,
// whose angles it loads once. A token with four heads or less in all has one such thread for both.
#include <onepass/rope.h>

namespace onepass {

constexpr int kThreads = 128;
constexpr int kHeads = 6;
constexpr int kFew = 4;  // so many heads are shared by q and k

/// kCount neighbouring elements, moved 16 bytes at a time where they are so many.
template <typename T, int kCount>
struct alignas(kCount * sizeof(T) < 16 ? kCount * sizeof(T) : 16) Run {
  T values[kCount];
};

/// Turns kPairs pairs of the head x in registers. The first run has the first elements, or if
/// interleaved the first pairs.
template <Pairing pairing, int kPairs, typename T>
__device__ inline void turn(Run<T, kPairs> (&runs)[2], const float (&cosine)[kPairs],
                            const float (&sine)[kPairs]) {
#pragma unroll
  for (int p = 0; p < kPairs; ++p) {
    constexpr bool kSplit = pairing == Pairing::split;
    T& first = kSplit ? runs[0].values[p] : runs[2 * p / kPairs].values[2 * p % kPairs];
    T& second = kSplit ? runs[1].values[p] : runs[(2 * p + 1) / kPairs].values[(2 * p + 1) % kPairs];
    const float a = static_cast<float>(first);
    const float b = static_cast<float>(second);
    first = static_cast<T>(a * cosine[p] - b * sine[p]);
    second = static_cast<T>(a * sine[p] + b * cosine[p]);
  }
}

/// So many angles, as floats.
template <int kPairs, typename Table>
__device__ inline void load_angles(float (&angles)[kPairs], const Table* from) {
  const auto run = *reinterpret_cast<const Run<Table, kPairs>*>(from);
#pragma unroll
  for (int p = 0; p < kPairs; ++p) {
    angles[p] = static_cast<float>(run.values[p]);
  }
}

template <Pairing pairing, int kPairs, typename T, typename Table, typename Position>
__global__ void __launch_bounds__(kThreads)
    rope_kernel(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
                const Table* cos, const Table* sin, int64_t threads, int q_heads, int k_heads,
                int head_dim, int half, int q_groups, int groups) {
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (thread >= threads) {
    return;
  }
  const int pieces = half / kPairs;
  const int i = static_cast<int>(thread % pieces) * kPairs;
  const int group = static_cast<int>(thread / pieces % groups);
  const int64_t token = thread / pieces / groups;
  const int64_t row = static_cast<int64_t>(positions[token]) * half;
  T* heads[kHeads];
#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
    int head = h;  // of q, and behind them of k
    bool exists = head < q_heads + k_heads;
    if (groups > 1) {
      const bool is_q = group < q_groups;
      const int number = (is_q ? group : group - q_groups) * kHeads + h;
      exists = number < (is_q ? q_heads : k_heads);
      head = is_q ? number : q_heads + number;
    }
    heads[h] = !exists           ? nullptr
               : head < q_heads ? q + token * q_stride + static_cast<int64_t>(head) * head_dim
                                : k + token * k_stride +
                                      static_cast<int64_t>(head - q_heads) * head_dim;
  }
  // Where the second run of a piece lies.
  const int first = pairing == Pairing::split ? i : 2 * i;
  const int next = pairing == Pairing::split ? half : kPairs;
  Run<T, kPairs> runs[kHeads][2];
#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
    if (heads[h] != nullptr) {
      runs[h][0] = *reinterpret_cast<const Run<T, kPairs>*>(heads[h] + first);
      runs[h][1] = *reinterpret_cast<const Run<T, kPairs>*>(heads[h] + first + next);
    }
  }
  float cosine[kPairs];
  float sine[kPairs];
  load_angles(cosine, cos + row + i);
  load_angles(sine, sin + row + i);
#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
    if (heads[h] != nullptr) {
      turn<pairing>(runs[h], cosine, sine);
      *reinterpret_cast<Run<T, kPairs>*>(heads[h] + first) = runs[h][0];
      *reinterpret_cast<Run<T, kPairs>*>(heads[h] + first + next) = runs[h][1];
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
  const int half = rotary_dim / 2;
  constexpr int V = 16 / sizeof(T);
  const auto starts = [](const void* pointer) {
    return reinterpret_cast<uintptr_t>(pointer) % 16 == 0;
  };
  const bool aligned = starts(q) && starts(k) && starts(cos) && starts(sin) && q_stride % V == 0 &&
                       k_stride % V == 0 && head_dim % V == 0 && half % V == 0;
  const int q_groups = (q_heads + kHeads - 1) / kHeads;
  const int groups = q_heads + k_heads <= kFew ? 1 : q_groups + (k_heads + kHeads - 1) / kHeads;
  const auto launch = [&](auto kernel, int pairs) {
    const int64_t threads = static_cast<int64_t>(tokens) * groups * (half / pairs);
    const auto blocks = static_cast<unsigned>((threads + kThreads - 1) / kThreads);
    kernel<<<blocks, kThreads, 0, stream>>>(q, q_stride, k, k_stride, positions, cos, sin, threads,
                                            q_heads, k_heads, head_dim, half, q_groups, groups);
  };
  if (pairing == Pairing::split) {
    aligned ? launch(rope_kernel<Pairing::split, V, T, Table, Position>, V)
            : launch(rope_kernel<Pairing::split, 1, T, Table, Position>, 1);
  } else {
    aligned ? launch(rope_kernel<Pairing::interleaved, V, T, Table, Position>, V)
            : launch(rope_kernel<Pairing::interleaved, 1, T, Table, Position>, 1);
  }
}

}  // namespace onepass
