// The naive baseline of chapter 3: the same contract, run the way a framework without fusion runs
// it. Slicing a tensor moves nothing there, it is a view; but every multiplication, every addition
// and the putting together again of the slices is a kernel of its own over the whole tensor, and
// every intermediate result goes out to device memory and comes back. The intermediates are fp32.
//
// Bytes moved per element of the tensor, size bytes each, tables left out:
//   interleaved, backward   four products of half a tensor, 4 (size / 2 + 2); a difference and a
//                           sum, 2 (4 + 2); interleaving, 4 + size: 3 size + 24
//   half_split              rotate_half 2 size; two products 2 (size + 4); their sum 8 + size:
//                           5 size + 16

#include <onepass/rope.h>

namespace onepass {
namespace naive {

constexpr int kThreads = 256;  // threads a block

/// Device memory for `bytes` of intermediates, null when there is not enough. Kept from one call to
/// the next, so that allocating is not part of what is timed.
inline void* scratch(int64_t bytes) {
  static void* memory = nullptr;
  static int64_t capacity = 0;
  if (bytes > capacity) {
    cudaFree(memory);
    memory = nullptr;
    capacity = 0;
    if (cudaMalloc(&memory, static_cast<size_t>(bytes)) == cudaSuccess) {
      capacity = bytes;
    }
  }
  return memory;
}

/// Blocks for one thread an element.
inline unsigned blocks_for(int64_t elements) {
  return static_cast<unsigned>((elements + kThreads - 1) / kThreads);
}

/// This thread's element of the whole tensor.
__device__ inline int64_t element_index() {
  return static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
}

// ---- 3.1 and 3.2 ----

/// products[i] = x[2i + parity] * table[token of i][column of i]: half of x times a table.
template <typename T>
__global__ void slice_times_table_kernel(const T* x, int parity, const float* table,
                                         float* products, int64_t pairs, int heads, int half) {
  const int64_t i = element_index();
  if (i < pairs) {
    const int64_t token = i / half / heads;
    products[i] = static_cast<float>(x[2 * i + parity]) * table[token * half + i % half];
  }
}

/// a[i] = a[i] + sign * b[i].
__global__ void add_kernel(float* a, const float* b, float sign, int64_t count) {
  const int64_t i = element_index();
  if (i < count) {
    a[i] = a[i] + sign * b[i];
  }
}

/// x[2i] = even[i], x[2i + 1] = odd[i].
template <typename T>
__global__ void interleave_kernel(const float* even, const float* odd, T* x, int64_t pairs) {
  const int64_t i = element_index();
  if (i < 2 * pairs) {
    x[i] = static_cast<T>(i % 2 == 0 ? even[i / 2] : odd[i / 2]);
  }
}

/// y = x turned by the tables' angles times `sign`. y may be x.
template <typename T>
void turn(const T* x, const float* cos, const float* sin, float sign, T* y, int tokens, int heads,
          int half, cudaStream_t stream) {
  const int64_t pairs = static_cast<int64_t>(tokens) * heads * half;
  auto* even = static_cast<float*>(scratch(4 * pairs * static_cast<int64_t>(sizeof(float))));
  if (pairs == 0 || even == nullptr) {
    return;
  }
  float* odd_sin = even + pairs;  // each [tokens, heads, half]
  float* odd = even + 2 * pairs;
  float* even_sin = even + 3 * pairs;
  const unsigned blocks = blocks_for(pairs);
  slice_times_table_kernel<<<blocks, kThreads, 0, stream>>>(x, 0, cos, even, pairs, heads, half);
  slice_times_table_kernel<<<blocks, kThreads, 0, stream>>>(x, 1, sin, odd_sin, pairs, heads, half);
  slice_times_table_kernel<<<blocks, kThreads, 0, stream>>>(x, 1, cos, odd, pairs, heads, half);
  slice_times_table_kernel<<<blocks, kThreads, 0, stream>>>(x, 0, sin, even_sin, pairs, heads,
                                                            half);
  add_kernel<<<blocks, kThreads, 0, stream>>>(even, odd_sin, -sign, pairs);
  add_kernel<<<blocks, kThreads, 0, stream>>>(odd, even_sin, sign, pairs);
  interleave_kernel<<<blocks_for(2 * pairs), kThreads, 0, stream>>>(even, odd, y, pairs);
}

// ---- 3.3 ----

/// Where the elements of q or k are that are turned.
struct Rotary {
  int64_t stride;  // from token to token
  int heads, head_dim, half;
  int64_t count;  // tokens * heads * 2 * half

