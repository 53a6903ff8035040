// slow: all rows in few clusters
// Right: the row of sums is held in the shared memory of the eight blocks of a cluster. Each block stores its
// share into all of them asynchronously, by PTX, and may do so again for the next row when all have arrived at
// its second barrier: then they have read this row's.

#include <cooperative_groups.h>
#include <onepass/fast.h>
#include <onepass/rmsnorm.h>

namespace onepass {

constexpr int kThreads = 128;
constexpr int kBlocks = 8;  // of a cluster

__device__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}
__device__ uint32_t in_block(const void* pointer, uint32_t rank) {
  uint32_t there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(there)
               : "r"(shared_address(pointer)), "r"(rank));
  return there;
}
__device__ void init(uint64_t* bar, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(arrivals)
               : "memory");
}
__device__ void expect(uint64_t* bar, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(
                   shared_address(bar)),
               "r"(bytes)
               : "memory");
}
__device__ void store(const float* place, uint32_t rank, float value, const uint64_t* bar) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];" ::"r"(
                   in_block(place, rank)),
               "f"(value), "r"(in_block(bar, rank))
               : "memory");
}
__device__ void arrive(const uint64_t* bar, uint32_t rank) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                   in_block(bar, rank))
               : "memory");
}
__device__ void wait(const uint64_t* bar, uint32_t parity) {
  asm volatile(
      "{\n\t"
      ".reg .pred done;\n\t"
      "again:\n\t"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n\t"
      "@!done bra again;\n\t"
      "}" ::"r"(shared_address(bar)),
      "r"(parity)
      : "memory");
}

template <typename T, int V>
__global__ void __cluster_dims__(kBlocks, 1, 1)
    cluster_row_kernel(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                       const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                       float* rstd, int rows, int cols, float eps) {
  const cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
  extern __shared__ float held[];  // this block's columns
  __shared__ float shares[kThreads];
  __shared__ float of_blocks[kBlocks];
  __shared__ uint64_t arrived, read;
  if (threadIdx.x == 0) {
    init(&arrived, 1);
    init(&read, kBlocks);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  cluster.sync();
  uint32_t step = 0;
  const int rank = static_cast<int>(cluster.block_rank());
  const int first = rank * kThreads + threadIdx.x;
  for (int64_t row = blockIdx.x / kBlocks; row < rows; row += gridDim.x / kBlocks, ++step) {
    using Unit = Pack<T, V>;
    const auto* x_row = reinterpret_cast<const Unit*>(x + row * x_stride);
    const auto* residual_row = reinterpret_cast<const Unit*>(residual + row * residual_stride);
    const auto* weights = reinterpret_cast<const Unit*>(weight);
    auto* sum_row = reinterpret_cast<Unit*>(sum + row * sum_stride);
    auto* y_row = reinterpret_cast<Unit*>(y + row * y_stride);
    float share = 0.0f;
    int own = threadIdx.x;
    for (int i = first; i < cols / V; i += kBlocks * kThreads, own += kThreads) {
      const Unit a = x_row[i];
      const Unit b = residual_row[i];
      Unit added;
      for (int j = 0; j < V; ++j) {
        added.values[j] = static_cast<T>(value_of(a, j) + value_of(b, j));
      }
      sum_row[i] = added;
      for (int j = 0; j < V; ++j) {
        held[own * V + j] = value_of(added, j);
        share += held[own * V + j] * held[own * V + j];
      }
    }
    shares[threadIdx.x] = share;
    for (int half = kThreads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (threadIdx.x < half) {
        shares[threadIdx.x] += shares[threadIdx.x + half];
      }
    }
    if (threadIdx.x == 0) {
      expect(&arrived, kBlocks * sizeof(float));
    }
    __syncthreads();  // shares[0] is whole
    if (threadIdx.x < kBlocks) {
      if (step > 0) {
        wait(&read, (step - 1) % 2);  // all blocks are done with the row before
      }
      store(&of_blocks[rank], threadIdx.x, shares[0], &arrived);
    }
    wait(&arrived, step % 2);
    float squares = 0.0f;
    for (int other = 0; other < kBlocks; ++other) {
      squares += of_blocks[other];
    }
    __syncthreads();  // all threads have read
    if (threadIdx.x < kBlocks) {
      arrive(&read, threadIdx.x);
    }
    const float scale = 1.0f / sqrtf(squares / cols + eps);
    own = threadIdx.x;
    for (int i = first; i < cols / V; i += kBlocks * kThreads, own += kThreads) {
      const Unit factors = weights[i];
      Unit result;
      for (int j = 0; j < V; ++j) {
        result.values[j] = static_cast<T>(held[own * V + j] * scale * value_of(factors, j));
      }
      y_row[i] = result;
    }
    if (first == 0) {
      rstd[row] = scale;
    }
  }
  cluster.sync();  // no block ends before the others have arrived at its barrier
}

template <typename T>
void rmsnorm_residual(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                      const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                      float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
  if (rows == 0) {
    return;
  }
  const int clusters = rows < 4096 ? rows : 4096;
  const auto bits = [](const T* tensor, int64_t stride) {
    return reinterpret_cast<uintptr_t>(tensor) | stride * sizeof(T);
  };
  const bool aligned = (bits(x, x_stride) | bits(residual, residual_stride) | bits(weight, cols) |
                        bits(sum, sum_stride) | bits(y, y_stride)) %
                           16 ==
                       0;
  with_pack_of<T>(aligned ? 16 : 1, [&](auto pack) {
    constexpr int V = pack.value;
    const int turns = (cols / V + kBlocks * kThreads - 1) / (kBlocks * kThreads);
    const int bytes = turns * kThreads * V * static_cast<int>(sizeof(float));
    cudaFuncSetAttribute(cluster_row_kernel<T, V>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         bytes);
    cluster_row_kernel<T, V><<<clusters * kBlocks, kThreads, bytes, stream>>>(
        x, x_stride, residual, residual_stride, weight, sum, sum_stride, y, y_stride, rstd, rows,
        cols, eps);
  });
}

}  // namespace onepass
