// diagnosis: no-tail-mask
// says: With rows that all begin at a multiple of 16 bytes the same call is right
// The elements before the first aligned address may be more than the row has.
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int BLOCK = 128;

template <typename T>
__global__ void row_sums(const T* __restrict__ x, int64_t ld, float* __restrict__ out, int n) {
  constexpr int VEC = 16 / sizeof(T);
  const T* p = x + (int64_t)blockIdx.x * ld;
  const int off = (int)(reinterpret_cast<uintptr_t>(p) & 15);
  const int head = off == 0 ? 0 : (16 - off) / (int)sizeof(T);
  const int vecs = n > head ? (n - head) / VEC : 0;

  float acc = 0.f;
  if (threadIdx.x < head) acc += (float)p[threadIdx.x];
  const uint4* v = reinterpret_cast<const uint4*>(p + head);
  for (int i = threadIdx.x; i < vecs; i += BLOCK) {
    const uint4 raw = v[i];
    const T* e = reinterpret_cast<const T*>(&raw);
#pragma unroll
    for (int k = 0; k < VEC; ++k) acc += (float)e[k];
  }
  for (int i = head + vecs * VEC + threadIdx.x; i < n; i += BLOCK) acc += (float)p[i];

  __shared__ float s[BLOCK];
  s[threadIdx.x] = acc;
  __syncthreads();
  for (int h = BLOCK / 2; h > 0; h >>= 1) {
    if (threadIdx.x < h) s[threadIdx.x] += s[threadIdx.x + h];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

template <typename T>
void block_sum(const T* x, int64_t x_stride, float* sums, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) return;
  row_sums<T><<<rows, BLOCK, 0, stream>>>(x, x_stride, sums, cols);
}

}  // namespace onepass
