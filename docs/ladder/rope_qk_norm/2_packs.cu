// QK-norm and RoPE, version 2: packs. A lane moves 16 bytes at a time, 4 where addresses or sizes
// do not allow 16. So a head of 128 elements in 16 bits is 8 lanes' work, and a warp has four
// heads.
//
// Version 1 moves one element at a time. In version 3 a lane has the same piece of four heads.

#include <onepass/rope.h>

namespace onepass {

constexpr int kThreads = 128;  // of a block

/// V neighbouring elements, moved 16 bytes at a time where they are as many.
template <typename T, int V>
struct alignas(V * sizeof(T) < 16 ? V * sizeof(T) : 16) Pack {
  T values[V];
};

/// The sum of `value` over the lanes of a head, in each of them: `lanes` neighbours, a power of
/// two.
__device__ inline float head_sum(float value, int lanes) {
  for (int offset = lanes / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// Where the two packs of couple c of a head lie. The first `turned` couples hold the pairs that
/// are turned; what is behind these follows two by two, so that every pack is in one couple.
struct Couple {
  int first, second;

  __device__ Couple(int c, int turned) : first(c < turned ? c : 2 * c), second(first + 1) {
    if (c < turned) {
      second = c + turned;
    }
  }
};

/// `lanes` threads a head. Lane l has the couples l, l + lanes, ..., kEach of them or less. all:
/// heads of all tokens. half: how many pairs of a head are turned.
template <int kEach, int V, typename T, typename Table, typename Position>
__global__ void __launch_bounds__(kThreads)
    rope_qk_norm_kernel(T* q, int64_t q_stride, T* k, int64_t k_stride, const T* q_weight,
                        const T* k_weight, const Position* positions, const Table* cos,
                        const Table* sin, unsigned all, int q_heads, int k_heads, int head_dim,
                        int half, float eps) {
  using Elements = Pack<T, V>;
  using Angles = Pack<Table, V>;
  const int lane = threadIdx.x;
  const int lanes = blockDim.x;
  const int turned = half / V;
  const unsigned number = blockIdx.x * blockDim.y + threadIdx.y;
  const int couples = number < all ? head_dim / 2 / V : 0;  // none behind the last head
  const int64_t token = number / (q_heads + k_heads);
  const int head = number % (q_heads + k_heads);
  const bool is_q = head < q_heads;
  T* x = is_q ? q + token * q_stride + head * head_dim
              : k + token * k_stride + (head - q_heads) * head_dim;
  auto* packs = reinterpret_cast<Elements*>(x);
  const auto* weights = reinterpret_cast<const Elements*>(is_q ? q_weight : k_weight);

  Elements first[kEach];  // packs of the couples, of those that there are
  Elements second[kEach];
  Elements first_weight[kEach];
  Elements second_weight[kEach];
  Angles cosine[kEach];
  Angles sine[kEach];
  const int64_t row = couples > 0 ? static_cast<int64_t>(positions[token]) * half : 0;
#pragma unroll
  for (int p = 0; p < kEach; ++p) {
    const int c = lane + lanes * p;
    if (c < couples) {
      first[p] = packs[Couple(c, turned).first];
      second[p] = packs[Couple(c, turned).second];
      first_weight[p] = weights[Couple(c, turned).first];
      second_weight[p] = weights[Couple(c, turned).second];
      if (c < turned) {
        cosine[p] = reinterpret_cast<const Angles*>(cos + row)[c];
        sine[p] = reinterpret_cast<const Angles*>(sin + row)[c];
      }
    }
  }

  float squares = 0.0f;
#pragma unroll
  for (int p = 0; p < kEach; ++p) {
    if (lane + lanes * p < couples) {
#pragma unroll
      for (int i = 0; i < V; ++i) {
        const float a = static_cast<float>(first[p].values[i]);
        const float b = static_cast<float>(second[p].values[i]);
        squares += a * a;
        squares += b * b;
      }
    }
  }
  const float rstd = rsqrtf(head_sum(squares, lanes) * (1.0f / head_dim) + eps);
#pragma unroll
  for (int p = 0; p < kEach; ++p) {
    const int c = lane + lanes * p;
    if (c < couples) {
#pragma unroll
      for (int i = 0; i < V; ++i) {
        float a = static_cast<float>(first[p].values[i]) * rstd;
        float b = static_cast<float>(second[p].values[i]) * rstd;
        a *= static_cast<float>(first_weight[p].values[i]);
        b *= static_cast<float>(second_weight[p].values[i]);
        if (c < turned) {
          const float cos_i = static_cast<float>(cosine[p].values[i]);
          const float sin_i = static_cast<float>(sine[p].values[i]);
          const float turn = a * cos_i - b * sin_i;
          b = a * sin_i + b * cos_i;
          a = turn;
        }
        first[p].values[i] = static_cast<T>(a);
        second[p].values[i] = static_cast<T>(b);
      }
      packs[Couple(c, turned).first] = first[p];
      packs[Couple(c, turned).second] = second[p];
    }
  }
}

template <typename T, typename Table, typename Position>
void rope_qk_norm(T* q, int64_t q_stride, T* k, int64_t k_stride, const T* q_weight,
                  const T* k_weight, const Position* positions, const Table* cos, const Table* sin,
                  int tokens, int q_heads, int k_heads, int head_dim, int rotary_dim, float eps,
                  cudaStream_t stream) {
  if (tokens == 0) {
    return;  // a grid of no blocks is a launch error
  }
  const int half = rotary_dim / 2;
  const auto launch = [&](auto kernel, int pack) {
    int lanes = 1;
    while (lanes < 32 && lanes * pack < head_dim / 2) {
      lanes *= 2;
    }
    const unsigned all = tokens * (q_heads + k_heads);
    const dim3 block(lanes, kThreads / lanes);
    kernel<<<(all + block.y - 1) / block.y, block, 0, stream>>>(
        q, q_stride, k, k_stride, q_weight, k_weight, positions, cos, sin, all, q_heads, k_heads,
        head_dim, half, eps);
  };
  // May packs have V elements each, and their angles so many numbers?
  const auto fits = [&](int V) {
    const auto starts = [&](const void* pointer, size_t size) {
      return reinterpret_cast<uintptr_t>(pointer) % (V * size < 16 ? V * size : 16) == 0;
    };
    return half % V == 0 && head_dim % (2 * V) == 0 && q_stride % V == 0 && k_stride % V == 0 &&
           starts(q, sizeof(T)) && starts(k, sizeof(T)) && starts(q_weight, sizeof(T)) &&
           starts(k_weight, sizeof(T)) && starts(cos, sizeof(Table)) && starts(sin, sizeof(Table));
  };
  constexpr int kWide = 16 / sizeof(T);  // elements of 16 bytes, and of 4
  constexpr int kNarrow = 4 / sizeof(T);
  // Couples a lane: as few as hold the head, for each is registers.
  if (fits(kWide) && head_dim > 64 * kWide) {
    launch(rope_qk_norm_kernel<16 / kWide, kWide, T, Table, Position>, kWide);
  } else if (fits(kWide)) {
    launch(rope_qk_norm_kernel<1, kWide, T, Table, Position>, kWide);
  } else if (kNarrow > 1 && fits(kNarrow) && head_dim <= 64 * kNarrow) {
    launch(rope_qk_norm_kernel<1, kNarrow, T, Table, Position>, kNarrow);
  } else if (head_dim <= 128) {
    launch(rope_qk_norm_kernel<2, 1, T, Table, Position>, 1);
  } else if (head_dim <= 256) {
    launch(rope_qk_norm_kernel<4, 1, T, Table, Position>, 1);
  } else {
    launch(rope_qk_norm_kernel<16, 1, T, Table, Position>, 1);
  }
}

}  // namespace onepass
