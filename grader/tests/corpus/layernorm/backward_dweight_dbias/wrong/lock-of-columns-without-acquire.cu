// diagnosis: missing-fence
// says: lies between it and the read
// A block has 32 columns of a part of the rows. Its sums go to one row of sums that all parts share,
// under a lock for each 32 columns, and who comes last converts them. The lock is released behind a
// fence; but it is taken by a relaxed atomic, and no fence keeps the loads behind that.

#include <onepass/layernorm.h>

namespace onepass {

constexpr int kCols = 32;
constexpr int kRows = 16;
constexpr int kMostParts = 64;

/// A lock, and how many have added.
struct Gate {
  int taken, added;
};

template <typename T>
__global__ void __launch_bounds__(kCols* kRows)
    sums_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const float* mean,
                const float* rstd, T* dweight, T* dbias, float* sum_dweight, float* sum_dbias,
                Gate* gates, int rows, int cols) {
  __shared__ float2 tile[kRows][kCols];
  __shared__ int before;
  const int col = blockIdx.x * kCols + threadIdx.x;
  const int64_t begin = static_cast<int64_t>(rows) * blockIdx.y / gridDim.y;
  const int64_t end = static_cast<int64_t>(rows) * (blockIdx.y + 1) / gridDim.y;
  float2 sum = {0.0f, 0.0f};
  if (col < cols) {
#pragma unroll 2
    for (int64_t row = begin + threadIdx.y; row < end; row += kRows) {
      const float dy_value = static_cast<float>(dy[row * dy_stride + col]);
      sum.x += dy_value * ((static_cast<float>(x[row * x_stride + col]) - mean[row]) * rstd[row]);
      sum.y += dy_value;
    }
  }
  tile[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y > 0) {
    return;  // a warp has the rest
  }
  for (int r = 1; r < kRows; ++r) {
    sum.x += tile[r][threadIdx.x].x;
    sum.y += tile[r][threadIdx.x].y;
  }
  Gate* gate = gates + blockIdx.x;
  if (threadIdx.x == 0) {
    while (atomicCAS(&gate->taken, 0, 1) != 0) {
    }
    before = atomicAdd(&gate->added, 1);
  }
  __syncwarp();
  if (col < cols) {
    if (before > 0) {
      sum.x += sum_dweight[col];
      sum.y += sum_dbias[col];
    }
    if (before + 1 < gridDim.y) {
      sum_dweight[col] = sum.x;
      sum_dbias[col] = sum.y;
    } else {
      dweight[col] = static_cast<T>(sum.x);
      dbias[col] = static_cast<T>(sum.y);
    }
  }
  __threadfence();  // the sums are there before the lock is open
  __syncwarp();
  if (threadIdx.x == 0) {
    atomicExch(&gate->taken, 0);
  }
}

template <typename T>
__global__ void zero_kernel(T* dweight, T* dbias, int cols) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col < cols) {
    dweight[col] = static_cast<T>(0.0f);
    dbias[col] = static_cast<T>(0.0f);
  }
}

template <typename T>
Summation layernorm_backward_dweight_dbias(const T* dy, int64_t dy_stride, const T* x,
                                           int64_t x_stride, const float* mean, const float* rstd,
                                           T* dweight, T* dbias, float* scratch, int rows, int cols,
                                           cudaStream_t stream) {
  if (rows == 0) {
    zero_kernel<<<(cols + 255) / 256, 256, 0, stream>>>(dweight, dbias, cols);
    return Summation::any_order;
  }
  const int col_blocks = (cols + kCols - 1) / kCols;
  const int wanted = (rows - 1) / kRows + 1;
  const int parts = wanted < kMostParts ? wanted : kMostParts;
  // Two rows of sums, and the gates. For a single row scratch has 2 * (cols + 1) numbers: there the
  // gates take the place of the sums, which one part does not use.
  float* sum_dweight = scratch;
  float* sum_dbias = scratch + cols;
  auto* gates = reinterpret_cast<Gate*>(parts == 1 ? scratch : scratch + 2 * cols);
  cudaMemsetAsync(gates, 0, sizeof(Gate) * col_blocks, stream);
  sums_kernel<<<dim3(col_blocks, parts), dim3(kCols, kRows), 0, stream>>>(
      dy, dy_stride, x, x_stride, mean, rstd, dweight, dbias, sum_dweight, sum_dbias, gates, rows,
      cols);
  return Summation::any_order;
}

}  // namespace onepass
