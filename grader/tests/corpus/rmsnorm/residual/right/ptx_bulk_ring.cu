// Right: blocks that stay, each with a ring of slots for a row of x and one of the residual, which bulk
// copies fill two rows ahead. The sum takes the residual's place in its slot and y takes x's, and bulk
// copies take both away. All of it in inline PTX, a function an instruction, as libraries write it.

#include <onepass/fast.h>
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 256;
constexpr int kSlots = 3;
constexpr int kMostBytes = 32768;  // of a row in a slot

// ---- The instructions

__device__ inline uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}
__device__ inline void init_barrier(uint64_t* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(arrivals)
               : "memory");
}
__device__ inline void arrive_expecting(uint64_t* barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   shared_address(barrier)),
               "r"(bytes)
               : "memory");
}
__device__ inline void wait(uint64_t* barrier, uint32_t parity) {
  asm volatile(
      "{\n\t"
      ".reg .pred P1;\n\t"
      "LAB_WAIT:\n\t"
      "mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1, %2;\n\t"
      "@P1 bra DONE;\n\t"
      "bra LAB_WAIT;\n\t"
      "DONE:\n\t"
      "}" ::"r"(shared_address(barrier)),
      "r"(parity), "r"(0x989680)
      : "memory");
}
__device__ inline void copy_in(void* to, const void* from, uint32_t bytes, uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
}
__device__ inline void copy_out(void* to, const void* from, uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
               "r"(shared_address(from)), "r"(bytes)
               : "memory");
}
__device__ inline void commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/// Until all groups but the last `kPrior` have been read.
template <int kPrior>
__device__ inline void wait_until_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPrior) : "memory");
}

// ---- The kernels

__device__ inline float over_block(float value) {
  __shared__ float partial[kThreads / 32];
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  __syncthreads();  // the last sum has been read
  if (threadIdx.x % 32 == 0) {
    partial[threadIdx.x / 32] = value;
  }
  __syncthreads();
  value = 0.0f;
  for (int warp = 0; warp < kThreads / 32; ++warp) {
    value += partial[warp];
  }
  return value;
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    ring_kernel(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride, float* rstd,
                int rows, int cols, float eps) {
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ uint64_t full[kSlots];
  T* const slots = reinterpret_cast<T*>(memory);  // [kSlots][2][cols]: x and y, residual and sum
  const uint32_t row_bytes = cols * sizeof(T);
  const auto row_of = [&](int step) { return blockIdx.x + static_cast<int64_t>(step) * gridDim.x; };
  const auto fetch = [&](int step) {
    const int64_t row = row_of(step);
    T* const slot = slots + step % kSlots * 2 * cols;
    uint64_t* const bar = &full[step % kSlots];
    if (row < rows) {
      arrive_expecting(bar, 2 * row_bytes);
      copy_in(slot, x + row * x_stride, row_bytes, bar);
      copy_in(slot + cols, residual + row * residual_stride, row_bytes, bar);
    }
  };

  if (threadIdx.x == 0) {
    for (int slot = 0; slot < kSlots; ++slot) {
      init_barrier(&full[slot], 1);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int step = 0; step + 1 < kSlots; ++step) {
      fetch(step);
    }
  }
  for (int step = 0; row_of(step) < rows; ++step) {
    const int64_t row = row_of(step);
    T* const slot = slots + step % kSlots * 2 * cols;
    wait(&full[step % kSlots], step / kSlots % 2);
    float squares = 0.0f;
    for (int col = threadIdx.x; col < cols; col += kThreads) {
      const float value = static_cast<float>(slot[col]) + static_cast<float>(slot[cols + col]);
      slot[cols + col] = static_cast<T>(value);
      squares += static_cast<float>(slot[cols + col]) * static_cast<float>(slot[cols + col]);
    }
    const float row_rstd = rsqrtf(over_block(squares) / cols + eps);
    for (int col = threadIdx.x; col < cols; col += kThreads) {
      const float normalized = static_cast<float>(slot[cols + col]) * row_rstd;
      slot[col] = static_cast<T>(normalized * static_cast<float>(weight[col]));
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();  // the row is whole
    if (threadIdx.x == 0) {
      rstd[row] = row_rstd;
      copy_out(sum + row * sum_stride, slot + cols, row_bytes);
      copy_out(y + row * y_stride, slot, row_bytes);
      commit();
      wait_until_read<1>();  // the row before has left its slot
      fetch(step + kSlots - 1);
    }
  }
  if (threadIdx.x == 0) {
    wait_until_read<0>();
  }
}

/// Rows of any width, whose sums stay in registers: kEach in each thread.
template <typename T, int V, int kEach>
__global__ void __launch_bounds__(kThreads)
    plain_kernel(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                 const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride, float* rstd,
                 int cols, float eps) {
  const int64_t row = blockIdx.x;
  using Unit = Pack<T, V>;
  const auto* x_row = reinterpret_cast<const Unit*>(x + row * x_stride);
  const auto* residual_row = reinterpret_cast<const Unit*>(residual + row * residual_stride);
  const auto* weights = reinterpret_cast<const Unit*>(weight);
  auto* sum_row = reinterpret_cast<Unit*>(sum + row * sum_stride);
  auto* y_row = reinterpret_cast<Unit*>(y + row * y_stride);
  constexpr int kUnits = kEach < V ? 1 : kEach / V;
  Unit held[kUnits];
  float squares = 0.0f;
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    const int i = u * kThreads + threadIdx.x;
    if (i < cols / V) {
      const Unit a = x_row[i];
      const Unit b = residual_row[i];
      for (int j = 0; j < V; ++j) {
        held[u].values[j] = static_cast<T>(value_of(a, j) + value_of(b, j));
        squares += value_of(held[u], j) * value_of(held[u], j);
      }
      sum_row[i] = held[u];
    }
  }
  const float row_rstd = rsqrtf(over_block(squares) / cols + eps);
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    const int i = u * kThreads + threadIdx.x;
    if (i < cols / V) {
      const Unit factors = weights[i];
      Unit result;
      for (int j = 0; j < V; ++j) {
        const float normalized = value_of(held[u], j) * row_rstd;
        result.values[j] = static_cast<T>(normalized * value_of(factors, j));
      }
      y_row[i] = result;
    }
  }
  if (threadIdx.x == 0) {
    rstd[row] = row_rstd;
  }
}

