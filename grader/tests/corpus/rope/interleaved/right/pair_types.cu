// Right: a pair is one float2, __half2 or __nv_bfloat162 where x is aligned for it; 2-D blocks, of
// which a row has a token's pairs.

#include <onepass/rope.h>

namespace onepass {

template <typename T>
struct PairOf;
template <>
struct PairOf<float> {
  using Type = float2;
};
template <>
struct PairOf<__half> {
  using Type = __half2;
};
template <>
struct PairOf<__nv_bfloat16> {
  using Type = __nv_bfloat162;
};

__device__ inline float2 widened(float2 pair) {
  return pair;
}
__device__ inline float2 widened(__half2 pair) {
  return __half22float2(pair);
}
__device__ inline float2 widened(__nv_bfloat162 pair) {
  return __bfloat1622float2(pair);
}
__device__ inline void narrow(float2 pair, float2* to) {
  *to = pair;
}
__device__ inline void narrow(float2 pair, __half2* to) {
  *to = __float22half2_rn(pair);
}
__device__ inline void narrow(float2 pair, __nv_bfloat162* to) {
  *to = __float22bfloat162_rn(pair);
}

template <typename T>
__global__ void turn_kernel(T* x, const float* cos, const float* sin, int tokens, int heads,
                            int half, bool aligned) {
  using Pair = typename PairOf<T>::Type;
  const int64_t token = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (token >= tokens) {
    return;
  }
  for (int pair = threadIdx.x; pair < heads * half; pair += blockDim.x) {
    const float c = cos[token * half + pair % half];
    const float s = sin[token * half + pair % half];
    T* const place = x + 2 * (token * heads * half + pair);
    const float2 old =
        aligned ? widened(*reinterpret_cast<const Pair*>(place))
                : make_float2(static_cast<float>(place[0]), static_cast<float>(place[1]));
    const float2 turned = make_float2(fmaf(old.x, c, -old.y * s), fmaf(old.y, c, old.x * s));
    if (aligned) {
      narrow(turned, reinterpret_cast<Pair*>(place));
    } else {
      place[0] = static_cast<T>(turned.x);
      place[1] = static_cast<T>(turned.y);
    }
  }
}

template <typename T>
void rope_interleaved(T* x, const float* cos, const float* sin, int tokens, int heads, int head_dim,
                      cudaStream_t stream) {
  if (tokens > 0) {
    const bool aligned = reinterpret_cast<uintptr_t>(x) % (2 * sizeof(T)) == 0;
    turn_kernel<<<(tokens - 1) / 4 + 1, dim3(64, 4), 0, stream>>>(x, cos, sin, tokens, heads,
                                                                  head_dim / 2, aligned);
  }
}

}  // namespace onepass
