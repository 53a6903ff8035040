// diagnosis: no-tail-mask
// says: With q_heads = k_heads the same call is right, be it 1, 2 or 40
// The loop over the pairs of k ends at the number of those of q.
#include <onepass/rope.h>

namespace onepass {

// As in vLLM: a block a token, one loop over the pairs of the query, one over those of the key.
template <typename T, typename Table>
__device__ __forceinline__ void apply_rotary(T* arr, const Table* cos_ptr, const Table* sin_ptr,
                                             int rot_offset, int embed_dim) {
  const int x_index = rot_offset;
  const int y_index = embed_dim + rot_offset;
  const float c = static_cast<float>(cos_ptr[rot_offset]);
  const float s = static_cast<float>(sin_ptr[rot_offset]);
  const float x = static_cast<float>(arr[x_index]);
  const float y = static_cast<float>(arr[y_index]);
  arr[x_index] = static_cast<T>(x * c - y * s);
  arr[y_index] = static_cast<T>(y * c + x * s);
}

template <typename T, typename Table, typename Position>
__global__ void rotary_embedding_kernel(T* query, int64_t query_stride, T* key, int64_t key_stride,
                                        const Position* positions, const Table* cos,
                                        const Table* sin, int num_heads, int num_kv_heads,
                                        int head_size, int embed_dim) {
  const int64_t token_idx = blockIdx.x;
  const int64_t pos = positions[token_idx];
  const Table* cos_ptr = cos + pos * embed_dim;
  const Table* sin_ptr = sin + pos * embed_dim;

  const int nq = num_heads * embed_dim;
  for (int i = threadIdx.x; i < nq; i += blockDim.x) {
    T* head = query + token_idx * query_stride + i / embed_dim * head_size;
    apply_rotary(head, cos_ptr, sin_ptr, i % embed_dim, embed_dim);
  }
  for (int i = threadIdx.x; i < nq; i += blockDim.x) {
    T* head = key + token_idx * key_stride + i / embed_dim * head_size;
    apply_rotary(head, cos_ptr, sin_ptr, i % embed_dim, embed_dim);
  }
}

template <typename T, typename Table, typename Position>
void rope_half_split(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
                     const Table* cos, const Table* sin, int tokens, int q_heads, int k_heads,
                     int head_dim, int rotary_dim, cudaStream_t stream) {
  if (tokens == 0) return;
  const int pairs = q_heads * (rotary_dim / 2);
  const int threads = pairs < 512 ? pairs : 512;
  rotary_embedding_kernel<<<tokens, threads, 0, stream>>>(q, q_stride, k, k_stride, positions, cos,
                                                          sin, q_heads, k_heads, head_dim,
                                                          rotary_dim / 2);
}

}  // namespace onepass
