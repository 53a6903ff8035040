// diagnosis: tail-dropped
// not: tree-needs-power-of-two
// A thread has a pair, and the number of warps that are added up is rounded down. Where 33 threads
// have 66 elements, the two that are lost are those that halving 33 would lose.

// Exercise 3.5: a block has a head, a thread two elements of it, in registers.
#include <onepass/rope.h>

namespace onepass {

constexpr int kMostWarps = 1024 / 2 / 32;

template <typename T, typename Table, typename Position>
__global__ void norm_turn_head(T* q, int64_t q_stride, T* k, int64_t k_stride, const T* q_weight,
                               const T* k_weight, const Position* positions, const Table* cos,
                               const Table* sin, int q_heads, int k_heads, int head_dim, int half,
                               float eps) {
  __shared__ float partial[kMostWarps];
  const int heads = q_heads + k_heads;
  const int64_t token = blockIdx.x / heads;
  const int head = blockIdx.x % heads;
  T* x = nullptr;
  const T* weight = nullptr;
  if (head < q_heads) {
    x = q + token * q_stride + head * head_dim;
    weight = q_weight;
  } else {
    x = k + token * k_stride + (head - q_heads) * head_dim;
    weight = k_weight;
  }

  // A pair that is turned, or two neighbours behind these.
  const int i = threadIdx.x;
  const bool exists = i < head_dim / 2;
  const bool turned = i < half;
  const int first = turned ? i : 2 * i;
  const int second = turned ? i + half : 2 * i + 1;
  float a = 0.0f;
  float b = 0.0f;
  if (exists) {
    a = static_cast<float>(x[first]);
    b = static_cast<float>(x[second]);
  }

  float squares = a * a + b * b;
  for (int offset = 16; offset > 0; offset /= 2) {
    squares += __shfl_xor_sync(0xffffffff, squares, offset);
  }
  if (i % 32 == 0) {
    partial[i / 32] = squares;
  }
  __syncthreads();
  const int warps = head_dim > 64 ? head_dim / 64 : 1;
  float sum = 0.0f;
  for (int w = 0; w < warps; ++w) {
    sum += partial[w];
  }
  const float rstd = rsqrtf(sum / head_dim + eps);

  if (exists) {
    a *= rstd * static_cast<float>(weight[first]);
    b *= rstd * static_cast<float>(weight[second]);
    float c = 1.0f;
    float s = 0.0f;
    if (turned) {
      const int64_t angle = static_cast<int64_t>(positions[token]) * half + i;
      c = static_cast<float>(cos[angle]);
      s = static_cast<float>(sin[angle]);
      x[first] = static_cast<T>(a * c - b * s);
      x[second] = static_cast<T>(a * s + b * c);
    } else {
      x[first] = static_cast<T>(a);
      x[second] = static_cast<T>(b);
    }
  }
}

template <typename T, typename Table, typename Position>
void rope_qk_norm(T* q, int64_t q_stride, T* k, int64_t k_stride, const T* q_weight,
                  const T* k_weight, const Position* positions, const Table* cos, const Table* sin,
                  int tokens, int q_heads, int k_heads, int head_dim, int rotary_dim, float eps,
                  cudaStream_t stream) {
  if (tokens == 0) {
    return;
  }
  const int threads = (head_dim / 2 + 31) / 32 * 32;
  norm_turn_head<<<tokens * (q_heads + k_heads), threads, 0, stream>>>(
      q, q_stride, k, k_stride, q_weight, k_weight, positions, cos, sin, q_heads, k_heads, head_dim,
      rotary_dim / 2, eps);
}

}  // namespace onepass
