// Right: one thread a pair, and nothing else.

#include <onepass/rope.h>

namespace onepass {

template <typename T>
__global__ void turn_kernel(const T* x, const float* cos, const float* sin, T* y, int64_t pairs,
                            int heads, int half) {
  const int64_t pair = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (pair < pairs) {
    const int64_t angle = pair / half / heads * half + pair % half;
    const float a = static_cast<float>(x[2 * pair]);
    const float b = static_cast<float>(x[2 * pair + 1]);
    const float s = sin[angle];
    y[2 * pair] = static_cast<T>(a * cos[angle] - b * s);
    y[2 * pair + 1] = static_cast<T>(a * s + b * cos[angle]);
  }
}

template <typename T>
void rope_interleaved(T* x, const float* cos, const float* sin, int tokens, int heads, int head_dim,
                      cudaStream_t stream) {
  const int64_t pairs = static_cast<int64_t>(tokens) * heads * (head_dim / 2);
  if (pairs == 0) {
    return;
  }
  const auto blocks = static_cast<unsigned>((pairs + 127) / 128);
  turn_kernel<T><<<blocks, 128, 0, stream>>>(x, cos, sin, x, pairs, heads, head_dim / 2);
}

}  // namespace onepass
