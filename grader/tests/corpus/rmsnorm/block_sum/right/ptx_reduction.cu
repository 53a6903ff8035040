// Right: the whole reduction in PTX. Rows are read once and past the first-level cache, 16 bytes at a
// time where they are aligned; the warps meet in shared memory by its 32-bit addresses.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 256;

__device__ inline uint4 load_streaming(const void* p) {
  uint4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p));
  return v;
}

__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    float other;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;"
                 : "=f"(other)
                 : "f"(value), "r"(offset));
    asm("add.f32 %0, %0, %1;" : "+f"(value) : "f"(other));
  }
  return value;
}

template <typename T>
__global__ void block_sum_kernel(const T* x, int64_t x_stride, float* sums, int cols) {
  constexpr int kVector = 16 / sizeof(T);
  __shared__ alignas(16) float partial[kThreads / 32];
  const T* x_row = x + blockIdx.x * x_stride;
  const bool aligned = reinterpret_cast<uintptr_t>(x_row) % 16 == 0;
  const int vectors = aligned ? cols / kVector : 0;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < vectors; i += kThreads) {
    const uint4 raw = load_streaming(x_row + i * kVector);
    const T* values = reinterpret_cast<const T*>(&raw);
    for (int k = 0; k < kVector; ++k) {
      sum += static_cast<float>(values[k]);
    }
  }
  for (int col = vectors * kVector + threadIdx.x; col < cols; col += kThreads) {
    sum += static_cast<float>(x_row[col]);
  }
  sum = warp_sum(sum);
  const uint32_t slots = static_cast<uint32_t>(__cvta_generic_to_shared(partial));
  if (threadIdx.x % 32 == 0) {
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(slots + threadIdx.x / 8), "f"(sum) : "memory");
  }
  asm volatile("bar.sync 0;" ::: "memory");
  if (threadIdx.x == 0) {
    float4 low, high;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(low.x), "=f"(low.y), "=f"(low.z), "=f"(low.w)
                 : "r"(slots));
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4+16];"
                 : "=f"(high.x), "=f"(high.y), "=f"(high.z), "=f"(high.w)
                 : "r"(slots));
    sums[blockIdx.x] = low.x + low.y + low.z + low.w + high.x + high.y + high.z + high.w;
  }
}

template <typename T>
void block_sum(const T* x, int64_t x_stride, float* sums, int rows, int cols, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  block_sum_kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, sums, cols);
}

}  // namespace onepass
