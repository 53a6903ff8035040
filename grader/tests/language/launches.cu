// Launches, qualifiers and the runtime library, as nvcc takes them too.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>

extern __shared__ __align__(16) unsigned char block_bytes[];
__constant__ float table[4];
__device__ int counter;

namespace ns {
__global__ void k(int* x, int n) { x[threadIdx.x] = n; }
}  // namespace ns

struct Parameters {
  const float* x;
  int n;
};

template <typename T, int kWidth>
__global__ void __launch_bounds__(256) deduced(T* __restrict__ x, const T* y, int64_t n) {
  __shared__ T tile[kWidth];
  __shared__ __align__(16) float aligned[32];
  static __shared__ int flag;
  if (threadIdx.x == 0) flag = 1;
  tile[threadIdx.x % kWidth] = y[threadIdx.x];
  aligned[threadIdx.x % 32] = table[0];
  __syncthreads();
  if (static_cast<int64_t>(threadIdx.x) < n) x[threadIdx.x] = tile[0] + T(aligned[0]) + T(flag);
}

__device__ alignas(16) float constants[4];
__device__ [[nodiscard]] float constant(int i) { return constants[i]; }
template <typename T>
__global__ void attributes(T* y) {
  __shared__ alignas(16) T tile[32];
  __shared__ [[maybe_unused]] alignas(T) T other;
  __shared__ union { int bits; float value; } word;
  const uint3 gridDim = {4, 1, 1};  // as any name, it may be another one's
  if (threadIdx.x == 0) word.bits = 3;
  tile[threadIdx.x % 32] = T(constant(word.bits + static_cast<int>(gridDim.x)));
  __syncthreads();
  y[threadIdx.x] = tile[threadIdx.x / 32];
}

template <typename T>
__global__ void dynamic(T* y, const __grid_constant__ Parameters parameters) {
  extern __shared__ float4 quads[];
  T* values = reinterpret_cast<T*>(quads);
  values[threadIdx.x] = T(parameters.n);
  __syncthreads();
  y[threadIdx.x] = values[blockDim.x - 1 - threadIdx.x];
}

__global__ void at_namespace_scope(float* y) {
  float* values = reinterpret_cast<float*>(block_bytes);
  values[threadIdx.x] = 1.0f;
  y[threadIdx.x] = values[threadIdx.x];
  atomicAdd(&counter, 1);
  if (y[0] < 0.0f) printf("block %d of %d\n", blockIdx.x, gridDim.x);
}

template <typename F>
__global__ void apply(F f, float* x) {
  x[threadIdx.x] = f(x[threadIdx.x]);
}
struct Doubled {
  __host__ __device__ float operator()(float x) const { return 2 * x; }
};

#define LAUNCH(kernel, ...) kernel \
  <<<1, 32>>>(__VA_ARGS__)

template <typename T>
void launch_all(T* x, const T* y, float* f, int* i, cudaStream_t stream) {
  deduced<T, (3 > 2) ? 32 : 4><<<dim3(1, 1), 32, 0, stream>>>(x, y, 32);
  ns::k<<<1, {32, 1}>>>(i, 3);
  void (*pointer)(int*, int) = ns::k;
  pointer<<<
      1,  // one block
      32
  >>>(i, NULL == i ? 1 : 2);
  const auto launch = [&](auto kernel, auto... arguments) {
    kernel<<<1, 32, 0, stream>>>(arguments...);
  };
  launch(deduced<T, 32>, x, y, 32);
  const size_t bytes = 64 * 1024;
  cudaFuncSetAttribute(dynamic<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       static_cast<int>(bytes));
  dynamic<<<1, 32, bytes, stream>>>(x, Parameters{f, 4});
  LAUNCH(at_namespace_scope, f);
  apply<<<1, 32>>>(Doubled{}, f);
  int n = 4;
  void* arguments[] = {&i, &n};
  cudaLaunchKernel(ns::k, dim3(1), dim3(32), arguments, 0, stream);
  cudaLaunchKernel((void*)deduced<T, 32>, dim3(1), dim3(32), arguments);
  void* one[] = {&x};
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.gridDim = 1;
  config.blockDim = dim3(32);
  config.attrs = &attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, attributes<T>, x);
  cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(&attributes<T>), one);
  dim3 gridDim(4), blockDim(32);
  ns::k<<<gridDim, blockDim>>>(i, 3);
}

int main() {
  float* x = nullptr;
  int* i = nullptr;
  cudaMalloc(&x, 1024);
  cudaMalloc(&i, 1024);
  cudaMemset(x, 0, 1024);
  cudaMemset2DAsync(x, 64, 0, 32, 2, nullptr);
  cudaMemcpy2DAsync(x, 64, x + 64, 32, 32, 2, cudaMemcpyDeviceToDevice);
  launch_all(x, x, x, i, 0);
  const float values[4] = {1, 2, 3, 4};
  cudaMemcpyToSymbol(table, values, sizeof values);
  cudaDeviceProp properties;
  cudaGetDeviceProperties(&properties, 0);
  int blocks = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, dynamic<float>, 256, 1024);
  cudaEvent_t start;
  cudaEventCreate(&start);
  cudaEventRecord(start);
  cudaDeviceSynchronize();
  printf("%s, %d, warps of %d\n", cudaGetErrorString(cudaGetLastError()),
         properties.multiProcessorCount * blocks, properties.warpSize);
  return cudaFree(x) == cudaSuccess ? 0 : 1;
}
