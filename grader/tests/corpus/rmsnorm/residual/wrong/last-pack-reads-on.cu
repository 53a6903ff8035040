// diagnosis: no-tail-mask
// not: stride-ignored
// says: With rows as far apart that fill vectors
// The last pack of a row is loaded whole, and what is behind the row's end is set to zero
// afterwards.
#include <onepass/rmsnorm.h>

namespace onepass {

template <typename T, int V>
struct alignas(sizeof(T) * V) Pack {
  T v[V];
};

template <typename T, int V>
__device__ inline Pack<T, V> add(const Pack<T, V>& a, const Pack<T, V>& b, int count) {
  Pack<T, V> result;
#pragma unroll
  for (int j = 0; j < V; ++j) {
    const float sum = static_cast<float>(a.v[j]) + static_cast<float>(b.v[j]);
    result.v[j] = static_cast<T>(j < count ? sum : 0.0f);  // zeros behind the row's end
  }
  return result;
}

template <typename T, int V>
__device__ inline void store(T* row, const Pack<T, V>& pack, int count) {
  if (count >= V) {
    *reinterpret_cast<Pack<T, V>*>(row) = pack;
    return;
  }
  for (int j = 0; j < count; ++j) {
    row[j] = pack.v[j];
  }
}

/// A block a row. N packs a thread are held; of rows with more, the sum is loaded again from where it was stored.
template <typename T, int V, int N>
__global__ void __launch_bounds__(1024)
    residual_kernel(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                    const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                    float* rstd, int cols, float eps) {
  using P = Pack<T, V>;
  const int64_t row = blockIdx.x;
  const P* x_row = reinterpret_cast<const P*>(x + row * x_stride);
  const P* residual_row = reinterpret_cast<const P*>(residual + row * residual_stride);
  T* sum_row = sum + row * sum_stride;
  T* y_row = y + row * y_stride;
  const int packs = (cols + V - 1) / V;  // the last may be short

  P held[N] = {};
  float squares = 0.0f;
  const auto sum_up = [&](const P& pack) {
#pragma unroll
    for (int j = 0; j < V; ++j) {
      squares += static_cast<float>(pack.v[j]) * static_cast<float>(pack.v[j]);
    }
  };
#pragma unroll
  for (int n = 0; n < N; ++n) {
    const int i = n * blockDim.x + threadIdx.x;
    if (i < packs) {
      held[n] = add(x_row[i], residual_row[i], cols - i * V);
      store(sum_row + i * V, held[n], cols - i * V);
      sum_up(held[n]);
    }
  }
  for (int i = N * blockDim.x + threadIdx.x; i < packs; i += blockDim.x) {
    const P pack = add(x_row[i], residual_row[i], cols - i * V);
    store(sum_row + i * V, pack, cols - i * V);
    sum_up(pack);
  }

  __shared__ float shares[32];
  for (int offset = 16; offset > 0; offset /= 2) {
    squares += __shfl_xor_sync(0xffffffffu, squares, offset);
  }
  if (threadIdx.x % 32 == 0) {
    shares[threadIdx.x / 32] = squares;
  }
  __syncthreads();
  squares = 0.0f;
  for (unsigned w = 0; w < blockDim.x / 32; ++w) {
    squares += shares[w];
  }
  const float row_rstd = rsqrtf(squares / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = row_rstd;
  }

  const auto put = [&](int i, P pack) {
    const int count = cols - i * V;
    for (int j = 0; j < V; ++j) {
      if (j < count) {
        pack.v[j] = static_cast<T>(static_cast<float>(pack.v[j]) * row_rstd *
                                   static_cast<float>(weight[i * V + j]));
      }
    }
    store(y_row + i * V, pack, count);
  };
#pragma unroll
  for (int n = 0; n < N; ++n) {
    const int i = n * blockDim.x + threadIdx.x;
    if (i < packs) {
      put(i, held[n]);
    }
  }
  for (int i = N * blockDim.x + threadIdx.x; i < packs; i += blockDim.x) {
    P pack = {};
    for (int j = 0; j < V && i * V + j < cols; ++j) {
      pack.v[j] = sum_row[i * V + j];
    }
    put(i, pack);
  }
}

template <typename T>
bool fits(const T* tensor, int64_t stride) {
  return reinterpret_cast<uintptr_t>(tensor) % 16 == 0 && stride % (16 / sizeof(T)) == 0;
}

template <typename T>
void rmsnorm_residual(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                      const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                      float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  constexpr int V = 16 / sizeof(T);
  // Every row begins at a multiple of 16 bytes. It may end anywhere.
  const bool packs = fits(x, x_stride) && fits(residual, residual_stride) && fits(sum, sum_stride) &&
                     fits(y, y_stride);
  const int threads = cols >= 16384 ? 1024 : (cols + 511) / 512 * 32;  // 16 columns each
  auto kernel = packs ? residual_kernel<T, V, 16 / V> : residual_kernel<T, 1, 16>;
  kernel<<<rows, threads, 0, stream>>>(x, x_stride, residual, residual_stride, weight, sum,
                                       sum_stride, y, y_stride, rstd, cols, eps);
}

}  // namespace onepass
