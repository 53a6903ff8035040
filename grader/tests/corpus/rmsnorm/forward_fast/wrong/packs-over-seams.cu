// diagnosis: loaded-twice
// says: a part of x was loaded again
// Where two rows meet in a pack, both load all of it.
// RMSNorm, one load of x. A row is taken in the packs of 16 aligned bytes that cover it, wherever
// it begins. Dense rows lie end to end, so a pack at the seam of two rows is all within the tensor:
// each of the two takes it whole and blanks what is not its own.
#include <onepass/rmsnorm.h>

#include <type_traits>

namespace onepass {

constexpr int kThreads = 512;
constexpr int kHeldColumns = 16384;

template <typename T>
struct alignas(16) Packed {
  T at[16 / sizeof(T)];
};

template <typename T>
__device__ inline int lead_of(const T* p) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(p) % 16 / sizeof(T));
}

__device__ inline float sum_over_block(float v) {
  __shared__ float slots[kThreads / 32];
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int o = 16; o > 0; o /= 2) {
    v += __shfl_xor_sync(0xffffffff, v, o);
  }
  if (lane == 0) {
    slots[threadIdx.x / 32] = v;
  }
  __syncthreads();
  v = lane < static_cast<int>(blockDim.x / 32) ? slots[lane] : 0.0f;
#pragma unroll
  for (int o = 8; o > 0; o /= 2) {
    v += __shfl_xor_sync(0xffffffff, v, o);
  }
  return __shfl_sync(0xffffffff, v, 0);
}

/// A row, and how many elements of the same tensor lie before and behind it without a gap.
template <typename T>
struct RowView {
  const T* row;
  int lead;
  int cols;
  int64_t before;
  int64_t behind;

  __device__ Packed<T> pack(int i) const {
    constexpr int V = 16 / sizeof(T);
    const int first = i * V - lead;
    Packed<T> p;
    if (first + before >= 0 && first + V <= cols + behind) {
      p = *reinterpret_cast<const Packed<T>*>(row + first);
#pragma unroll
      for (int j = 0; j < V; ++j) {
        if (first + j < 0 || first + j >= cols) {
          p.at[j] = static_cast<T>(0.0f);
        }
      }
    } else {
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const bool inside = first + j >= 0 && first + j < cols;
        p.at[j] = inside ? row[first + j] : static_cast<T>(0.0f);
      }
    }
    return p;
  }
};

/// N packs a thread; N = 0: any number of them, loaded anew for y.
template <typename T, int N>
__global__ void __launch_bounds__(kThreads)
    covering_kernel(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                    float* rstd, int rows, int cols, float eps) {
  constexpr int V = 16 / sizeof(T);
  constexpr int kHeld = N > 0 ? N : 1;
  const int64_t row = blockIdx.x;
  const bool dense = x_stride == cols;
  const T* x_row = x + row * x_stride;
  T* y_row = y + row * y_stride;
  const RowView<T> view = {x_row, lead_of(x_row), cols, dense ? row * cols : 0,
                           dense ? (rows - 1 - row) * cols : 0};
  const int packs = (view.lead + cols + V - 1) / V;
  const int y_lead = lead_of(y_row);

  Packed<T> held[kHeld];
  float squares = 0.0f;
  if (N > 0) {
#pragma unroll
    for (int p = 0; p < kHeld; ++p) {
      const int i = p * blockDim.x + threadIdx.x;
      if (i < packs) {
        held[p] = view.pack(i);
#pragma unroll
        for (int j = 0; j < V; ++j) {
          const float v = static_cast<float>(held[p].at[j]);
          squares += v * v;
        }
      }
    }
  } else {
    for (int i = threadIdx.x; i < packs; i += blockDim.x) {
      const Packed<T> pack = view.pack(i);
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const float v = static_cast<float>(pack.at[j]);
        squares += v * v;
      }
    }
  }
  const float scale = rsqrtf(sum_over_block(squares) / cols + eps);
  if (threadIdx.x == 0) {
    rstd[row] = scale;
  }

  const auto put = [&](int i, const Packed<T>& pack) {
    const int first = i * V - view.lead;
    Packed<T> result;
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const int c = first + j;
      const bool inside = c >= 0 && c < cols;
      const float w = inside && weight != nullptr ? static_cast<float>(weight[c]) : 1.0f;
      result.at[j] = static_cast<T>(static_cast<float>(pack.at[j]) * scale * w);
    }
    if (y_lead == view.lead && first >= 0 && first + V <= cols) {
      *reinterpret_cast<Packed<T>*>(y_row + first) = result;
    } else {
#pragma unroll
      for (int j = 0; j < V; ++j) {
        if (first + j >= 0 && first + j < cols) {
          y_row[first + j] = result.at[j];
        }
      }
    }
  };
  if (N > 0) {
#pragma unroll
    for (int p = 0; p < kHeld; ++p) {
      const int i = p * blockDim.x + threadIdx.x;
      if (i < packs) {
        put(i, held[p]);
      }
    }
  } else {
    for (int i = threadIdx.x; i < packs; i += blockDim.x) {
      put(i, view.pack(i));
    }
  }
}

template <typename T>
void rmsnorm_forward_fast(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                          float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  constexpr int V = 16 / sizeof(T);
  const int most_packs = (cols + V - 1 + V - 1) / V;
  const int threads = most_packs < kThreads ? (most_packs + 31) / 32 * 32 : kThreads;
  const int each = (most_packs + threads - 1) / threads;
  const auto kernel = cols > kHeldColumns ? covering_kernel<T, 0>
                      : each <= 1         ? covering_kernel<T, 1>
                      : each <= 2         ? covering_kernel<T, 2>
                      : each <= 5         ? covering_kernel<T, 5>
                                          : covering_kernel<T, 9>;
  kernel<<<rows, threads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, rows, cols, eps);
}

}  // namespace onepass
