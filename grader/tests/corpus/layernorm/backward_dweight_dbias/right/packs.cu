// Right: packs of 16 bytes where the rows are aligned for that; in the second stage 16 threads share
// a column, and meet in shared memory.

#include <onepass/layernorm.h>

namespace onepass {

constexpr int kThreads = 128;   // threads a block of the first stage, each with columns of its own
constexpr int kBlocks = 1056;   // blocks of the first stage: 8 for each multiprocessor of 132
constexpr int kLeastRows = 16;  // of a group: fewer, and its partial sums would weigh too much
constexpr int kSumCols = 32;    // columns a block of the second stage
constexpr int kSumSlices = 16;  // its threads for each of them

/// V neighbouring columns, loaded and stored in one access.
template <typename T, int V>
struct alignas(sizeof(T) * V) Pack {
  T values[V];
};

/// Stores the sums of a pack's V columns, pack i of a row of partial sums, 16 bytes at a time.
template <int V>
__device__ inline void store_sums(float* partial_row, int i, const float (&sums)[V]) {
  constexpr int kEach = V < 4 ? V : 4;
  for (int j = 0; j < V; j += kEach) {
    Pack<float, kEach> pack;
    for (int k = 0; k < kEach; ++k) {
      pack.values[k] = sums[j + k];
    }
    reinterpret_cast<Pack<float, kEach>*>(partial_row)[(i * V + j) / kEach] = pack;
  }
}

/// First stage. Block (b, g) takes packs b * kThreads to (b + 1) * kThreads - 1 of the rows g,
/// g + groups, g + 2 * groups, ...; gridDim.y is the number of groups.
template <typename T, int V>
__global__ void sum_rows_kernel(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                                const float* mean, const float* rstd,
                                float* partial_dweight,  // [groups, cols]
                                float* partial_dbias,    // [groups, cols]
                                int rows, int cols) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  const int group = blockIdx.y;
  const int groups = gridDim.y;
  if (i >= cols / V) {
    return;  // no barrier below
  }
  float sum_dbias[V] = {};  // of the pack's columns, over the rows of the group
  float sum_dweight[V] = {};
  for (int64_t row = group; row < rows; row += groups) {
    const auto dy_pack = reinterpret_cast<const Pack<T, V>*>(dy + row * dy_stride)[i];
    const auto x_pack = reinterpret_cast<const Pack<T, V>*>(x + row * x_stride)[i];

    for (int j = 0; j < V; ++j) {
      sum_dbias[j] += static_cast<float>(dy_pack.values[j]);
    }

    const float row_mean = mean[row];
    const float row_rstd = rstd[row];
    for (int j = 0; j < V; ++j) {
      const float x_hat = (static_cast<float>(x_pack.values[j]) - row_mean) * row_rstd;
      sum_dweight[j] += static_cast<float>(dy_pack.values[j]) * x_hat;
    }
  }

  const int64_t first = static_cast<int64_t>(group) * cols;  // of the group
  store_sums(partial_dbias + first, i, sum_dbias);
  store_sums(partial_dweight + first, i, sum_dweight);
}

/// Second stage: adds up the sums of all groups, those for dbias in blocks (b, 0), those for
/// dweight in blocks (b, 1). Thread (c, s) takes groups s, s + kSumSlices, ... of column c of its
/// block's 32; the slices meet in shared memory.
template <typename T>
__global__ void sum_groups_kernel(const float* partial_dweight,  // [groups, cols]
                                  const float* partial_dbias,    // [groups, cols]
                                  T* dweight, T* dbias, int groups, int cols) {
  const float* partial = blockIdx.y == 0 ? partial_dbias : partial_dweight;
  T* sums = blockIdx.y == 0 ? dbias : dweight;
  const int slice = threadIdx.y;
  const int col = blockIdx.x * kSumCols + threadIdx.x;

  __shared__ float slices[kSumSlices][kSumCols];
  float sum = 0.0f;
  if (col < cols) {
    for (int group = slice; group < groups; group += kSumSlices) {
      sum += partial[static_cast<int64_t>(group) * cols + col];
    }
  }
  slices[slice][threadIdx.x] = sum;
  __syncthreads();
  if (slice == 0 && col < cols) {
    for (int other = 1; other < kSumSlices; ++other) {
      sum += slices[other][threadIdx.x];
    }
    sums[col] = static_cast<T>(sum);
  }
}

/// Groups of rows: enough for kBlocks blocks of the first stage, of which `blocks` share a row, but
/// each of about kLeastRows rows at least. No more than scratch has room for.
inline int groups_for(int rows, int blocks) {
  if (rows == 0) {
    return 0;
  }
  const int wanted = (kBlocks + blocks - 1) / blocks;
  const int worthwhile = rows / kLeastRows + 1;
  const int most = worthwhile < kLayernormMostGroups ? worthwhile : kLayernormMostGroups;
  return wanted < most ? wanted : most;
}

template <typename T, int V>
Summation launch(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const float* mean,
                 const float* rstd, T* dweight, T* dbias, float* scratch, int rows, int cols,
                 cudaStream_t stream) {
  const int blocks = (cols / V + kThreads - 1) / kThreads;  // that share a row
  const int groups = groups_for(rows, blocks);
  float* partial_dweight = scratch;
  float* partial_dbias = scratch + static_cast<int64_t>(groups) * cols;
  if (groups > 0) {
    sum_rows_kernel<T, V><<<dim3(blocks, groups), kThreads, 0, stream>>>(
        dy, dy_stride, x, x_stride, mean, rstd, partial_dweight, partial_dbias, rows, cols);
  }
  // Without rows there are no groups, and the sums over none of them are zero.
  const dim3 sum_blocks((cols + kSumCols - 1) / kSumCols, 2);
  sum_groups_kernel<<<sum_blocks, dim3(kSumCols, kSumSlices), 0, stream>>>(
      partial_dweight, partial_dbias, dweight, dbias, groups, cols);
  return Summation::fixed_order;
}

/// Can every row of a tensor be read in accesses of 16 bytes?
template <typename T>
bool is_aligned(const T* tensor, int64_t stride, int cols) {
  constexpr int V = 16 / sizeof(T);
  return reinterpret_cast<uintptr_t>(tensor) % 16 == 0 && stride % V == 0 && cols % V == 0;
}

template <typename T>
Summation layernorm_backward_dweight_dbias(const T* dy, int64_t dy_stride, const T* x,
                                           int64_t x_stride, const float* mean, const float* rstd,
                                           T* dweight, T* dbias, float* scratch, int rows, int cols,
                                           cudaStream_t stream) {
  const bool aligned = is_aligned(dy, dy_stride, cols) && is_aligned(x, x_stride, cols);
  const auto launcher = aligned ? launch<T, 16 / sizeof(T)> : launch<T, 1>;
  return launcher(dy, dy_stride, x, x_stride, mean, rstd, dweight, dbias, scratch, rows, cols,
                  stream);
}

}  // namespace onepass
