// diagnosis: half-accumulation
// says: of squares that are rounded
// value * value is a product of two T.
#include <cooperative_groups.h>
#include <onepass/rope.h>

namespace onepass {

namespace cg = cooperative_groups;

constexpr int kWarps = 4;          // of a block
constexpr int kMostColumns = 1024;  // of a head

/// A warp a head. It keeps the head in shared memory, in fp32, where partners find each other.
template <typename T, typename Table, typename Position>
__global__ void __launch_bounds__(32 * kWarps)
    norm_and_turn(T* q, int64_t q_stride, T* k, int64_t k_stride, const T* q_weight,
                  const T* k_weight, const Position* positions, const Table* cos, const Table* sin,
                  int64_t all, int q_heads, int heads, int head_dim, int half, float eps) {
  __shared__ float kept[kWarps][kMostColumns];
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const int64_t number = static_cast<int64_t>(blockIdx.x) * kWarps + warp.meta_group_rank();
  if (number >= all) {
    return;  // the whole warp
  }
  float* row = kept[warp.meta_group_rank()];
  const int lane = warp.thread_rank();
  const int64_t token = number / heads;
  const int head = static_cast<int>(number - token * heads);
  T* x = head < q_heads ? q + token * q_stride + head * head_dim
                        : k + token * k_stride + (head - q_heads) * head_dim;
  const T* weight = head < q_heads ? q_weight : k_weight;

  float squares = 0.0f;
  for (int c = lane; c < head_dim; c += 32) {
    const T value = x[c];
    squares += static_cast<float>(value * value);
    row[c] = static_cast<float>(value) * static_cast<float>(weight[c]);
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    squares += warp.shfl_xor(squares, offset);
  }
  const float rstd = rsqrtf(squares / static_cast<float>(head_dim) + eps);
  warp.sync();  // what the other lanes keep is there

  const int64_t angle = static_cast<int64_t>(positions[token]) * half;
  for (int i = lane; i < half; i += 32) {
    const float a = row[i] * rstd;
    const float b = row[i + half] * rstd;
    const float c = static_cast<float>(cos[angle + i]);
    const float s = static_cast<float>(sin[angle + i]);
    x[i] = static_cast<T>(a * c - b * s);
    x[i + half] = static_cast<T>(a * s + b * c);
  }
  for (int c = 2 * half + lane; c < head_dim; c += 32) {
    x[c] = static_cast<T>(row[c] * rstd);
  }
}

template <typename T, typename Table, typename Position>
void rope_qk_norm(T* q, int64_t q_stride, T* k, int64_t k_stride, const T* q_weight,
                  const T* k_weight, const Position* positions, const Table* cos, const Table* sin,
                  int tokens, int q_heads, int k_heads, int head_dim, int rotary_dim, float eps,
                  cudaStream_t stream) {
  if (tokens == 0) {
    return;
  }
  const int heads = q_heads + k_heads;
  const int64_t all = static_cast<int64_t>(tokens) * heads;
  norm_and_turn<<<static_cast<unsigned>((all + kWarps - 1) / kWarps), 32 * kWarps, 0, stream>>>(
      q, q_stride, k, k_stride, q_weight, k_weight, positions, cos, sin, all, q_heads, heads,
      head_dim, rotary_dim / 2, eps);
}

}  // namespace onepass
