// Right: a kernel copies dy to dx, and one that begins early turns all pairs of dx in place. It loads
// the angle of its pair meanwhile; the wait, in PTX, stands before the pair is loaded.

#include <onepass/rope.h>

namespace onepass {

template <typename T>
__global__ void copy_kernel(const T* from, T* to, int64_t count) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) {
    to[i] = from[i];
  }
}

template <typename T>
__global__ void turn_kernel(T* x, const float* cos, const float* sin, int64_t pairs, int heads,
                            int half) {
  const int64_t pair = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (pair >= pairs) {
    return;
  }
  const int64_t angle = pair / half / heads * half + pair % half;
  const float c = cos[angle];
  const float s = sin[angle];
  asm volatile("griddepcontrol.wait;" ::: "memory");  // dx is there
  const float a = static_cast<float>(x[2 * pair]);
  const float b = static_cast<float>(x[2 * pair + 1]);
  x[2 * pair] = static_cast<T>(a * c + b * s);
  x[2 * pair + 1] = static_cast<T>(b * c - a * s);
}

template <typename T>
void rope_backward(const T* dy, const float* cos, const float* sin, T* dx, int tokens, int heads,
                   int head_dim, cudaStream_t stream) {
  const int64_t pairs = static_cast<int64_t>(tokens) * heads * (head_dim / 2);
  if (pairs == 0) {
    return;
  }
  if (dx != dy) {
    copy_kernel<<<static_cast<unsigned>((2 * pairs + 255) / 256), 256, 0, stream>>>(dy, dx,
                                                                                   2 * pairs);
  }
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = static_cast<unsigned>((pairs + 255) / 256);
  config.blockDim = 256;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = dx != dy;  // what comes before is otherwise the caller's
  cudaLaunchKernelEx(&config, turn_kernel<T>, dx, cos, sin, pairs, heads, head_dim / 2);
}

}  // namespace onepass
