// diagnosis: none
// check: heads of 2 to 258
// says: look for what holds of powers of two only
// lane ^ half is the partner only where half is a power of two.
#include <onepass/rope.h>

namespace onepass {

constexpr int kWarps = 8;
constexpr unsigned kAll = 0xffffffffu;

template <typename T, typename Table, typename Position>
__global__ void warp_kernel(T* q, int64_t q_stride, T* k, int64_t k_stride,
                            const Position* positions, const Table* cos, const Table* sin,
                            int64_t warps, int q_heads, int k_heads, int head_dim, int half) {
  const int lane = threadIdx.x & 31;
  const int64_t warp = static_cast<int64_t>(blockIdx.x) * kWarps + (threadIdx.x >> 5);
  if (warp >= warps) {
    return;  // the whole warp
  }
  const int heads = q_heads + k_heads;
  const int64_t token = warp / heads;
  const int head = static_cast<int>(warp - token * heads);
  T* const x = head < q_heads ? q + token * q_stride + head * head_dim
                              : k + token * k_stride + (head - q_heads) * head_dim;
  const int64_t row = static_cast<int64_t>(positions[token]) * half;

  if (2 * half <= 32) {  // a lane an element: one load and one store of neighbours
    const bool mine = lane < 2 * half;
    const int i = lane < half ? lane : lane - half;
    const float own = mine ? static_cast<float>(x[lane]) : 0.0f;
    const float c = mine ? static_cast<float>(cos[row + i]) : 0.0f;
    const float s = mine ? static_cast<float>(sin[row + i]) : 0.0f;
    const float other = __shfl_xor_sync(kAll, own, half);
    if (mine) {
      x[lane] = static_cast<T>(lane < half ? own * c - other * s : own * c + other * s);
    }
    return;
  }
  for (int i = lane; i < half; i += 32) {
    const float a = static_cast<float>(x[i]);
    const float b = static_cast<float>(x[i + half]);
    const float c = static_cast<float>(cos[row + i]);
    const float s = static_cast<float>(sin[row + i]);
    x[i] = static_cast<T>(a * c - b * s);
    x[i + half] = static_cast<T>(a * s + b * c);
  }
}

template <typename T, typename Table, typename Position>
void rope_half_split(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
                     const Table* cos, const Table* sin, int tokens, int q_heads, int k_heads,
                     int head_dim, int rotary_dim, cudaStream_t stream) {
  const int64_t warps = static_cast<int64_t>(tokens) * (q_heads + k_heads);
  if (warps == 0) {
    return;
  }
  warp_kernel<<<static_cast<unsigned>((warps + kWarps - 1) / kWarps), kWarps * 32, 0, stream>>>(
      q, q_stride, k, k_stride, positions, cos, sin, warps, q_heads, k_heads, head_dim,
      rotary_dim / 2);
}

}  // namespace onepass
