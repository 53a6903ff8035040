// diagnosis: heads-normalised-together
// not: norm-missing, weights-swapped, rest-not-normalised
// A block a token, which adds up the squares of all heads of q, and then of k.
#include <onepass/rope.h>

namespace onepass {

template <typename T, typename Table, typename Position>
__global__ void kernel(T* x, int64_t stride, const T* weight, const Position* positions,
                       const Table* cos, const Table* sin, int heads, int head_dim, int half,
                       float eps) {
  __shared__ float sums[128];
  const int64_t token = blockIdx.x;
  T* const row = x + token * stride;
  float share = 0.0f;
  for (int i = threadIdx.x; i < heads * head_dim; i += 128) {
    const float value = static_cast<float>(row[i]);
    share += value * value;
  }
  sums[threadIdx.x] = share;
  for (int step = 64; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) {
      sums[threadIdx.x] += sums[threadIdx.x + step];
    }
  }
  __syncthreads();
  const float rstd = rsqrtf(sums[0] / (heads * head_dim) + eps);
  const int64_t angle = static_cast<int64_t>(positions[token]) * half;
  for (int i = threadIdx.x; i < heads * (head_dim / 2); i += 128) {
    const int c = i % (head_dim / 2);
    const int first = c < half ? c : 2 * c;
    const int second = c < half ? c + half : 2 * c + 1;
    T* const head = row + i / (head_dim / 2) * head_dim;
    const float a = static_cast<float>(head[first]) * rstd * static_cast<float>(weight[first]);
    const float b = static_cast<float>(head[second]) * rstd * static_cast<float>(weight[second]);
    const float cosine = c < half ? static_cast<float>(cos[angle + c]) : 1.0f;
    const float sine = c < half ? static_cast<float>(sin[angle + c]) : 0.0f;
    head[first] = static_cast<T>(a * cosine - b * sine);
    head[second] = static_cast<T>(a * sine + b * cosine);
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
  kernel<<<tokens, 128, 0, stream>>>(q, q_stride, q_weight, positions, cos, sin, q_heads, head_dim,
                                     rotary_dim / 2, eps);
  kernel<<<tokens, 128, 0, stream>>>(k, k_stride, k_weight, positions, cos, sin, k_heads, head_dim,
                                     rotary_dim / 2, eps);
}

}  // namespace onepass
