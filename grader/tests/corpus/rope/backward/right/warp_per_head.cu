// A warp a head, in a loop of at most 2^22 blocks.
#include <onepass/rope.h>

namespace onepass {

/// A warp a head: its lanes have pairs lane, lane + 32, ...
template <typename T>
__global__ void unturn_heads(const T* dy, const float* cos, const float* sin, T* dx,
                             int64_t all_heads, int heads, int half) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.y;
  for (int64_t head = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
       head < all_heads; head += step) {
    const int64_t angles = head / heads * half;
    const int64_t first = head * 2 * half;
    for (int i = threadIdx.x; i < half; i += 32) {
      const float c = cos[angles + i];
      const float s = sin[angles + i];
      const float a = static_cast<float>(dy[first + 2 * i]);
      const float b = static_cast<float>(dy[first + 2 * i + 1]);
      dx[first + 2 * i] = static_cast<T>(a * c + b * s);
      dx[first + 2 * i + 1] = static_cast<T>(b * c - a * s);
    }
  }
}

template <typename T>
void rope_backward(const T* dy, const float* cos, const float* sin, T* dx, int tokens, int heads,
                   int head_dim, cudaStream_t stream) {
  if (tokens == 0) {
    return;
  }
  const int64_t all_heads = static_cast<int64_t>(tokens) * heads;
  const int64_t wanted = (all_heads + 3) / 4;
  const unsigned blocks = wanted < (1 << 22) ? static_cast<unsigned>(wanted) : 1u << 22;
  unturn_heads<<<blocks, dim3(32, 4), 0, stream>>>(dy, cos, sin, dx, all_heads, heads,
                                                   head_dim / 2);
}

}  // namespace onepass
