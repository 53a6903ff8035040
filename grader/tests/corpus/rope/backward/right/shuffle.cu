// Right: one thread an element, which gets its partner from the neighbouring lane.

#include <onepass/rope.h>

namespace onepass {

template <typename T>
__global__ void turn_kernel(const T* x, const float* cos, const float* sin, T* y, int64_t elements,
                            int heads, int half) {
  const int64_t element = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const bool exists = element < elements;
  const float own = exists ? static_cast<float>(x[element]) : 0.0f;
  const float partner = __shfl_xor_sync(0xffffffffu, own, 1);
  if (exists) {
    const int64_t pair = element / 2;
    const int64_t angle = pair / half / heads * half + pair % half;
    const float s = -sin[angle];
    y[element] = static_cast<T>(own * cos[angle] + (element % 2 == 0 ? -s : s) * partner);
  }
}

template <typename T>
void rope_backward(const T* dy, const float* cos, const float* sin, T* dx, int tokens, int heads,
                   int head_dim, cudaStream_t stream) {
  const int64_t elements = static_cast<int64_t>(tokens) * heads * head_dim;
  if (elements == 0) {
    return;
  }
  const auto blocks = static_cast<unsigned>((elements + 255) / 256);
  turn_kernel<<<blocks, 256, 0, stream>>>(dy, cos, sin, dx, elements, heads, head_dim / 2);
}

}  // namespace onepass
