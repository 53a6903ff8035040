// More kernels of the kind of micro.cu: those of the CUDA that fast kernels are written in, for
// GPUs from Hopper on (sm_90).
#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <cub/cub.cuh>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/ptx>

#include <cstdint>

namespace micro {

namespace cg = cooperative_groups;

constexpr int kThreads = 256;

__device__ inline int index() {
  return blockIdx.x * blockDim.x + threadIdx.x;
}

// ---- Asynchronous copies

/// Copies element `from` of x to slot `slot` of a shared array of T, `zeros` bytes of it as zeros,
/// and waits.
template <typename T>
__device__ T copied(const float* x, int from, int slot, int zeros = 0) {
  __shared__ T s[2 * kThreads];
  __pipeline_memcpy_async(&s[slot], reinterpret_cast<const T*>(x) + from, sizeof(T), zeros);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  return s[slot];
}
__global__ void async_4(const float* x, float* y) {
  y[index()] = copied<float>(x, index(), threadIdx.x);
}
__global__ void async_8(const float* x, float* y) {
  reinterpret_cast<float2*>(y)[index()] = copied<float2>(x, index(), threadIdx.x);
}
/// By cp.async.cg, which passes the first-level cache by.
__global__ void async_16(const float* x, float* y) {
  reinterpret_cast<float4*>(y)[index()] = copied<float4>(x, index(), threadIdx.x);
}
__global__ void async_4_strided(const float* x, float* y) {
  y[index()] = copied<float>(x, 2 * index(), threadIdx.x);
}
__global__ void async_4_misaligned(const float* x, float* y) {
  y[index()] = copied<float>(x, index() + 1, threadIdx.x);
}
/// Every second bank.
__global__ void async_4_to_strided(const float* x, float* y) {
  y[index()] = copied<float>(x, index(), 2 * threadIdx.x);
}
__global__ void async_16_to_strided(const float* x, float* y) {
  reinterpret_cast<float4*>(y)[index()] = copied<float4>(x, index(), 2 * threadIdx.x);
}
__global__ void async_16_odd_lanes(const float* x, float* y) {
  if (threadIdx.x % 2 == 1) {
    reinterpret_cast<float4*>(y)[index()] = copied<float4>(x, index(), threadIdx.x);
  }
}
/// Half of each copy is zeros, and not read.
__global__ void async_16_zeros(const float* x, float* y) {
  reinterpret_cast<float4*>(y)[index()] = copied<float4>(x, index(), threadIdx.x, 8);
}
/// All of it is.
__global__ void async_16_all_zeros(const float* x, float* y) {
  reinterpret_cast<float4*>(y)[index()] = copied<float4>(x, index(), threadIdx.x, 16);
}

// ---- Bulk copies

using Barrier = cuda::barrier<cuda::thread_scope_block>;

/// One thread copies `bytes` of x, all wait for them.
__device__ void bulk_in(float* s, const float* x, unsigned bytes, Barrier& barrier) {
  if (threadIdx.x == 0) init(&barrier, static_cast<int>(blockDim.x));
  __syncthreads();
  Barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cuda::device::memcpy_async_tx(s, x, cuda::aligned_size_t<16>(bytes), barrier);
    token = cuda::device::barrier_arrive_tx(barrier, 1, bytes);
  } else {
    token = barrier.arrive();
  }
  barrier.wait(static_cast<Barrier::arrival_token&&>(token));
}
/// As the functions before it, with an array of each kernel's own.
template <int kFloats>
__device__ void through_bulk(const float* x, float* y, int from) {
  __shared__ alignas(128) float s[kFloats];
  __shared__ alignas(8) char room[sizeof(Barrier)];
  bulk_in(s, x + blockIdx.x * kFloats + from, kFloats * sizeof(float),
          *reinterpret_cast<Barrier*>(room));
  if (threadIdx.x < kFloats) y[index()] = s[threadIdx.x];
}
__global__ void bulk_in_16(const float* x, float* y) {
  through_bulk<4>(x, y, 0);
}
__global__ void bulk_in_1024(const float* x, float* y) {
  through_bulk<256>(x, y, 0);
}
__global__ void bulk_in_8192(const float* x, float* y) {
  through_bulk<2048>(x, y, 0);
}
/// From the middle of a sector on.
__global__ void bulk_in_1024_from_16(const float* x, float* y) {
  through_bulk<256>(x, y, 4);
}
__global__ void bulk_in_1040(const float* x, float* y) {
  through_bulk<260>(x, y, 0);
}
template <int kFloats>
__device__ void bulk_out(const float* x, float* y, int to) {
  namespace ptx = cuda::ptx;
  __shared__ alignas(128) float s[kFloats];
  for (int i = threadIdx.x; i < kFloats; i += kThreads) s[i] = x[blockIdx.x * kFloats + i];
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, y + blockIdx.x * kFloats + to, s,
                       static_cast<std::uint32_t>(kFloats * sizeof(float)));
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
  }
}
__global__ void bulk_out_1024(const float* x, float* y) {
  bulk_out<256>(x, y, 0);
}
__global__ void bulk_out_1024_to_16(const float* x, float* y) {
  bulk_out<256>(x, y, 4);
}

// ---- Clusters

