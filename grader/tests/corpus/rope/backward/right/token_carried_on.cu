// Right: at most 132,096 threads, which divide once only: from pair to pair they carry the token on.

#include <algorithm>

#include <onepass/rope.h>

namespace onepass {

template <typename T>
__global__ void carried_kernel(const T* dy, const float* cos, const float* sin, T* dx, int64_t pairs,
                               int64_t pairs_of_token, int half) {
  const int64_t threads = static_cast<int64_t>(gridDim.x) * blockDim.x;
  int64_t pair = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  int64_t token = pair / pairs_of_token;
  int64_t within = pair % pairs_of_token;  // its token's pairs
  for (; pair < pairs; pair += threads) {
    const int64_t angle = token * half + within % half;
    const float a = static_cast<float>(dy[2 * pair]);
    const float b = static_cast<float>(dy[2 * pair + 1]);
    dx[2 * pair] = static_cast<T>(a * cos[angle] + b * sin[angle]);
    dx[2 * pair + 1] = static_cast<T>(b * cos[angle] - a * sin[angle]);
    token += threads / pairs_of_token;
    within += threads % pairs_of_token;
    if (within >= pairs_of_token) {
      within -= pairs_of_token;
      ++token;
    }
  }
}

template <typename T>
void rope_backward(const T* dy, const float* cos, const float* sin, T* dx, int tokens, int heads,
                   int head_dim, cudaStream_t stream) {
  const int64_t pairs_of_token = static_cast<int64_t>(heads) * (head_dim / 2);
  const int64_t pairs = tokens * pairs_of_token;
  const int64_t blocks = std::min<int64_t>((pairs + 255) / 256, 516);
  if (blocks > 0) {
    carried_kernel<<<static_cast<unsigned>(blocks), 256, 0, stream>>>(dy, cos, sin, dx, pairs,
                                                                      pairs_of_token, head_dim / 2);
  }
}

}  // namespace onepass
