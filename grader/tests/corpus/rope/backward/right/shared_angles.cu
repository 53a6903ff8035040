// Right: one block a token, which keeps the token's cosines and sines in shared memory.

#include <onepass/rope.h>

namespace onepass {

template <typename T>
__global__ void turn_kernel(const T* x, const float* cos, const float* sin, T* y, int heads,
                            int half) {
  extern __shared__ float angles[];  // cosines, then sines
  const int64_t token = blockIdx.x;
  for (int i = threadIdx.x; i < half; i += blockDim.x) {
    angles[i] = cos[token * half + i];
    angles[half + i] = sin[token * half + i];
  }
  __syncthreads();
  const int64_t start = token * heads * half * 2;
  for (int pair = threadIdx.x; pair < heads * half; pair += blockDim.x) {
    const float c = angles[pair % half];
    const float s = -angles[half + pair % half];
    const float a = static_cast<float>(x[start + 2 * pair]);
    const float b = static_cast<float>(x[start + 2 * pair + 1]);
    y[start + 2 * pair] = static_cast<T>(a * c - b * s);
    y[start + 2 * pair + 1] = static_cast<T>(a * s + b * c);
  }
}

template <typename T>
void rope_backward(const T* dy, const float* cos, const float* sin, T* dx, int tokens, int heads,
                   int head_dim, cudaStream_t stream) {
  if (tokens > 0) {
    turn_kernel<<<tokens, 128, head_dim * sizeof(float), stream>>>(dy, cos, sin, dx, heads,
                                                                   head_dim / 2);
  }
}

}  // namespace onepass
