// Right: as many blocks as the pairs need, up to 4,096, which walk over all pairs: only a very large
// tensor has a thread come to a second one.

#include <algorithm>

#include <onepass/rope.h>

namespace onepass {

template <typename T>
__global__ void turn_kernel(const T* x, const float* cos, const float* sin, T* y, int64_t pairs,
                            int heads, int half) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t pair = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; pair < pairs;
       pair += step) {
    const int64_t token = pair / (static_cast<int64_t>(heads) * half);
    const float c = cos[token * half + pair % half];
    const float s = sin[token * half + pair % half];
    const float a = static_cast<float>(x[2 * pair]);
    const float b = static_cast<float>(x[2 * pair + 1]);
    y[2 * pair] = static_cast<T>(a * c + b * s);
    y[2 * pair + 1] = static_cast<T>(b * c - a * s);
  }
}

template <typename T>
void rope_backward(const T* dy, const float* cos, const float* sin, T* dx, int tokens, int heads,
                   int head_dim, cudaStream_t stream) {
  const int64_t pairs = static_cast<int64_t>(tokens) * heads * (head_dim / 2);
  if (pairs > 0) {
    const int64_t blocks = std::min<int64_t>((pairs + 255) / 256, 4096);
    turn_kernel<<<static_cast<unsigned>(blocks), 256, 0, stream>>>(dy, cos, sin, dx, pairs, heads, head_dim / 2);
  }
}

}  // namespace onepass
