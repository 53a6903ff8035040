// Right: one block a token, whose threads walk over the pairs of all heads.

#include <onepass/rope.h>

namespace onepass {

template <typename T>
__global__ void turn_kernel(const T* x, const float* cos, const float* sin, T* y, int heads,
                            int half) {
  const int64_t token = blockIdx.x;
  const int64_t start = token * heads * half * 2;
  for (int pair = threadIdx.x; pair < heads * half; pair += blockDim.x) {
    const float c = cos[token * half + pair % half];
    const float s = sin[token * half + pair % half];
    const float a = static_cast<float>(x[start + 2 * pair]);
    const float b = static_cast<float>(x[start + 2 * pair + 1]);
    y[start + 2 * pair] = static_cast<T>(fmaf(a, c, -(b * s)));
    y[start + 2 * pair + 1] = static_cast<T>(fmaf(a, s, b * c));
  }
}

template <typename T>
void rope_interleaved(T* x, const float* cos, const float* sin, int tokens, int heads, int head_dim,
                      cudaStream_t stream) {
  if (tokens > 0) {
    turn_kernel<T><<<tokens, 96, 0, stream>>>(x, cos, sin, x, heads, head_dim / 2);
  }
}

}  // namespace onepass
