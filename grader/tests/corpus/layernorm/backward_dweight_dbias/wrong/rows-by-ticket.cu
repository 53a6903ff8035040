// diagnosis: order-varies
// check: 20 calls
// A block draws its next 16 rows from a counter, so which rows it sums differs from call to call, and
// with it the order in which all are added.
#include <onepass/layernorm.h>

namespace onepass {

constexpr int kRowsEach = 16;
constexpr int kThreads = 256;

template <typename T>
__global__ void sum_drawn_rows(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                               const float* mean, const float* rstd, float* dweight_part,
                               float* dbias_part, unsigned* ticket, int rows, int cols) {
  __shared__ unsigned drawn;
  float* dw = dweight_part + static_cast<int64_t>(blockIdx.x) * cols;
  float* db = dbias_part + static_cast<int64_t>(blockIdx.x) * cols;
  for (int c = threadIdx.x; c < cols; c += kThreads) {
    dw[c] = 0.0f;
    db[c] = 0.0f;
  }
  while (true) {
    if (threadIdx.x == 0) {
      drawn = atomicAdd(ticket, 1u);
    }
    __syncthreads();
    const int64_t first = static_cast<int64_t>(drawn) * kRowsEach;
    __syncthreads();
    if (first >= rows) {
      return;  // the whole block
    }
    const int64_t end = first + kRowsEach < rows ? first + kRowsEach : rows;
    for (int c = threadIdx.x; c < cols; c += kThreads) {
      float w = dw[c];
      float b = db[c];
      for (int64_t row = first; row < end; ++row) {
        const float g = static_cast<float>(dy[row * dy_stride + c]);
        w += g * ((static_cast<float>(x[row * x_stride + c]) - mean[row]) * rstd[row]);
        b += g;
      }
      dw[c] = w;
      db[c] = b;
    }
  }
}

template <typename T>
__global__ void sum_in_order(const float* dweight_part, const float* dbias_part, T* dweight,
                             T* dbias, int blocks, int cols) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < cols) {
    float w = 0.0f;
    float b = 0.0f;
    for (int k = 0; k < blocks; ++k) {
      w += dweight_part[static_cast<int64_t>(k) * cols + c];
      b += dbias_part[static_cast<int64_t>(k) * cols + c];
    }
    dweight[c] = static_cast<T>(w);
    dbias[c] = static_cast<T>(b);
  }
}

template <typename T>
Summation layernorm_backward_dweight_dbias(const T* dy, int64_t dy_stride, const T* x,
                                           int64_t x_stride, const float* mean, const float* rstd,
                                           T* dweight, T* dbias, float* scratch, int rows, int cols,
                                           cudaStream_t stream) {
  const int groups = layernorm_groups(rows);
  const int blocks = groups < 264 ? groups : 264;
  float* dweight_part = scratch;
  float* dbias_part = scratch + static_cast<int64_t>(groups) * cols;
  if (blocks > 0) {
    // Behind the sums there are two numbers a group.
    auto* ticket = reinterpret_cast<unsigned*>(scratch + 2 * static_cast<int64_t>(groups) * cols);
    cudaMemsetAsync(ticket, 0, sizeof(unsigned), stream);
    sum_drawn_rows<<<blocks, kThreads, 0, stream>>>(dy, dy_stride, x, x_stride, mean, rstd,
                                                    dweight_part, dbias_part, ticket, rows, cols);
  }
  sum_in_order<<<(cols + 127) / 128, 128, 0, stream>>>(dweight_part, dbias_part, dweight, dbias,
                                                       blocks, cols);
  return Summation::fixed_order;
}

}  // namespace onepass