/// Shared memory of the neighbour in a cluster of two, slot `read` of it.
template <typename T>
__device__ T neighbours(const float* x, int read) {
  __shared__ T s[2 * kThreads];
  const cg::cluster_group cluster = cg::this_cluster();
  const T own = reinterpret_cast<const T*>(x)[index()];
  s[threadIdx.x] = own;
  s[threadIdx.x + kThreads] = own;
  cluster.sync();
  const T value = cluster.map_shared_rank(s, cluster.block_rank() ^ 1)[read];
  cluster.sync();
  return value;
}
__global__ void __cluster_dims__(2, 1, 1) cluster_read(const float* x, float* y) {
  y[index()] = neighbours<float>(x, threadIdx.x);
}
__global__ void __cluster_dims__(2, 1, 1) cluster_read_strided(const float* x, float* y) {
  y[index()] = neighbours<float>(x, 2 * threadIdx.x);
}
__global__ void __cluster_dims__(2, 1, 1) cluster_read_broadcast(const float* x, float* y) {
  y[index()] = neighbours<float>(x, threadIdx.x / 32);
}
__global__ void __cluster_dims__(2, 1, 1) cluster_read_16(const float* x, float* y) {
  reinterpret_cast<float4*>(y)[index()] = neighbours<float4>(x, threadIdx.x);
}
__global__ void __cluster_dims__(2, 1, 1) cluster_read_odd_lanes(const float* x, float* y) {
  __shared__ float s[kThreads];
  const cg::cluster_group cluster = cg::this_cluster();
  s[threadIdx.x] = x[index()];
  cluster.sync();
  if (threadIdx.x % 2 == 1) {
    y[index()] = cluster.map_shared_rank(s, cluster.block_rank() ^ 1)[threadIdx.x];
  }
  cluster.sync();
}
/// Its own, by the way that leads to others'.
__global__ void __cluster_dims__(2, 1, 1) cluster_read_own(const float* x, float* y) {
  __shared__ float s[kThreads];
  const cg::cluster_group cluster = cg::this_cluster();
  s[threadIdx.x] = x[index()];
  cluster.sync();
  y[index()] = cluster.map_shared_rank(s, cluster.block_rank())[threadIdx.x];
  cluster.sync();
}
__global__ void __cluster_dims__(2, 1, 1) cluster_write(const float* x, float* y) {
  __shared__ float s[kThreads];
  const cg::cluster_group cluster = cg::this_cluster();
  cluster.sync();
  cluster.map_shared_rank(s, cluster.block_rank() ^ 1)[threadIdx.x] = x[index()];
  cluster.sync();
  y[index()] = s[threadIdx.x];
}
__global__ void __cluster_dims__(2, 1, 1) cluster_write_16(const float* x, float* y) {
  __shared__ float4 s[kThreads];
  const cg::cluster_group cluster = cg::this_cluster();
  cluster.sync();
  cluster.map_shared_rank(s, cluster.block_rank() ^ 1)[threadIdx.x] =
      reinterpret_cast<const float4*>(x)[index()];
  cluster.sync();
  reinterpret_cast<float4*>(y)[index()] = s[threadIdx.x];
}
__global__ void __cluster_dims__(2, 1, 1) cluster_atomic(const float* x, float* y) {
  __shared__ __align__(32) unsigned s[kThreads];
  const cg::cluster_group cluster = cg::this_cluster();
  s[threadIdx.x] = 0;
  cluster.sync();
  atomicAdd(cluster.map_shared_rank(s, cluster.block_rank() ^ 1) + threadIdx.x,
            static_cast<unsigned>(x[index()]));
  cluster.sync();
  y[index()] = static_cast<float>(s[threadIdx.x]);
}

// ---- Collectives, atomics of objects, hints

__global__ void cub_block_sum(const float* x, float* y) {
  using Reduce = cub::BlockReduce<float, kThreads>;
  __shared__ typename Reduce::TempStorage storage;
  const float sum = Reduce(storage).Sum(x[index()]);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
__global__ void cub_block_scan(const float* x, float* y) {
  using Scan = cub::BlockScan<float, kThreads>;
  __shared__ typename Scan::TempStorage storage;
  float sum = 0;
  Scan(storage).InclusiveSum(x[index()], sum);
  y[index()] = sum;
}
/// Four neighbouring elements a thread, loaded and stored side by side.
__global__ void cub_transpose(const float* x, float* y) {
  using Load = cub::BlockLoad<float, kThreads, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Store = cub::BlockStore<float, kThreads, 4, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
  } storage;
  float values[4];
  Load(storage.load).Load(x + blockIdx.x * 4 * kThreads, values);
  for (float& value : values) value += 1;
  __syncthreads();
  Store(storage.store).Store(y + blockIdx.x * 4 * kThreads, values);
}
__global__ void object_add(const float* x, float* y) {
  cuda::atomic_ref<float, cuda::thread_scope_device>(y[index()])
      .fetch_add(x[index()], cuda::memory_order_relaxed);
}
__global__ void hinted(const float* x, float* y) {
  float4 v;
  asm("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
      : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
      : "l"(reinterpret_cast<const float4*>(x) + index()));
  __stcs(reinterpret_cast<float4*>(y) + index(), v);
}

using Kernel = void (*)(const float* x, float* y);

inline void run(Kernel kernel, const float* x, float* y, int blocks, cudaStream_t stream) {
  kernel<<<blocks, kThreads, 0, stream>>>(x, y);
}

}  // namespace micro