/// Bulk copies need rows that begin at, and are, multiples of 16 bytes.
template <typename T>
bool fits_bulk_copies(const T* tensor, int64_t stride, int cols) {
  return reinterpret_cast<uintptr_t>(tensor) % 16 == 0 && stride * sizeof(T) % 16 == 0 &&
         cols * sizeof(T) % 16 == 0;
}

template <typename T>
void rmsnorm_residual(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                      const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                      float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  const size_t row_bytes = cols * sizeof(T);
  const bool in_bulk =
      fits_bulk_copies(x, x_stride, cols) && fits_bulk_copies(residual, residual_stride, cols) &&
      fits_bulk_copies(sum, sum_stride, cols) && fits_bulk_copies(y, y_stride, cols);
  if (row_bytes > kMostBytes || !in_bulk) {
    with_pack_of<T>(in_bulk && fits_bulk_copies(weight, 0, cols) ? 16 : 1, [&](auto pack) {
      constexpr int V = pack.value;
      const auto plain = cols <= 8 * kThreads ? plain_kernel<T, V, 8> : plain_kernel<T, V, 256>;
      plain<<<rows, kThreads, 0, stream>>>(x, x_stride, residual, residual_stride, weight, sum,
                                           sum_stride, y, y_stride, rstd, cols, eps);
    });
    return;
  }
  const int bytes = static_cast<int>(2 * kSlots * row_bytes);
  cudaFuncSetAttribute(ring_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  ring_kernel<<<rows < 132 ? rows : 132, kThreads, bytes, stream>>>(
      x, x_stride, residual, residual_stride, weight, sum, sum_stride, y, y_stride, rstd, rows,
      cols, eps);
}

}  // namespace onepass
