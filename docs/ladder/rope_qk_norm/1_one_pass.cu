// QK-norm and RoPE, version 1: one pass. A warp has a head, one element a lane at a time, and keeps
// it in registers from the load to the store.
//
// Version 0 has two kernels, which both load q and k. In version 2 a lane moves 16 bytes at a time.

#include <onepass/rope.h>

namespace onepass {

constexpr int kWarps = 4;  // of a block, and its heads

/// The sum of `value` over the 32 lanes of a warp, in every lane (exercise 1.1).
__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// Where the two elements of couple c of a head lie. The first `half` couples are the pairs that
/// are turned; what is behind these follows two by two, so that every element is in one couple.
struct Couple {
  int first, second;

  __device__ Couple(int c, int half) : first(c < half ? c : 2 * c), second(first + 1) {
    if (c < half) {
      second = c + half;
    }
  }
};

/// A warp a head: lane l has its couples l, l + 32, l + 64, ..., kEach of them or less. half: how
/// many of the head's couples are turned. heads: of q and k, in all tokens.
template <int kEach, typename T, typename Table, typename Position>
__global__ void rope_qk_norm_kernel(T* q, int64_t q_stride, T* k, int64_t k_stride,
                                    const T* q_weight, const T* k_weight, const Position* positions,
                                    const Table* cos, const Table* sin, int64_t heads, int q_heads,
                                    int k_heads, int head_dim, int half, float eps) {
  const int64_t number = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.y;
  if (number >= heads) {
    return;  // a whole warp
  }
  const int lane = threadIdx.x;
  const int couples = head_dim / 2;
  const int64_t token = number / (q_heads + k_heads);
  const int64_t head = number % (q_heads + k_heads);
  const bool is_q = head < q_heads;
  T* x = is_q ? q + token * q_stride + head * head_dim
              : k + token * k_stride + (head - q_heads) * head_dim;
  const T* weight = is_q ? q_weight : k_weight;  // [head_dim]

  float a[kEach] = {};  // the couples' elements; zeros behind the last one
  float b[kEach] = {};
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const int c = lane + 32 * e;
    if (c < couples) {
      a[e] = static_cast<float>(x[Couple(c, half).first]);
      b[e] = static_cast<float>(x[Couple(c, half).second]);
    }
  }

  float squares = 0.0f;
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    squares += a[e] * a[e] + b[e] * b[e];
  }
  const float rstd = rsqrtf(warp_sum(squares) / head_dim + eps);
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const int c = lane + 32 * e;
    if (c < couples) {
      a[e] *= rstd * static_cast<float>(weight[Couple(c, half).first]);
      b[e] *= rstd * static_cast<float>(weight[Couple(c, half).second]);
    }
  }

  const int64_t row = static_cast<int64_t>(positions[token]) * half;
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const int c = lane + 32 * e;
    if (c < half) {
      const float cosine = static_cast<float>(cos[row + c]);
      const float sine = static_cast<float>(sin[row + c]);
      const float first = a[e] * cosine - b[e] * sine;
      b[e] = a[e] * sine + b[e] * cosine;
      a[e] = first;
    }
  }

#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const int c = lane + 32 * e;
    if (c < couples) {
      x[Couple(c, half).first] = static_cast<T>(a[e]);
      x[Couple(c, half).second] = static_cast<T>(b[e]);
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
  const int64_t heads = static_cast<int64_t>(tokens) * (q_heads + k_heads);
  const auto launch = [&](auto kernel) {
    const auto blocks = static_cast<unsigned>((heads + kWarps - 1) / kWarps);
    kernel<<<blocks, dim3(32, kWarps), 0, stream>>>(q, q_stride, k, k_stride, q_weight, k_weight,
                                                    positions, cos, sin, heads, q_heads, k_heads,
                                                    head_dim, rotary_dim / 2, eps);
  };
  // Couples a lane: as few as hold the head, for each is registers.
  if (head_dim <= 128) {
    launch(rope_qk_norm_kernel<2, T, Table, Position>);
  } else if (head_dim <= 256) {
    launch(rope_qk_norm_kernel<4, T, Table, Position>);
  } else {
    launch(rope_qk_norm_kernel<16, T, Table, Position>);
  }
}

}  // namespace onepass
