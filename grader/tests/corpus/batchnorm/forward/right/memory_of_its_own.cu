// Right: four kernels that share sums in double, in memory that the call takes for itself: 34 GB
// where there are as many channels as there may be.

#include <onepass/batchnorm.h>

namespace onepass {
namespace {

constexpr int kThreads = 256;

/// Adds up term(x) over a part of channel blockIdx.x, in double, to totals[blockIdx.x].
template <typename T, typename Term>
__device__ void add_part(const T* x, double* totals, int64_t count, int64_t channels, int64_t space,
                         Term term) {
  __shared__ double warps[kThreads / 32];
  const int64_t c = blockIdx.x;
  double sum = 0.0;
  for (int64_t j = static_cast<int64_t>(blockIdx.y) * kThreads + threadIdx.x; j < count;
       j += static_cast<int64_t>(gridDim.y) * kThreads) {
    sum += term(static_cast<double>(
        static_cast<float>(x[(j / space * channels + c) * space + j % space])));
  }
  for (int o = 16; o; o >>= 1) sum += __shfl_down_sync(~0u, sum, o);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < kThreads / 32; ++w) sum += warps[w];
    atomicAdd(totals + c, sum);
  }
}

template <typename T>
__global__ void sum_kernel(const T* x, double* sums, int64_t count, int channels, int space) {
  add_part(x, sums, count, channels, space, [](double v) { return v; });
}

template <typename T>
__global__ void squares_kernel(const T* x, const double* sums, double* squares, int64_t count,
                               int channels, int space) {
  const double mean = sums[blockIdx.x] / count;
  add_part(x, squares, count, channels, space, [mean](double v) { return (v - mean) * (v - mean); });
}

__global__ void save_kernel(const double* sums, const double* squares, float* running_mean,
                            float* running_var, float* save_mean, float* save_rstd, int64_t count,
                            int channels, double eps, double momentum) {
  const int64_t c = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (c >= channels) return;
  const double mean = sums[c] / count;
  save_mean[c] = static_cast<float>(mean);
  save_rstd[c] = static_cast<float>(1.0 / sqrt(squares[c] / count + eps));
  running_mean[c] = static_cast<float>((1.0 - momentum) * running_mean[c] + momentum * mean);
  running_var[c] =
      static_cast<float>((1.0 - momentum) * running_var[c] + momentum * (squares[c] / (count - 1)));
}

template <typename T>
__global__ void apply_kernel(const T* x, const T* weight, const T* bias, T* y,
                             const float* save_mean, const float* save_rstd, int64_t elements,
                             int channels, int space) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < elements;
       i += step) {
    const int64_t c = i / space % channels;
    const float normalized = (static_cast<float>(x[i]) - save_mean[c]) * save_rstd[c];
    y[i] = static_cast<T>(fmaf(normalized, static_cast<float>(weight[c]), static_cast<float>(bias[c])));
  }
}

}  // namespace

template <typename T>
void batchnorm_forward(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                       float* running_var, float* save_mean, float* save_rstd, int batch,
                       int channels, int space, float eps, float momentum, cudaStream_t stream) {
  const int64_t count = static_cast<int64_t>(batch) * space;
  if (count == 0 || channels == 0) return;
  const size_t bytes = 2 * sizeof(double) * static_cast<size_t>(channels);
  void* memory = nullptr;
  if (cudaMallocAsync(&memory, bytes, stream) != cudaSuccess) return;
  cudaMemsetAsync(memory, 0, bytes, stream);
  auto* sums = static_cast<double*>(memory);
  double* squares = sums + channels;
  const int64_t wanted = (count + 8 * kThreads - 1) / (8 * kThreads);
  const dim3 grid(channels, static_cast<unsigned>(wanted < 64 ? wanted : 64));
  sum_kernel<<<grid, kThreads, 0, stream>>>(x, sums, count, channels, space);
  squares_kernel<<<grid, kThreads, 0, stream>>>(x, sums, squares, count, channels, space);
  save_kernel<<<(channels - 1) / kThreads + 1, kThreads, 0, stream>>>(
      sums, squares, running_mean, running_var, save_mean, save_rstd, count, channels, eps, momentum);
  const int64_t elements = count * channels;
  const int64_t blocks = (elements + kThreads - 1) / kThreads;
  apply_kernel<<<static_cast<unsigned>(blocks < 16384 ? blocks : 16384), kThreads, 0, stream>>>(
      x, weight, bias, y, save_mean, save_rstd, elements, channels, space);
  cudaFreeAsync(memory, stream);
}

}  // namespace onepass
