// Right: one thread a pair, in blocks of 1024; fused multiply-adds, the other product rounded than
// in most.

#include <onepass/rope.h>

namespace onepass {

template <typename T>
__global__ void __launch_bounds__(1024)
    turn_back_kernel(const T* dy, const float* cos, const float* sin, T* dx, int64_t pairs,
                     int heads, int half) {
  const int64_t pair = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (pair < pairs) {
    const int64_t angle = pair / half / heads * half + pair % half;
    const float a = static_cast<float>(dy[2 * pair]);
    const float b = static_cast<float>(dy[2 * pair + 1]);
    dx[2 * pair] = static_cast<T>(fmaf(b, sin[angle], a * cos[angle]));
    dx[2 * pair + 1] = static_cast<T>(fmaf(-a, sin[angle], b * cos[angle]));
  }
}

template <typename T>
void rope_backward(const T* dy, const float* cos, const float* sin, T* dx, int tokens, int heads,
                   int head_dim, cudaStream_t stream) {
  const int64_t pairs = static_cast<int64_t>(tokens) * heads * (head_dim / 2);
  if (pairs > 0) {
    turn_back_kernel<<<static_cast<unsigned>((pairs + 1023) / 1024), 1024, 0, stream>>>(
        dy, cos, sin, dx, pairs, heads, head_dim / 2);
  }
}

}  // namespace onepass
