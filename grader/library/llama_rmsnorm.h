// The library's own kernel, no exercise's: RMSNorm in the cast order of the LLaMA models,
//
//     y[r][c] = T(T(sum[r][c] * rstd[r]) * weight[c])
//
// of sum = T(x + residual), which is stored, or of x itself. With chapter 1's ideas: a warp or a
// block has a row, moves 16 bytes at a time, and holds up to 16,384 columns in registers.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

namespace onepass::library {
namespace {

constexpr int kMostThreads = 1024;  // of a row, and of a block

/// V neighbouring columns, loaded and stored in one access.
template <typename T, int V>
struct alignas(sizeof(T) * V) Pack {
  T values[V];
};

template <typename T>
struct LlamaRmsnorm {
  const T *x, *residual;  // residual may be null: then there is no sum
  int64_t x_stride, residual_stride;
  const T* weight;
  T *sum, *y;
  int64_t sum_stride, y_stride;
  float* rstd;
  int rows, cols;
  float eps;
};

__device__ float warp_sum(float value) {
  for (int apart = 1; apart < 32; apart *= 2) {
    value += __shfl_xor_sync(0xffffffff, value, apart);
  }
  return value;
}

/// The sum over a row's threads, in each of them: one warp, or all of the block. To be called once:
/// nothing keeps a second call from writing to `partial` too early.
__device__ float row_sum(float value) {
  __shared__ float partial[kMostThreads / 32];
  value = warp_sum(value);
  if (blockDim.x == 32) {
    return value;
  }
  const int lane = threadIdx.x % 32;
  if (lane == 0) {
    partial[threadIdx.x / 32] = value;
  }
  __syncthreads();
  return warp_sum(lane < blockDim.x / 32 ? partial[lane] : 0.0f);
}

/// Takes kPacks packs a thread at a step. kHeld: that is the whole row, and each element is read
/// once. Else it is read again for y: from sum, if there is one, where each thread finds what it
/// has stored itself. sum may be residual, and y may be x: each thread stores where it has loaded.
template <typename T, int V, int kPacks, bool kHeld, bool kResidual>
__global__ void __launch_bounds__(kMostThreads) rows_kernel(const LlamaRmsnorm<T> of) {
  using RowPack = Pack<T, V>;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (row >= of.rows) {
    return;  // a whole warp; where a row has several, each block has one row
  }
  const auto* x = reinterpret_cast<const RowPack*>(of.x + row * of.x_stride);
  const auto* residual = reinterpret_cast<const RowPack*>(of.residual + row * of.residual_stride);
  const auto* weight = reinterpret_cast<const RowPack*>(of.weight);
  auto* sum = reinterpret_cast<RowPack*>(of.sum + row * of.sum_stride);
  auto* y = reinterpret_cast<RowPack*>(of.y + row * of.y_stride);
  const int packs = of.cols / V;
  const int step = kPacks * blockDim.x;
  const int steps = kHeld ? 1 : (packs + step - 1) / step;

  RowPack held[kPacks];
  float squares = 0.0f;
  for (int s = 0; s < steps; ++s) {
    RowPack other[kPacks];
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {  // all loads first
      const int i = s * step + p * blockDim.x + threadIdx.x;
      held[p] = i < packs ? x[i] : RowPack{};  // zeros add nothing
      other[p] = kResidual && i < packs ? residual[i] : RowPack{};
    }
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
#pragma unroll
      for (int j = 0; j < V; ++j) {
        if (kResidual) {
          held[p].values[j] = static_cast<T>(static_cast<float>(held[p].values[j]) +
                                             static_cast<float>(other[p].values[j]));
        }
        const float value = static_cast<float>(held[p].values[j]);
        squares += value * value;
      }
      const int i = s * step + p * blockDim.x + threadIdx.x;
      if (kResidual && i < packs) {
        sum[i] = held[p];
      }
    }
  }
  const float rstd = rsqrtf(row_sum(squares) / of.cols + of.eps);
  if (threadIdx.x == 0) {
    of.rstd[row] = rstd;
  }
  for (int s = 0; s < steps; ++s) {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int i = s * step + p * blockDim.x + threadIdx.x;
      if (i < packs) {
        const RowPack values = kHeld ? held[p] : kResidual ? sum[i] : x[i];
        const RowPack weights = weight[i];
        RowPack result;
#pragma unroll
        for (int j = 0; j < V; ++j) {
          const T x_hat = static_cast<T>(static_cast<float>(values.values[j]) * rstd);
          result.values[j] =
              static_cast<T>(static_cast<float>(x_hat) * static_cast<float>(weights.values[j]));
        }
        y[i] = result;
      }
    }
  }
}

/// 16 columns a thread, or two packs where 512 threads hold the row. Narrow rows share a block.
template <typename T, int V, bool kResidual>
void launch_rows(const LlamaRmsnorm<T>& of, cudaStream_t stream) {
  constexpr int kMostPacks = 16 / V;
  constexpr int kWidePacks = V == 1 ? 8 : kMostPacks;  // 16 would spill
  const int row_packs = of.cols / V;
  const bool narrow = row_packs <= 1024;
  const int columns = 32 * (narrow ? 2 : kMostPacks);  // of packs, a warp's
  const int warps = std::min((row_packs + columns - 1) / columns, kMostThreads / 32);
  const int rows = warps == 1 ? 4 : 1;  // of a block
  const auto kernel = narrow ? rows_kernel<T, V, 2, true, kResidual>
                      : of.cols <= 16 * kMostThreads
                          ? rows_kernel<T, V, kMostPacks, true, kResidual>
                          : rows_kernel<T, V, kWidePacks, false, kResidual>;
  const int64_t blocks = (static_cast<int64_t>(of.rows) + rows - 1) / rows;
  kernel<<<static_cast<unsigned>(blocks), dim3(32 * warps, rows), 0, stream>>>(of);
}

/// residual and sum may be null, both.
template <typename T>
void llama_rmsnorm(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                   const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride, float* rstd,
                   int rows, int cols, float eps, cudaStream_t stream) {
  constexpr int V = 16 / sizeof(T);
  const auto aligned = [&](const T* tensor, int64_t stride) {
    return reinterpret_cast<uintptr_t>(tensor) % 16 == 0 && stride % V == 0 && cols % V == 0;
  };
  const bool packs = aligned(x, x_stride) && aligned(residual, residual_stride) &&
                     aligned(weight, 0) && aligned(sum, sum_stride) && aligned(y, y_stride);
  const auto launch = residual == nullptr
                          ? packs ? launch_rows<T, V, false> : launch_rows<T, 1, false>
                      : packs ? launch_rows<T, V, true>
                              : launch_rows<T, 1, true>;
  launch({x, residual, x_stride, residual_stride, weight, sum, y, sum_stride, y_stride, rstd, rows,
          cols, eps},
         stream);
}

}  // namespace
}  // namespace onepass::library