  __device__ int64_t token(int64_t i) const { return i / (2 * half) / heads; }
  __device__ int64_t position(int64_t i) const {
    return token(i) * stride + i / (2 * half) % heads * head_dim + i % (2 * half);
  }
};

/// turned = (-second half, first half) of each head.
template <typename T>
__global__ void rotate_half_kernel(const T* x, Rotary rotary, T* turned) {
  const int64_t i = element_index();
  if (i < rotary.count) {
    const bool first = i % (2 * rotary.half) < rotary.half;
    const float partner =
        static_cast<float>(x[rotary.position(i) + (first ? rotary.half : -rotary.half)]);
    turned[i] = static_cast<T>(first ? -partner : partner);
  }
}

/// gathered[t] = table[positions[t]], in fp32, each row twice in a row: for both halves.
template <typename Table, typename Position>
__global__ void gather_kernel(const Table* table, const Position* positions, float* gathered,
                              int tokens, int half) {
  const int64_t i = element_index();
  if (i < static_cast<int64_t>(tokens) * 2 * half) {
    const int64_t row = positions[i / (2 * half)];
    gathered[i] = static_cast<float>(table[row * half + i % half]);
  }
}

/// products[i] = x's element i * angles[token of i][column of i].
template <typename T>
__global__ void times_table_kernel(const T* x, Rotary rotary, const float* angles,
                                   float* products) {
  const int64_t i = element_index();
  if (i < rotary.count) {
    const int width = 2 * rotary.half;
    products[i] =
        static_cast<float>(x[rotary.position(i)]) * angles[rotary.token(i) * width + i % width];
  }
}

/// x's element i = a[i] + b[i].
template <typename T>
__global__ void sum_kernel(const float* a, const float* b, T* x, Rotary rotary) {
  const int64_t i = element_index();
  if (i < rotary.count) {
    x[rotary.position(i)] = static_cast<T>(a[i] + b[i]);
  }
}

/// x * cos + rotate_half(x) * sin. work: 2 * count floats, and room for count T behind them.
template <typename T>
void turn_split(T* x, Rotary rotary, const float* cos, const float* sin, float* work,
                cudaStream_t stream) {
  float* with_cos = work;
  float* with_sin = work + rotary.count;
  T* rotated = reinterpret_cast<T*>(work + 2 * rotary.count);
  const Rotary dense = {static_cast<int64_t>(rotary.heads) * 2 * rotary.half, rotary.heads,
                        2 * rotary.half, rotary.half, rotary.count};
  const unsigned blocks = blocks_for(rotary.count);
  rotate_half_kernel<<<blocks, kThreads, 0, stream>>>(x, rotary, rotated);
  times_table_kernel<<<blocks, kThreads, 0, stream>>>(x, rotary, cos, with_cos);
  times_table_kernel<<<blocks, kThreads, 0, stream>>>(rotated, dense, sin, with_sin);
  sum_kernel<<<blocks, kThreads, 0, stream>>>(with_cos, with_sin, x, rotary);
}

}  // namespace naive

template <typename T>
void rope_interleaved(T* x, const float* cos, const float* sin, int tokens, int heads, int head_dim,
                      cudaStream_t stream) {
  naive::turn(x, cos, sin, 1.0f, x, tokens, heads, head_dim / 2, stream);
}

template <typename T>
void rope_backward(const T* dy, const float* cos, const float* sin, T* dx, int tokens, int heads,
                   int head_dim, cudaStream_t stream) {
  naive::turn(dy, cos, sin, -1.0f, dx, tokens, heads, head_dim / 2, stream);
}

template <typename T, typename Table, typename Position>
void rope_half_split(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
                     const Table* cos, const Table* sin, int tokens, int q_heads, int k_heads,
                     int head_dim, int rotary_dim, cudaStream_t stream) {
  using namespace naive;
  const int half = rotary_dim / 2;
  const int64_t angles = static_cast<int64_t>(tokens) * rotary_dim;
  const int most_heads = q_heads > k_heads ? q_heads : k_heads;
  auto* memory = static_cast<float*>(
      scratch((2 * angles + 3 * angles * most_heads) * static_cast<int64_t>(sizeof(float))));
  if (tokens == 0 || memory == nullptr) {
    return;
  }
  float* cosines = memory;  // [tokens, rotary_dim]
  float* sines = memory + angles;
  float* work = memory + 2 * angles;
  const unsigned blocks = blocks_for(angles);
  gather_kernel<<<blocks, kThreads, 0, stream>>>(cos, positions, cosines, tokens, half);
  gather_kernel<<<blocks, kThreads, 0, stream>>>(sin, positions, sines, tokens, half);
  turn_split(q, Rotary{q_stride, q_heads, head_dim, half, angles * q_heads}, cosines, sines, work,
             stream);
  turn_split(k, Rotary{k_stride, k_heads, head_dim, half, angles * k_heads}, cosines, sines, work,
             stream);
}

}  // namespace onepass
