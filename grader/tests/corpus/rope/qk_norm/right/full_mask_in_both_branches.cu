// Right: lanes of q and lanes of k each are in a branch of their own, and execute the same shuffles with the full
// mask. From Volta on it does not matter from where they come.

#include <onepass/rope.h>

namespace onepass {

constexpr int kThreads = 128;
constexpr int kEach = 16;  // couples of a lane, at most

// `lanes` threads of a warp have a head, small heads share a warp.
template <typename T, typename Table>
__device__ inline void norm_and_turn(T* x, const T* weight, const Table* cos_row,
                                     const Table* sin_row, int lanes, int head_dim, int half,
                                     float eps) {
  const int lane = threadIdx.x % lanes;
  const int couples = head_dim / 2;
  float a[kEach], b[kEach];
  float squares = 0.0f;
#pragma unroll
  for (int n = 0; n < kEach; ++n) {
    const int i = lane + n * lanes;
    if (i < couples) {
      a[n] = static_cast<float>(x[i < half ? i : 2 * i]);
      b[n] = static_cast<float>(x[i < half ? i + half : 2 * i + 1]);
      squares += a[n] * a[n] + b[n] * b[n];
    }
  }
  constexpr unsigned mask = 0xffffffff;
  for (int o = lanes / 2; o > 0; o /= 2) {
    squares += __shfl_xor_sync(mask, squares, o);
  }
  const float rstd = rsqrtf(squares / head_dim + eps);
#pragma unroll
  for (int n = 0; n < kEach; ++n) {
    const int i = lane + n * lanes;
    if (i < couples) {
      const int first = i < half ? i : 2 * i;
      const int second = i < half ? i + half : 2 * i + 1;
      const float na = a[n] * rstd * static_cast<float>(weight[first]);
      const float nb = b[n] * rstd * static_cast<float>(weight[second]);
      if (i < half) {
        const float c = static_cast<float>(cos_row[i]);
        const float s = static_cast<float>(sin_row[i]);
        x[first] = static_cast<T>(na * c - nb * s);
        x[second] = static_cast<T>(na * s + nb * c);
      } else {
        x[first] = static_cast<T>(na);
        x[second] = static_cast<T>(nb);
      }
    }
  }
}

template <typename T, typename Table, typename Position>
__global__ void __launch_bounds__(kThreads)
    head_kernel(T* q, int64_t q_stride, T* k, int64_t k_stride, const T* q_weight,
                const T* k_weight, const Position* positions, const Table* cos, const Table* sin,
                int lanes, int64_t all, int q_heads, int k_heads, int head_dim, int half,
                float eps) {
  const int64_t number = static_cast<int64_t>(blockIdx.x) * (kThreads / lanes) +
                         threadIdx.x / lanes;  // of all heads of all tokens
  if (number >= all) return;
  const int64_t token = number / (q_heads + k_heads);
  const int head = static_cast<int>(number % (q_heads + k_heads));
  const int64_t row = static_cast<int64_t>(positions[token]) * half;
  if (head < q_heads) {
    norm_and_turn(q + token * q_stride + head * head_dim, q_weight, cos + row, sin + row, lanes,
                  head_dim, half, eps);
  } else {
    norm_and_turn(k + token * k_stride + (head - q_heads) * head_dim, k_weight, cos + row,
                  sin + row, lanes, head_dim, half, eps);
  }
}

template <typename T, typename Table, typename Position>
void rope_qk_norm(T* q, int64_t q_stride, T* k, int64_t k_stride, const T* q_weight,
                  const T* k_weight, const Position* positions, const Table* cos, const Table* sin,
                  int tokens, int q_heads, int k_heads, int head_dim, int rotary_dim, float eps,
                  cudaStream_t stream) {
  if (tokens == 0) return;
  int lanes = 1;  // of a head: as many as it has couples, up to a warp
  while (lanes < 32 && lanes < head_dim / 2) lanes *= 2;
  const int64_t all = static_cast<int64_t>(tokens) * (q_heads + k_heads);
  const int64_t each = kThreads / lanes;
  head_kernel<<<static_cast<unsigned>((all + each - 1) / each), kThreads, 0, stream>>>(
      q, q_stride, k, k_stride, q_weight, k_weight, positions, cos, sin, lanes, all, q_heads,
      k_heads, head_dim, rotary_dim / 2, eps);
}

}  // namespace onepass
