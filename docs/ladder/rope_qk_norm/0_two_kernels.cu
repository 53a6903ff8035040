// QK-norm and RoPE, version 0: two kernels, 1.2 and 3.3 plainly. The first one finds rstd of each
// head, a warp a head; the second one multiplies by it and by the weights, and turns, one pair a
// thread. Both load q and k: three tensors pass where two would do.
//
// (Two operators that know nothing of each other move four, for the first one writes the normalised
// heads. So it rounds them, which the contract does not allow. Here rstd alone goes through
// memory.)
//
// In version 1 the heads stay in registers between the two halves.

#include <onepass/rope.h>

namespace onepass {

constexpr int kWarps = 4;      // of a block of the first kernel, which has as many heads
constexpr int kThreads = 256;  // of a block of the second one

/// The sum of `value` over the 32 lanes of a warp, in every lane (exercise 1.1).
__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// A warp a head. heads: of q and k, in all tokens. rstd: [heads].
template <typename T>
__global__ void rstd_kernel(const T* q, int64_t q_stride, const T* k, int64_t k_stride, float* rstd,
                            int64_t heads, int q_heads, int k_heads, int head_dim, float eps) {
  const int64_t number = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.y;
  if (number >= heads) {
    return;  // a whole warp
  }
  const int64_t token = number / (q_heads + k_heads);
  const int64_t head = number % (q_heads + k_heads);
  const T* x = head < q_heads ? q + token * q_stride + head * head_dim
                              : k + token * k_stride + (head - q_heads) * head_dim;
  float squares = 0.0f;
  for (int i = threadIdx.x; i < head_dim; i += 32) {
    const float value = static_cast<float>(x[i]);
    squares += value * value;
  }
  squares = warp_sum(squares);
  if (threadIdx.x == 0) {
    rstd[number] = rsqrtf(squares / head_dim + eps);
  }
}

/// A thread has two elements of a head, a couple: a pair that is turned, or two neighbours behind
/// these. couples: of q and k, in all tokens. half: how many pairs of a head are turned.
template <typename T, typename Table, typename Position>
__global__ void turn_kernel(T* q, int64_t q_stride, T* k, int64_t k_stride, const T* q_weight,
                            const T* k_weight, const float* rstd, const Position* positions,
                            const Table* cos, const Table* sin, int64_t couples, int q_heads,
                            int k_heads, int head_dim, int half) {
  const int64_t couple = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (couple >= couples) {
    return;
  }
  const int c = static_cast<int>(couple % (head_dim / 2));
  const int64_t number = couple / (head_dim / 2);  // of the head
  const int64_t token = number / (q_heads + k_heads);
  const int64_t head = number % (q_heads + k_heads);
  T* x = head < q_heads ? q + token * q_stride + head * head_dim
                        : k + token * k_stride + (head - q_heads) * head_dim;
  const T* weight = head < q_heads ? q_weight : k_weight;

  const int first = c < half ? c : 2 * c;
  const int second = c < half ? c + half : 2 * c + 1;
  float a = static_cast<float>(x[first]) * rstd[number] * static_cast<float>(weight[first]);
  float b = static_cast<float>(x[second]) * rstd[number] * static_cast<float>(weight[second]);
  if (c < half) {
    const int64_t row = static_cast<int64_t>(positions[token]) * half;
    const float cosine = static_cast<float>(cos[row + c]);
    const float sine = static_cast<float>(sin[row + c]);
    const float turned = a * cosine - b * sine;
    b = a * sine + b * cosine;
    a = turned;
  }
  x[first] = static_cast<T>(a);
  x[second] = static_cast<T>(b);
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
  float* rstd = nullptr;
  if (cudaMallocAsync(&rstd, heads * sizeof(float), stream) != cudaSuccess) {
    return;  // the caller finds the error
  }
  rstd_kernel<<<static_cast<unsigned>((heads + kWarps - 1) / kWarps), dim3(32, kWarps), 0,
                stream>>>(q, q_stride, k, k_stride, rstd, heads, q_heads, k_heads, head_dim, eps);
  const int64_t couples = heads * (head_dim / 2);
  turn_kernel<<<static_cast<unsigned>((couples + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      q, q_stride, k, k_stride, q_weight, k_weight, rstd, positions, cos, sin, couples, q_heads,
      k_heads, head_dim, rotary_dim / 2);
  cudaFreeAsync(rstd, stream);
}

}  // namespace onepass
