// Right: the only kernel of the call begins early, and finds nothing but its indices before it waits.

#include <initializer_list>

#include <onepass/rope.h>

namespace onepass {

namespace {

constexpr int kThreads = 128;
constexpr int kHeads = 4;

/// `kCount` elements that are moved at once.
template <typename E, int kCount>
struct alignas(kCount * sizeof(E) > 16 ? 16 : kCount * sizeof(E)) Line {
  E at[kCount];
};

template <bool kInterleaved, int kPairs, typename T, typename Table, typename Position>
__global__ void __launch_bounds__(kThreads)
    rope_overlapped(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
                    const Table* cos, const Table* sin, int64_t threads, int q_heads, int k_heads,
                    int head_dim, int half, int groups) {
  using Single = Line<T, kPairs>;
  using Double = Line<T, 2 * kPairs>;
  // Whatever comes behind may set itself up.
  cudaTriggerProgrammaticLaunchCompletion();
  // What is in front on the stream may write q and k.
  cudaGridDependencySynchronize();

  const int64_t n = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const bool busy = n < threads;
  const int pieces = half / kPairs;
  const int64_t row = busy ? n / pieces : 0;
  const int i = busy ? static_cast<int>(n - row * pieces) * kPairs : 0;
  const int64_t token = row / groups;
  const int group = static_cast<int>(row - token * groups);

  T* heads[kHeads];
  T a[kHeads][kPairs], b[kHeads][kPairs];
#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
    const int number = group + h * groups;
    heads[h] = nullptr;
    if (busy && number < q_heads) {
      heads[h] = q + token * q_stride + static_cast<int64_t>(number) * head_dim;
    } else if (busy && number < q_heads + k_heads) {
      heads[h] = k + token * k_stride + static_cast<int64_t>(number - q_heads) * head_dim;
    }
    if (heads[h] == nullptr) {
      continue;
    }
    if constexpr (kPairs == 1) {
      a[h][0] = heads[h][kInterleaved ? 2 * i : i];
      b[h][0] = heads[h][kInterleaved ? 2 * i + 1 : i + half];
    } else if constexpr (kInterleaved) {
      const Double both = *reinterpret_cast<const Double*>(heads[h] + 2 * i);
#pragma unroll
      for (int p = 0; p < kPairs; ++p) {
        a[h][p] = both.at[2 * p];
        b[h][p] = both.at[2 * p + 1];
      }
    } else {
      const Single first = *reinterpret_cast<const Single*>(heads[h] + i);
      const Single second = *reinterpret_cast<const Single*>(heads[h] + i + half);
#pragma unroll
      for (int p = 0; p < kPairs; ++p) {
        a[h][p] = first.at[p];
        b[h][p] = second.at[p];
      }
    }
  }

  if (!busy) {
    return;
  }
  const int64_t angle = static_cast<int64_t>(positions[token]) * half + i;
  const auto c = *reinterpret_cast<const Line<Table, kPairs>*>(cos + angle);
  const auto s = *reinterpret_cast<const Line<Table, kPairs>*>(sin + angle);
#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
    if (heads[h] == nullptr) {
      continue;
    }
#pragma unroll
    for (int p = 0; p < kPairs; ++p) {
      const float x = static_cast<float>(a[h][p]);
      const float y = static_cast<float>(b[h][p]);
      const float cosine = static_cast<float>(c.at[p]);
      const float sine = static_cast<float>(s.at[p]);
      a[h][p] = static_cast<T>(x * cosine - y * sine);
      b[h][p] = static_cast<T>(x * sine + y * cosine);
    }
    if constexpr (kPairs == 1) {
      heads[h][kInterleaved ? 2 * i : i] = a[h][0];
      heads[h][kInterleaved ? 2 * i + 1 : i + half] = b[h][0];
    } else if constexpr (kInterleaved) {
      Double both;
#pragma unroll
      for (int p = 0; p < kPairs; ++p) {
        both.at[2 * p] = a[h][p];
        both.at[2 * p + 1] = b[h][p];
      }
      *reinterpret_cast<Double*>(heads[h] + 2 * i) = both;
    } else {
      Single first, second;
#pragma unroll
      for (int p = 0; p < kPairs; ++p) {
        first.at[p] = a[h][p];
        second.at[p] = b[h][p];
      }
      *reinterpret_cast<Single*>(heads[h] + i) = first;
      *reinterpret_cast<Single*>(heads[h] + i + half) = second;
    }
  }
}

}  // namespace

template <typename T, typename Table, typename Position>
void rope_fast(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
               const Table* cos, const Table* sin, int tokens, int q_heads, int k_heads,
               int head_dim, int rotary_dim, Pairing pairing, cudaStream_t stream) {
  if (tokens == 0) {
    return;
  }
  const int half = rotary_dim / 2;
  const int groups = (q_heads + k_heads + kHeads - 1) / kHeads;
  const auto launch = [&](auto kernel, int pairs) {
    const int64_t threads = static_cast<int64_t>(tokens) * groups * (half / pairs);
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(static_cast<unsigned>((threads + kThreads - 1) / kThreads));
    config.blockDim = dim3(kThreads);
    config.stream = stream;
    config.attrs = &early;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, kernel, q, q_stride, k, k_stride, positions, cos, sin, threads,
                       q_heads, k_heads, head_dim, half, groups);
  };
  constexpr int kWide = 16 / sizeof(T);
  bool wide = q_stride % kWide == 0 && k_stride % kWide == 0 && head_dim % kWide == 0 &&
              half % kWide == 0;
  for (const void* p : {static_cast<const void*>(q), static_cast<const void*>(k),
                        static_cast<const void*>(cos), static_cast<const void*>(sin)}) {
    wide = wide && reinterpret_cast<uintptr_t>(p) % 16 == 0;
  }
  if (pairing == Pairing::interleaved) {
    wide ? launch(rope_overlapped<true, kWide / 2, T, Table, Position>, kWide / 2)
         : launch(rope_overlapped<true, 1, T, Table, Position>, 1);
  } else {
    wide ? launch(rope_overlapped<false, kWide, T, Table, Position>, kWide)
         : launch(rope_overlapped<false, 1, T, Table, Position>, 1);
  }
}

}  // namespace onepass
