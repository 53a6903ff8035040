// diagnosis: missing-barrier
// A place of the tables is used again two rows later, and of these one may have been there already,
// with no barrier.
// Exercise 3.3: RoPE, split halves. A block has a token at a time, and brings its row of the tables
// to shared memory, as floats, for all of its heads. There is room for two rows, which take turns, so
// that one barrier a row is enough. Where the place already has the row that a token needs, as where
// sequences of a batch are equally long, nothing is brought.
#include <onepass/rope.h>

namespace onepass {

constexpr int kThreads = 256;
constexpr int kMostPairs = 1024;  // of a row in shared memory

template <typename T, typename Table, typename Position, bool kStaged>
__global__ void __launch_bounds__(kThreads)
    token_kernel(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
                 const Table* cos, const Table* sin, int tokens, int q_heads, int k_heads,
                 int head_dim, int half) {
  __shared__ float2 tables[2][kStaged ? kMostPairs : 1];  // cosine and sine
  int place = 0;
  int64_t there[2] = {-1, -1};  // the positions whose rows these are
  for (int64_t token = blockIdx.x; token < tokens; token += gridDim.x) {
    const int64_t position = positions[token];
    const Table* cos_row = cos + position * half;
    const Table* sin_row = sin + position * half;
    place ^= 1;
    if (kStaged && position != there[place]) {
      there[place] = position;
      for (int i = threadIdx.x; i < half; i += kThreads) {
        tables[place][i] = {static_cast<float>(cos_row[i]), static_cast<float>(sin_row[i])};
      }
      __syncthreads();
    }
    const int heads = q_heads + k_heads;
    const int64_t pairs = static_cast<int64_t>(heads) * half;
    int head = threadIdx.x / half;
    int i = threadIdx.x % half;
    for (int64_t pair = threadIdx.x; pair < pairs; pair += kThreads) {
      T* x = head < q_heads
                 ? q + token * q_stride + static_cast<int64_t>(head) * head_dim
                 : k + token * k_stride + static_cast<int64_t>(head - q_heads) * head_dim;
      const float cosine = kStaged ? tables[place][i].x : static_cast<float>(cos_row[i]);
      const float sine = kStaged ? tables[place][i].y : static_cast<float>(sin_row[i]);
      const float a = static_cast<float>(x[i]);
      const float b = static_cast<float>(x[i + half]);
      x[i] = static_cast<T>(a * cosine - b * sine);
      x[i + half] = static_cast<T>(a * sine + b * cosine);
      head += kThreads / half;
      i += kThreads % half;
      if (i >= half) {
        i -= half;
        ++head;
      }
    }
  }
}

template <typename T, typename Table, typename Position>
void rope_half_split(T* q, int64_t q_stride, T* k, int64_t k_stride, const Position* positions,
                     const Table* cos, const Table* sin, int tokens, int q_heads, int k_heads,
                     int head_dim, int rotary_dim, cudaStream_t stream) {
  if (tokens == 0) {
    return;
  }
  static const int at_once = [] {
    int device = 0, count = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
    return 8 * count;
  }();
  const int half = rotary_dim / 2;
  const auto kernel = half <= kMostPairs ? token_kernel<T, Table, Position, true>
                                         : token_kernel<T, Table, Position, false>;
  kernel<<<tokens < at_once ? tokens : at_once, kThreads, 0, stream>>>(
      q, q_stride, k, k_stride, positions, cos, sin, tokens, q_heads, k_heads, head_dim, half);
}

}  // namespace onepass
