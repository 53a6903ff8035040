// Exercise 3.1: a thread has one element of the pair, and gets the other one from its neighbour by a
// shuffle. Each place is read and written by its own thread only.
#include <onepass/rope.h>

namespace onepass {

constexpr int kThreads = 256;

template <typename T>
__global__ void __launch_bounds__(kThreads)
    rope_kernel(T* x, const float* cos, const float* sin, int64_t elements, int heads,
                int head_dim) {
  // A pair lies in two neighbouring lanes, for an element's lane is even where its number is.
  const int64_t element = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const bool exists = element < elements;
  const float own = exists ? static_cast<float>(x[element]) : 0.0f;
  const float other = __shfl_xor_sync(0xffffffff, own, 1);  // all lanes are there
  if (!exists) {
    return;
  }
  const int half = head_dim / 2;
  const int64_t pair = element / 2;
  const int64_t angle = pair / half / heads * half + pair % half;
  const float cosine = cos[angle];
  const float sine = sin[angle];
  x[element] = static_cast<T>(element % 2 == 0 ? own * cosine - other * sine
                                               : other * sine + own * cosine);
}

template <typename T>
void rope_interleaved(T* x, const float* cos, const float* sin, int tokens, int heads, int head_dim,
                      cudaStream_t stream) {
  if (tokens == 0) {
    return;
  }
  // More than a grid can have go by several launches, each of whole tokens.
  const int64_t of_token = static_cast<int64_t>(heads) * head_dim;
  const int64_t most_tokens = (int64_t{1} << 31) / of_token * (kThreads / 2) + 1;
  for (int64_t token = 0; token < tokens; token += most_tokens) {
    const int64_t count = (tokens - token < most_tokens ? tokens - token : most_tokens) * of_token;
    const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
    rope_kernel<<<blocks, kThreads, 0, stream>>>(x + token * of_token,
                                                 cos + token * (head_dim / 2),
                                                 sin + token * (head_dim / 2), count, heads,
                                                 head_dim);
  }
}

}  // namespace onepass
