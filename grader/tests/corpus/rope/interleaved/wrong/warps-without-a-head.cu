// diagnosis: no-tail-mask
// says: With tokens = 32 the same call is right
// A warp a head, eight a block: those of the last block that have none go on all the same.
#include <onepass/rope.h>

namespace onepass {

// A warp a head, eight warps a block.
template <typename T>
__global__ void rope_warp_kernel(T* __restrict__ x, const float* __restrict__ cos,
                                 const float* __restrict__ sin, int heads, int head_dim) {
  const int lane = threadIdx.x;
  const int64_t head = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  const int64_t token = head / heads;
  const int half = head_dim / 2;
  T* mine = x + head * head_dim;
  const float* c = cos + token * half;
  const float* s = sin + token * half;
  for (int i = lane; i < half; i += 32) {
    const float re = static_cast<float>(mine[2 * i]);
    const float im = static_cast<float>(mine[2 * i + 1]);
    mine[2 * i] = static_cast<T>(re * c[i] - im * s[i]);
    mine[2 * i + 1] = static_cast<T>(re * s[i] + im * c[i]);
  }
}

template <typename T>
void rope_interleaved(T* x, const float* cos, const float* sin, int tokens, int heads, int head_dim,
                      cudaStream_t stream) {
  if (tokens == 0) return;
  const dim3 block(32, 8);
  const int64_t all = static_cast<int64_t>(tokens) * heads;
  const unsigned grid = static_cast<unsigned>((all + block.y - 1) / block.y);
  rope_warp_kernel<<<grid, block, 0, stream>>>(x, cos, sin, heads, head_dim);
}

}  // namespace onepass
