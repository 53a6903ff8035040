// diagnosis: none
// A quotient by a rounded reciprocal, which is corrected where it is too large, and not where it is too
// small: of 41 pairs a token, of 47, of 55 and of some others.
// RoPE, interleaved pairs, in place. Divisions in 64 bits are slow, so a block divides once, for its
// first pair, and its threads only divide small numbers: by a product with the reciprocal.

#include <onepass/rope.h>

namespace onepass {

namespace {

constexpr int kBlock = 256;

/// Quotients by a number that is the same for all threads.
struct Divider {
  unsigned by;
  float reciprocal;

  __device__ unsigned quotient(unsigned n) const {
    unsigned guess = static_cast<unsigned>(static_cast<float>(n) * reciprocal);
    if (static_cast<int64_t>(guess) * by > n) {
      --guess;
    }
    return guess;
  }
};

template <typename T>
__global__ void turn_pairs(T* x, const float* cos, const float* sin, int64_t pairs, int half,
                           Divider per_token) {
  const int64_t jump = static_cast<int64_t>(gridDim.x) * kBlock;
  for (int64_t base = static_cast<int64_t>(blockIdx.x) * kBlock; base < pairs; base += jump) {
    const int64_t pair = base + threadIdx.x;
    if (pair >= pairs) {
      return;
    }
    const int64_t first_token = base / per_token.by;  // of the block's pairs
    const unsigned offset = static_cast<unsigned>(base - first_token * per_token.by) + threadIdx.x;
    const unsigned further = per_token.quotient(offset);  // tokens behind the first one
    const unsigned within = offset - further * per_token.by;
    const int64_t angle = (first_token + further) * half + within % half;
    const float c = cos[angle];
    const float s = sin[angle];
    T* const at = x + 2 * pair;
    const float a = static_cast<float>(at[0]);
    const float b = static_cast<float>(at[1]);
    at[0] = static_cast<T>(a * c - b * s);
    at[1] = static_cast<T>(a * s + b * c);
  }
}

}  // namespace

template <typename T>
void rope_interleaved(T* x, const float* cos, const float* sin, int tokens, int heads, int head_dim,
                      cudaStream_t stream) {
  if (tokens <= 0) {
    return;
  }
  const int half = head_dim / 2;
  const unsigned per_token = static_cast<unsigned>(heads) * half;
  const int64_t pairs = static_cast<int64_t>(tokens) * per_token;
  const int64_t wanted = (pairs + kBlock - 1) / kBlock;
  const unsigned blocks = static_cast<unsigned>(wanted < (1 << 30) ? wanted : (1 << 30));
  turn_pairs<T><<<blocks, kBlock, 0, stream>>>(x, cos, sin, pairs, half,
                                               Divider{per_token, 1.0f / per_token});
}

}  // namespace onepass
