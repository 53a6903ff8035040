// Right: a row of up to 64 KB waits in shared memory between the two walks; wider ones are read
// twice. 16 bytes at a time where the rows are aligned, one element at a time where they are not.

#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 256;
constexpr int kMostShared = 64 * 1024;

template <typename T, int V>
struct alignas(sizeof(T) * V) Vector {
  T values[V];
};

template <typename T, int V, bool kKept>
__global__ void forward_kernel(const T* x, int64_t x_stride, const T* weight, T* y,
                               int64_t y_stride, float* rstd, int cols, float eps) {
  using Unit = Vector<T, V>;
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ float slots[kThreads / 32];
  Unit* kept = reinterpret_cast<Unit*>(memory);
  const int64_t row = blockIdx.x;
  const Unit* source = reinterpret_cast<const Unit*>(x + row * x_stride);
  const Unit* weights = reinterpret_cast<const Unit*>(weight);
  Unit* target = reinterpret_cast<Unit*>(y + row * y_stride);
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols / V; i += kThreads) {
    const Unit unit = source[i];
    for (int j = 0; j < V; ++j) {
      sum = fmaf(static_cast<float>(unit.values[j]), static_cast<float>(unit.values[j]), sum);
    }
    if (kKept) {
      kept[i] = unit;
    }
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  }
  if (threadIdx.x % 32 == 0) {
    slots[threadIdx.x / 32] = sum;
  }
  __syncthreads();
  sum = 0.0f;
  for (int warp = 0; warp < kThreads / 32; ++warp) {
    sum += slots[warp];
  }
  const float scale = 1.0f / sqrtf(sum / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = scale;
  }
  for (int i = threadIdx.x; i < cols / V; i += kThreads) {
    const Unit unit = kKept ? kept[i] : source[i];
    Unit result;
    for (int j = 0; j < V; ++j) {
      result.values[j] = static_cast<T>(static_cast<float>(unit.values[j]) * scale *
                                        (weight ? static_cast<float>(weights[i].values[j]) : 1.0f));
    }
    target[i] = result;
  }
}

template <typename T, int V>
void launch(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride, float* rstd,
            int rows, int cols, float eps, cudaStream_t stream) {
  const int bytes = cols * static_cast<int>(sizeof(T));
  if (bytes <= kMostShared) {
    [[maybe_unused]] static const cudaError_t once =  // for all calls
        cudaFuncSetAttribute(forward_kernel<T, V, true>,
                             cudaFuncAttributeMaxDynamicSharedMemorySize, kMostShared);
    forward_kernel<T, V, true>
        <<<rows, kThreads, bytes, stream>>>(x, x_stride, weight, y, y_stride, rstd, cols, eps);
  } else {
    forward_kernel<T, V, false>
        <<<rows, kThreads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, cols, eps);
  }
}

template <typename T>
void rmsnorm_forward_fast(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                          float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  constexpr int V = 16 / sizeof(T);
  if (rows == 0) {
    return;
  }
  const uintptr_t addresses = reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y) |
                              reinterpret_cast<uintptr_t>(weight);
  if (addresses % 16 == 0 && x_stride % V == 0 && y_stride % V == 0 && cols % V == 0) {
    launch<T, V>(x, x_stride, weight, y, y_stride, rstd, rows, cols, eps, stream);
  } else {
    launch<T, 1>(x, x_stride, weight, y, y_stride, rstd, rows, cols, eps, stream);
  }
}

}  // namespace onepass
