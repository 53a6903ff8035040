// A warp a head, which waits in shared memory between its two loops: any lane may take any element
// then.
#include <onepass/rope.h>

namespace onepass {

template <typename T, typename Table, typename Position>
__global__ void kernel(T* q, int64_t q_stride, T* k, int64_t k_stride, const T* q_weight,
                       const T* k_weight, const Position* positions, const Table* cos,
                       const Table* sin, int q_heads, int heads, int head_dim, int half, float eps) {
  extern __shared__ float values[];
  const int64_t token = blockIdx.x / heads;
  const int64_t head = blockIdx.x % heads;
  const bool of_q = head < q_heads;
  T* const x = of_q ? q + token * q_stride + head * head_dim
                    : k + token * k_stride + (head - q_heads) * head_dim;
  const T* const weight = of_q ? q_weight : k_weight;
  float squares = 0.0f;
  for (int i = threadIdx.x; i < head_dim; i += 32) {
    const float value = static_cast<float>(x[i]);
    squares += value * value;
    values[i] = value * static_cast<float>(weight[i]);
  }
  for (int step = 1; step < 32; step *= 2) {
    squares += __shfl_xor_sync(0xffffffff, squares, step);
  }
  __syncwarp();
  const float rstd = rsqrtf(squares / head_dim + eps);
  const int64_t row = static_cast<int64_t>(positions[token]) * half;
  for (int i = threadIdx.x; i < head_dim; i += 32) {
    float result = values[i];
    if (i < 2 * half) {
      const float c = static_cast<float>(cos[row + i % half]);
      const float s = static_cast<float>(sin[row + i % half]);
      result = i < half ? values[i] * c - values[i + half] * s : values[i - half] * s + values[i] * c;
    }
    x[i] = static_cast<T>(result * rstd);
  }
}

template <typename T, typename Table, typename Position>
void rope_qk_norm(T* q, int64_t q_stride, T* k, int64_t k_stride, const T* q_weight,
                  const T* k_weight, const Position* positions, const Table* cos, const Table* sin,
                  int tokens, int q_heads, int k_heads, int head_dim, int rotary_dim, float eps,
                  cudaStream_t stream) {
  const int64_t heads = q_heads + k_heads;
  if (tokens > 0) {
    kernel<<<static_cast<unsigned>(tokens * heads), 32, head_dim * sizeof(float), stream>>>(
        q, q_stride, k, k_stride, q_weight, k_weight, positions, cos, sin, q_heads,
        static_cast<int>(heads), head_dim, rotary_dim / 2, eps);
  }
}

}  // namespace onepass
