// A block a head, in a launch for q and another one for k. A thread has up to four couples; the
// shares of the warps meet in shared memory.
#include <onepass/rope.h>

namespace onepass {

template <typename T, typename Table, typename Position>
__global__ void kernel(T* x, int64_t stride, const T* weight, const Position* positions,
                       const Table* cos, const Table* sin, int heads, int head_dim, int half,
                       float eps) {
  __shared__ float shares[4];
  const int64_t token = blockIdx.x / heads;
  T* const head = x + token * stride + static_cast<int64_t>(blockIdx.x % heads) * head_dim;
  float first[4], second[4];
  float squares = 0.0f;
  for (int e = 0; e < 4; ++e) {
    const int c = threadIdx.x + 128 * e;
    first[e] = second[e] = 0.0f;
    if (c < head_dim / 2) {
      first[e] = static_cast<float>(head[c < half ? c : 2 * c]);
      second[e] = static_cast<float>(head[c < half ? c + half : 2 * c + 1]);
    }
    squares = fmaf(first[e], first[e], fmaf(second[e], second[e], squares));
  }
  for (int step = 16; step > 0; step /= 2) {
    squares += __shfl_xor_sync(0xffffffff, squares, step);
  }
  if (threadIdx.x % 32 == 0) {
    shares[threadIdx.x / 32] = squares;
  }
  __syncthreads();
  const float sum = shares[0] + shares[1] + shares[2] + shares[3];
  const float rstd = rsqrtf(sum / head_dim + eps);
  const int64_t row = static_cast<int64_t>(positions[token]) * half;
  for (int e = 0; e < 4; ++e) {
    const int c = threadIdx.x + 128 * e;
    if (c < half) {
      const float a = first[e] * rstd * static_cast<float>(weight[c]);
      const float b = second[e] * rstd * static_cast<float>(weight[c + half]);
      const float cosine = static_cast<float>(cos[row + c]);
      const float sine = static_cast<float>(sin[row + c]);
      head[c] = static_cast<T>(a * cosine - b * sine);
      head[c + half] = static_cast<T>(a * sine + b * cosine);
    } else if (c < head_dim / 2) {
      head[2 * c] = static_cast<T>(first[e] * rstd * static_cast<float>(weight[2 * c]));
      head[2 * c + 1] = static_cast<T>(second[e] * rstd * static_cast<float>(weight[2 * c + 1]));
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
  kernel<<<static_cast<unsigned>(static_cast<int64_t>(tokens) * q_heads), 128, 0, stream>>>(
      q, q_stride, q_weight, positions, cos, sin, q_heads, head_dim, rotary_dim / 2, eps);
  kernel<<<static_cast<unsigned>(static_cast<int64_t>(tokens) * k_heads), 128, 0, stream>>>(
      k, k_stride, k_weight, positions, cos, sin, k_heads, head_dim, rotary_dim / 2, eps);
}

}  // namespace onepass
