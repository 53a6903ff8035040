// Right: persistent blocks copy a row of dy and x to shared memory, as packs, and read it from
// there twice. The sums for dweight and dbias grow in the block's own rows of scratch. Rows that do
// not fit are read from global memory each time.

#include <onepass/layernorm.h>

namespace onepass {

constexpr int kThreads = 256;
constexpr int kMostBlocks = 64;
constexpr int kMostShared = 144 * 1024;

template <typename T, int V>
struct alignas(sizeof(T) * V) Pack {
  T values[V];
};

template <typename T, int V, bool kInShared>
__global__ void row_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* mean, const float* rstd, T* dx,
                           int64_t dx_stride, float* partial, int rows, int cols) {
  using RowPack = Pack<T, V>;
  extern __shared__ float4 shared_rows[];
  __shared__ float slots[2][kThreads / 32];
  RowPack* held_dy = reinterpret_cast<RowPack*>(shared_rows);
  RowPack* held_x = held_dy + cols / V;
  const RowPack* weights = reinterpret_cast<const RowPack*>(weight);
  float* sums = partial + static_cast<int64_t>(blockIdx.x) * cols;  // for dweight
  float* dy_sums = sums + static_cast<int64_t>(gridDim.x) * cols;   // for dbias
  const int packs = cols / V;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const RowPack* dy_row = reinterpret_cast<const RowPack*>(dy + row * dy_stride);
    const RowPack* x_row = reinterpret_cast<const RowPack*>(x + row * x_stride);
    RowPack* dx_row = reinterpret_cast<RowPack*>(dx + row * dx_stride);
    const float centre = mean[row];
    const float scale = rstd[row];
    float sum = 0.0f;
    float sum_hat = 0.0f;
    for (int i = threadIdx.x; i < packs; i += kThreads) {
      const RowPack dy_pack = dy_row[i];
      const RowPack x_pack = x_row[i];
      const RowPack weight_pack = weights[i];
      if (kInShared) {
        held_dy[i] = dy_pack;
        held_x[i] = x_pack;
      }
      for (int j = 0; j < V; ++j) {
        const float dy_value = static_cast<float>(dy_pack.values[j]);
        const float x_hat = (static_cast<float>(x_pack.values[j]) - centre) * scale;
        const float wdy = static_cast<float>(weight_pack.values[j]) * dy_value;
        sum += wdy;
        sum_hat += wdy * x_hat;
        const int col = i * V + j;
        sums[col] = (row == blockIdx.x ? 0.0f : sums[col]) + dy_value * x_hat;
        dy_sums[col] = (row == blockIdx.x ? 0.0f : dy_sums[col]) + dy_value;
      }
    }
    for (int offset = 16; offset > 0; offset /= 2) {
      sum += __shfl_xor_sync(0xffffffffu, sum, offset);
      sum_hat += __shfl_xor_sync(0xffffffffu, sum_hat, offset);
    }
    __syncthreads();  // all have read the last row's slots
    if (threadIdx.x % 32 == 0) {
      slots[0][threadIdx.x / 32] = sum;
      slots[1][threadIdx.x / 32] = sum_hat;
    }
    __syncthreads();
    float mean_wdy = 0.0f;
    float mean_hat = 0.0f;
    for (int warp = 0; warp < kThreads / 32; ++warp) {
      mean_wdy += slots[0][warp] / cols;
      mean_hat += slots[1][warp] / cols;
    }
    for (int i = threadIdx.x; i < packs; i += kThreads) {
      const RowPack dy_pack = kInShared ? held_dy[i] : dy_row[i];
      const RowPack x_pack = kInShared ? held_x[i] : x_row[i];
      const RowPack weight_pack = weights[i];
      RowPack dx_pack;
      for (int j = 0; j < V; ++j) {
        const float wdy =
            static_cast<float>(weight_pack.values[j]) * static_cast<float>(dy_pack.values[j]);
        const float x_hat = (static_cast<float>(x_pack.values[j]) - centre) * scale;
        dx_pack.values[j] = static_cast<T>(scale * (wdy - mean_wdy - x_hat * mean_hat));
      }
      dx_row[i] = dx_pack;
    }
  }
}

template <typename T>
__global__ void sum_kernel(const float* partial, T* sums, int blocks, int cols) {
  const int col = blockIdx.x * kThreads + threadIdx.x;
  if (col < cols) {
    float sum = 0.0f;
    for (int block = 0; block < blocks; ++block) {
      sum += partial[static_cast<int64_t>(block) * cols + col];
    }
    sums[col] = static_cast<T>(sum);
  }
}

template <typename T, int V>
void launch(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
            const float* mean, const float* rstd, T* dx, int64_t dx_stride, float* scratch,
            int rows, int cols, int blocks, cudaStream_t stream) {
  const int64_t shared = 2 * static_cast<int64_t>(cols) * sizeof(T);
  if (shared <= kMostShared) {
    cudaFuncSetAttribute(row_kernel<T, V, true>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         kMostShared);
    row_kernel<T, V, true><<<blocks, kThreads, shared, stream>>>(
        dy, dy_stride, x, x_stride, weight, mean, rstd, dx, dx_stride, scratch, rows, cols);
  } else {
    row_kernel<T, V, false><<<blocks, kThreads, 0, stream>>>(
        dy, dy_stride, x, x_stride, weight, mean, rstd, dx, dx_stride, scratch, rows, cols);
  }
}

template <typename T>
bool whole_packs(const T* tensor, int64_t elements) {
  return reinterpret_cast<uintptr_t>(tensor) % 16 == 0 && elements * sizeof(T) % 16 == 0;
}

template <typename T>
Summation layernorm_backward_fast(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                                  const T* weight, const float* mean, const float* rstd, T* dx,
                                  int64_t dx_stride, T* dweight, T* dbias, float* scratch, int rows,
                                  int cols, cudaStream_t stream) {
  const int blocks = rows < kMostBlocks ? rows : kMostBlocks;
  if (blocks > 0) {
    const auto launcher = whole_packs(dy, dy_stride) && whole_packs(x, x_stride) &&
                                  whole_packs(dx, dx_stride) && whole_packs(weight, cols)
                              ? launch<T, 16 / sizeof(T)>
                              : launch<T, 1>;
    launcher(dy, dy_stride, x, x_stride, weight, mean, rstd, dx, dx_stride, scratch, rows, cols,
             blocks, stream);
  }
  const int col_blocks = (cols + kThreads - 1) / kThreads;
  sum_kernel<<<col_blocks, kThreads, 0, stream>>>(scratch, dweight, blocks, cols);
  sum_kernel<<<col_blocks, kThreads, 0, stream>>>(scratch + static_cast<int64_t>(blocks) * cols,
                                                  dbias, blocks, cols);
  return Summation::fixed_order;
}

}  // namespace onepass
