// Right: batch normalisation for inference as one multiplication and one addition an element: a warp takes
// stretches of 256 elements of the whole tensor, and each of its lanes folds a channel's four numbers
// into two whenever it comes to another channel. All of that is in double, so folding costs no digit.

#include <onepass/batchnorm.h>

namespace onepass {

namespace {

constexpr int kStretch = 256;

template <typename T>
__global__ void __launch_bounds__(128)
    folded_kernel(const T* x, const T* weight, const T* bias, const float* running_mean,
                  const float* running_var, T* y, int64_t elements, int channels, int space,
                  float eps) {
  const int64_t warps = static_cast<int64_t>(gridDim.x) * 4;
  int folded = -1;  // the channel of scale and shift
  double scale = 0.0;
  double shift = 0.0;
  for (int64_t stretch = static_cast<int64_t>(blockIdx.x) * 4 + threadIdx.x / 32;
       stretch * kStretch < elements; stretch += warps) {
    const int64_t first = stretch * kStretch + threadIdx.x % 32;
    int64_t row = first / space;
    int64_t left = (row + 1) * space - first;  // up to the next row
    for (int64_t i = first; i < first + kStretch && i < elements; i += 32, left -= 32) {
      if (left <= 0) {
        const int64_t rows = -left / space + 1;
        row += rows;
        left += rows * space;
      }
      const int c = static_cast<int>(row % channels);
      if (c != folded) {
        const double variance = static_cast<double>(running_var[c]) + static_cast<double>(eps);
        scale = static_cast<double>(static_cast<float>(weight[c])) / sqrt(variance);
        shift = static_cast<double>(static_cast<float>(bias[c])) -
                static_cast<double>(running_mean[c]) * scale;
        folded = c;
      }
      const double value = static_cast<double>(static_cast<float>(x[i])) * scale + shift;
      y[i] = static_cast<T>(static_cast<float>(value));
    }
  }
}

}  // namespace

template <typename T>
void batchnorm_evaluate(const T* x, const T* weight, const T* bias, const float* running_mean,
                        const float* running_var, T* y, int batch, int channels, int space,
                        float eps, cudaStream_t stream) {
  const int64_t elements = static_cast<int64_t>(batch) * channels * space;
  if (elements == 0) {
    return;
  }
  static const int64_t most = [] {
    int device = 0;
    int multiprocessors = 1;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    return int64_t{16} * multiprocessors;
  }();
  const int64_t wanted = (elements + 4 * kStretch - 1) / (4 * kStretch);
  const auto blocks = static_cast<unsigned>(wanted < most ? wanted : most);
  folded_kernel<T><<<blocks, 128, 0, stream>>>(
      x, weight, bias, running_mean, running_var, y, elements, channels, space, eps);
}

}  // namespace onepass
