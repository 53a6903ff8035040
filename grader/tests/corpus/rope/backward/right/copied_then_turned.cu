// Right: the runtime copies dy to dx, where all pairs are turned in place.

#include <onepass/rope.h>

namespace onepass {

template <typename T>
__global__ void turn_kernel(T* x, const float* cos, const float* sin, int64_t pairs, int heads,
                            int half) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t pair = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; pair < pairs;
       pair += step) {
    const int64_t angle = pair / half / heads * half + pair % half;
    const float a = static_cast<float>(x[2 * pair]);
    const float b = static_cast<float>(x[2 * pair + 1]);
    x[2 * pair] = static_cast<T>(a * cos[angle] + b * sin[angle]);
    x[2 * pair + 1] = static_cast<T>(b * cos[angle] - a * sin[angle]);
  }
}

template <typename T>
void rope_backward(const T* dy, const float* cos, const float* sin, T* dx, int tokens, int heads,
                   int head_dim, cudaStream_t stream) {
  const int64_t pairs = static_cast<int64_t>(tokens) * heads * (head_dim / 2);
  if (pairs == 0) {
    return;
  }
  if (dx != dy) {
    cudaMemcpyAsync(dx, dy, 2 * pairs * sizeof(T), cudaMemcpyDeviceToDevice, stream);
  }
  const int64_t blocks = (pairs + 255) / 256;
  turn_kernel<<<static_cast<unsigned>(blocks < 4096 ? blocks : 4096), 256, 0, stream>>>(
      dx, cos, sin, pairs, heads, head_dim / 2);
}

}  // namespace onepass
