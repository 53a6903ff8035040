// diagnosis: first-turn-only
// The angle is looked up once, before the grid-stride loop of at most 1024 blocks, as if the
// stride were a multiple of the pairs of all tokens: pairs after the first round of the grid are
// turned by another token's angle.
#include <onepass/rope.h>

namespace onepass {

template <typename T>
__global__ void rope_kernel(T* x, const float* cos, const float* sin, int64_t pairs, int heads, int half) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (first >= pairs) return;
  const int64_t token = first / half / heads;
  const float c = cos[token * half + first % half];
  const float s = sin[token * half + first % half];
  for (int64_t p = first; p < pairs; p += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const float a = static_cast<float>(x[2 * p]);
    const float b = static_cast<float>(x[2 * p + 1]);
    x[2 * p] = static_cast<T>(a * c - b * s);
    x[2 * p + 1] = static_cast<T>(a * s + b * c);
  }
}

template <typename T>
void rope_interleaved(T* x, const float* cos, const float* sin, int tokens, int heads, int head_dim,
                      cudaStream_t stream) {
  if (tokens == 0) return;
  const int64_t pairs = static_cast<int64_t>(tokens) * heads * (head_dim / 2);
  const int64_t blocks = (pairs + 255) / 256;
  rope_kernel<T><<<static_cast<unsigned>(blocks < 1024 ? blocks : 1024), 256, 0, stream>>>(x, cos, sin, pairs, heads, head_dim / 2);
}

}  // namespace onepass
