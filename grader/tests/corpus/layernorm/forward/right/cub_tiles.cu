// Right: tiles by cub::BlockLoad and BlockStore, and statistics that cub::BlockReduce merges, in a
// storage that the three share.

#include <onepass/layernorm.h>

#include <cub/cub.cuh>

namespace onepass {

constexpr int kThreads = 128;
constexpr int kItems = 4;
constexpr int kTile = kThreads * kItems;

struct Statistics {
  float mean = 0.0f;
  float squares = 0.0f;  // of the distances from the mean
  float count = 0.0f;
};

struct Merge {
  __device__ Statistics operator()(const Statistics& a, const Statistics& b) const {
    const float count = a.count + b.count;
    if (count == 0.0f) {
      return a;
    }
    const float distance = b.mean - a.mean;
    return {a.mean + distance * (b.count / count),
            a.squares + b.squares + distance * distance * (a.count * b.count / count), count};
  }
};

template <typename T>
struct Collectives {
  using Load = cub::BlockLoad<T, kThreads, kItems, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Store = cub::BlockStore<T, kThreads, kItems, cub::BLOCK_STORE_TRANSPOSE>;
  using Reduce = cub::BlockReduce<Statistics, kThreads>;
  union TempStorage {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
    typename Reduce::TempStorage reduce;
  };
};

/// Of the whole block, in every thread.
template <typename Reduce>
__device__ Statistics merged(const Statistics& mine, typename Reduce::TempStorage& temp) {
  __shared__ float total[2];
  const Statistics all = Reduce(temp).Reduce(mine, Merge());
  if (threadIdx.x == 0) {
    total[0] = all.mean;
    total[1] = all.squares;
  }
  __syncthreads();
  Statistics result;
  result.mean = total[0];
  result.squares = total[1];
  return result;
}

template <typename T>
__global__ void layernorm_kernel(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                                 int64_t y_stride, float* mean, float* rstd, int cols, float eps) {
  using Types = Collectives<T>;
  __shared__ typename Types::TempStorage temp;
  const T* x_row = x + blockIdx.x * x_stride;
  T* y_row = y + blockIdx.x * y_stride;

  Statistics mine;
  for (int begin = 0; begin < cols; begin += kTile) {
    T items[kItems];
    typename Types::Load(temp.load).Load(x_row + begin, items, cols - begin, T(0.0f));
    __syncthreads();
    for (int i = 0; i < kItems; ++i) {
      if (begin + static_cast<int>(threadIdx.x) * kItems + i < cols) {
        mine.count += 1.0f;
        const float distance = static_cast<float>(items[i]) - mine.mean;
        mine.mean += distance / mine.count;
        mine.squares += distance * (static_cast<float>(items[i]) - mine.mean);
      }
    }
  }
  const Statistics all = merged<typename Types::Reduce>(mine, temp.reduce);
  const float row_rstd = rsqrtf(all.squares / cols + eps);
  if (threadIdx.x == 0) {
    mean[blockIdx.x] = all.mean;
    rstd[blockIdx.x] = row_rstd;
  }

  for (int begin = 0; begin < cols; begin += kTile) {
    T items[kItems];
    typename Types::Load(temp.load).Load(x_row + begin, items, cols - begin, T(0.0f));
    for (int i = 0; i < kItems; ++i) {
      const int col = begin + static_cast<int>(threadIdx.x) * kItems + i;
      if (col < cols) {
        float value = (static_cast<float>(items[i]) - all.mean) * row_rstd;
        value = weight == nullptr ? value : value * static_cast<float>(weight[col]);
        value = bias == nullptr ? value : value + static_cast<float>(bias[col]);
        items[i] = static_cast<T>(value);
      }
    }
    __syncthreads();  // the tile has been read
    typename Types::Store(temp.store).Store(y_row + begin, items, cols - begin);
    __syncthreads();  // and written
  }
}

template <typename T>
void layernorm_forward(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                       int64_t y_stride, float* mean, float* rstd, int rows, int cols, float eps,
                       cudaStream_t stream) {
  if (rows > 0) {
    layernorm_kernel<<<rows, kThreads, 0, stream>>>(x, x_stride, weight, bias, y, y_stride, mean,
                                                    rstd, cols, eps);
  }
}

}  // namespace onepass
