// QK-norm and RoPE, version 3: four heads a lane. They have the same weights and angles, which it
// loads once. It loads all four heads before it stores the first one.
//
// Version 2 has one head a lane, and so has this one where heads are few. Each head is multiplied
// by the weights and then turned. In the last version, solutions/03_rope/qk_norm.cu, weights and
// angles are put together once for all four.

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

/// `lanes` threads for kHeads heads of a token or less, of q or of k: numbers group, group +
/// groups, group + 2 * groups, ... Lane l has of each the couples l, l + lanes, ..., kEach of them
/// or less. all: groups of all tokens. half: how many pairs of a head are turned.
template <int kHeads, int kEach, int V, typename T, typename Table, typename Position>
__global__ void __launch_bounds__(kThreads)
    rope_qk_norm_kernel(T* q, int64_t q_stride, T* k, int64_t k_stride, const T* q_weight,
                        const T* k_weight, const Position* positions, const Table* cos,
                        const Table* sin, unsigned all, int q_heads, int k_heads, int head_dim,
                        int half, float eps) {
  using Elements = Pack<T, V>;
  using Angles = Pack<Table, V>;
  const int lane = threadIdx.x;
  const int lanes = blockDim.x;
  const int couples = head_dim / 2 / V;
  const int turned = half / V;
  const int q_groups = (q_heads + kHeads - 1) / kHeads;
  const int k_groups = (k_heads + kHeads - 1) / kHeads;
  const unsigned number = blockIdx.x * blockDim.y + threadIdx.y;
  const int64_t token = number / (q_groups + k_groups);
  int group = number % (q_groups + k_groups);
  const bool is_q = group < q_groups;
  group -= is_q ? 0 : q_groups;  // its number among q's or k's
  const int groups = is_q ? q_groups : k_groups;
  const int heads = number < all ? (is_q ? q_heads : k_heads) : 0;  // none behind the last token
  T* x = (is_q ? q + token * q_stride : k + token * k_stride) + group * head_dim;  // its first head
  const T* weight = is_q ? q_weight : k_weight;                                    // [head_dim]

  const int64_t step = static_cast<int64_t>(groups) * head_dim;
  Elements first[kHeads][kEach];  // packs of the couples, of those that there are
  Elements second[kHeads][kEach];
#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
    const int head = group + h * groups;
    const auto* packs = reinterpret_cast<const Elements*>(x + h * step);
#pragma unroll
    for (int p = 0; p < kEach; ++p) {
      const int c = lane + lanes * p;
      if (head < heads && c < couples) {
        first[h][p] = packs[Couple(c, turned).first];
        second[h][p] = packs[Couple(c, turned).second];
      }
    }
  }
  int64_t row = 0;  // where the token's row of the tables begins
  if (group < heads) {
    row = static_cast<int64_t>(positions[token]) * half;
  }
  Elements first_weight[kEach];  // what all these heads are multiplied and turned by
  Elements second_weight[kEach];
  Angles cosine[kEach];
  Angles sine[kEach];
#pragma unroll
  for (int p = 0; p < kEach; ++p) {
    const int c = lane + lanes * p;
    if (group < heads && c < couples) {
      const auto* packs = reinterpret_cast<const Elements*>(weight);
      first_weight[p] = packs[Couple(c, turned).first];
      second_weight[p] = packs[Couple(c, turned).second];
    }
    if (group < heads && c < turned) {
      cosine[p] = reinterpret_cast<const Angles*>(cos + row)[c];
      sine[p] = reinterpret_cast<const Angles*>(sin + row)[c];
    }
  }

#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
    const int head = group + h * groups;
    float a[kEach][V];  // the couples' elements
    float b[kEach][V];
#pragma unroll
    for (int p = 0; p < kEach; ++p) {
#pragma unroll
      for (int i = 0; i < V; ++i) {
        a[p][i] = static_cast<float>(first[h][p].values[i]);
        b[p][i] = static_cast<float>(second[h][p].values[i]);
      }
    }
    float squares = 0.0f;
#pragma unroll
    for (int p = 0; p < kEach; ++p) {
      if (lane + lanes * p < couples) {
#pragma unroll
        for (int i = 0; i < V; ++i) {
          squares += a[p][i] * a[p][i];
          squares += b[p][i] * b[p][i];
        }
      }
    }
    const float rstd = rsqrtf(head_sum(squares, lanes) * (1.0f / head_dim) + eps);
#pragma unroll
    for (int p = 0; p < kEach; ++p) {
#pragma unroll
      for (int i = 0; i < V; ++i) {
        a[p][i] *= rstd * static_cast<float>(first_weight[p].values[i]);
        b[p][i] *= rstd * static_cast<float>(second_weight[p].values[i]);
      }
    }
#pragma unroll
    for (int p = 0; p < kEach; ++p) {
      if (lane + lanes * p < turned) {
#pragma unroll
        for (int i = 0; i < V; ++i) {
          const float cos_i = static_cast<float>(cosine[p].values[i]);
          const float sin_i = static_cast<float>(sine[p].values[i]);
          const float turn = a[p][i] * cos_i - b[p][i] * sin_i;
          b[p][i] = a[p][i] * sin_i + b[p][i] * cos_i;
          a[p][i] = turn;
        }
      }
    }
    auto* packs = reinterpret_cast<Elements*>(x + h * step);
#pragma unroll
    for (int p = 0; p < kEach; ++p) {
#pragma unroll
      for (int i = 0; i < V; ++i) {
        first[h][p].values[i] = static_cast<T>(a[p][i]);
        second[h][p].values[i] = static_cast<T>(b[p][i]);
      }
      const int c = lane + lanes * p;
      if (head < heads && c < couples) {
        packs[Couple(c, turned).first] = first[h][p];
        packs[Couple(c, turned).second] = second[h][p];
      }
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
  const auto launch = [&](auto kernel, int heads, int pack) {
    int lanes = 1;
    while (lanes < 32 && lanes * pack < head_dim / 2) {
      lanes *= 2;
    }
    const unsigned groups = (q_heads + heads - 1) / heads + (k_heads + heads - 1) / heads;
    const unsigned all = tokens * groups;
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
  // Heads a thread, and couples a lane: as many as the registers hold. Four heads, if that leaves
  // less than a quarter of the places empty.
  const bool many = q_heads + k_heads >= 3 * ((q_heads + 3) / 4 + (k_heads + 3) / 4);
  if (fits(kWide) && head_dim > 64 * kWide) {
    launch(rope_qk_norm_kernel<2, 16 / kWide, kWide, T, Table, Position>, 2, kWide);
  } else if (fits(kWide) && many) {
    launch(rope_qk_norm_kernel<4, 1, kWide, T, Table, Position>, 4, kWide);
  } else if (fits(kWide)) {
    launch(rope_qk_norm_kernel<1, 1, kWide, T, Table, Position>, 1, kWide);
  } else if (kNarrow > 1 && fits(kNarrow) && head_dim <= 64 * kNarrow) {
    launch(rope_qk_norm_kernel<4, 1, kNarrow, T, Table, Position>, 4, kNarrow);
  } else if (head_dim <= 128) {
    launch(rope_qk_norm_kernel<4, 2, 1, T, Table, Position>, 4, 1);
  } else if (head_dim <= 256) {
    launch(rope_qk_norm_kernel<4, 4, 1, T, Table, Position>, 4, 1);
  } else {
    launch(rope_qk_norm_kernel<1, 16, 1, T, Table, Position>, 1, 1);
  }
}

}  // namespace onepass
