// CUB's collectives, and what of cuda:: and cuda::std:: goes with them: the names and overloads
// that both compilers must take.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cub/block/block_load.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cuda/atomic>
#include <cuda/functional>
#include <cuda/std/array>
#include <cuda/std/atomic>
#include <cuda/std/bit>
#include <cuda/std/cstddef>
#include <cuda/std/cstdint>
#include <cuda/std/functional>
#include <cuda/std/limits>
#include <cuda/std/type_traits>
#include <cuda/std/utility>

namespace {

struct Pair {
  float sum, squares;
};
struct Add {
  __device__ Pair operator()(const Pair& a, const Pair& b) const {
    return {a.sum + b.sum, a.squares + b.squares};
  }
};

/// As kernels have it: by reference, from a caller that declares it.
template <typename BlockReduce>
__device__ float block_sum(float value, typename BlockReduce::TempStorage& temp) {
  __shared__ float total;
  const float sum = BlockReduce(temp).Sum(value);
  if (threadIdx.x == 0) total = sum;
  __syncthreads();
  return total;
}

template <typename T, int threads, int items>
struct Kernel {
  using BlockReduce = cub::BlockReduce<float, threads>;
  using PairReduce = cub::BlockReduce<Pair, threads, cub::BLOCK_REDUCE_RAKING>;
  using Load = cub::BlockLoad<T, threads, items, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Store = cub::BlockStore<T, threads, items, cub::BLOCK_STORE_VECTORIZE>;
  using Scan = cub::BlockScan<int, threads, cub::BLOCK_SCAN_WARP_SCANS>;
  union Shared {
    typename BlockReduce::TempStorage reduce;
    typename PairReduce::TempStorage pairs;
    typename Load::TempStorage load;
    typename Store::TempStorage store;
    typename Scan::TempStorage scan;
  };
};

template <typename T, int threads, int items>
__global__ void collectives(const T* x, T* y, float* sums, int* counts, int count) {
  using Types = Kernel<T, threads, items>;
  __shared__ typename Types::Shared shared;
  T tile[items];
  typename Types::Load(shared.load).Load(x, tile, count, T(0.0f));
  __syncthreads();
  float values[items];
  for (int i = 0; i < items; ++i) values[i] = static_cast<float>(tile[i]);
  using BlockReduce = typename Types::BlockReduce;
  float sum = BlockReduce(shared.reduce).Sum(values);
  __syncthreads();
  sum += BlockReduce(shared.reduce).Sum(values[0], count);
  __syncthreads();
  sum += BlockReduce(shared.reduce).Reduce(values[0], cuda::maximum<>(), count);
  __syncthreads();
  sum += BlockReduce(shared.reduce).Reduce(values[0], cuda::minimum<float>());
  __syncthreads();
  sum += BlockReduce(shared.reduce).Reduce(values[0], [](float a, float b) { return a * b; });
  __syncthreads();
  sum += block_sum<BlockReduce>(1.0f, shared.reduce);
  __syncthreads();
  const Pair pair =
      typename Types::PairReduce(shared.pairs).Reduce(Pair{values[0], 1.0f}, Add());
  __syncthreads();
  int place = 0, total = 0;
  typename Types::Scan(shared.scan).ExclusiveSum(1, place, total);
  __syncthreads();
  typename Types::Scan(shared.scan).InclusiveScan(place, place, cuda::std::plus<>(), total);
  counts[threadIdx.x] = place + total;
  if (threadIdx.x == 0) sums[0] = sum + pair.sum;
  typename Types::Store(shared.store).Store(y, tile);
}

__global__ void warps(const float* x, float* y) {
  using WarpReduce = cub::WarpReduce<float>;
  using HalfWarpReduce = cub::WarpReduce<float, 16>;
  __shared__ typename WarpReduce::TempStorage temp[4];
  __shared__ typename HalfWarpReduce::TempStorage halves[8];
  const int warp = threadIdx.x / 32;
  float sum = WarpReduce(temp[warp]).Sum(x[threadIdx.x]);
  sum += WarpReduce(temp[warp]).Reduce(x[threadIdx.x], cuda::std::plus<>(), 7);
  sum += WarpReduce(temp[warp]).HeadSegmentedSum(x[threadIdx.x], threadIdx.x % 8 == 0);
  sum += HalfWarpReduce(halves[threadIdx.x / 16]).Sum(x[threadIdx.x], 3);
  if (threadIdx.x % 32 == 0) y[warp] = sum;
}

__global__ void atomics(int* counter, float* sum, unsigned* flags) {
  cuda::atomic_ref<int, cuda::thread_scope_device> count(*counter);
  const int ticket = count.fetch_add(1, cuda::memory_order_acq_rel);
  cuda::atomic_ref<float, cuda::thread_scope_device>(*sum).fetch_add(
      1.0f, cuda::std::memory_order_relaxed);
  cuda::atomic_ref<unsigned> flag(*flags);
  flag.fetch_max(3u);
  flag |= 4u;
  unsigned expected = 7;
  while (!flag.compare_exchange_weak(expected, expected + 1, cuda::memory_order_relaxed)) {
  }
  flag.store(flag.load(cuda::memory_order_acquire) + ticket, cuda::memory_order_release);
  __shared__ cuda::atomic<int, cuda::thread_scope_block> shared;
  if (threadIdx.x == 0) shared.store(0, cuda::memory_order_relaxed);
  __syncthreads();
  shared.fetch_add(1, cuda::memory_order_relaxed);
  ++shared;
  cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
}

__global__ void small_types(float* y) {
  cuda::std::array<float, 4> values = {1.0f, 2.0f, 3.0f, 4.0f};
  float largest = cuda::std::numeric_limits<float>::lowest();
  for (const float value : values) largest = cuda::std::max(largest, value);
  values[cuda::std::size_t(1)] = cuda::std::min(values[0], -cuda::std::numeric_limits<float>::infinity());
  const auto bits = cuda::std::bit_cast<cuda::std::uint32_t>(largest);
  static_assert(cuda::std::is_same_v<decltype(cuda::std::popcount(bits)), int>, "");
  y[0] = largest + cuda::std::popcount(bits) + cuda::std::countl_zero(bits) + values.size();
  y[1] = __half2float(cuda::std::numeric_limits<__half>::max());
  y[2] = __bfloat162float(cuda::std::numeric_limits<__nv_bfloat16>::epsilon());
  cuda::std::swap(y[3], y[4]);
}

}  // namespace

void launch_collectives(const __half* x, __half* y, float* sums, int* counts, unsigned* flags) {
  collectives<__half, 128, 4><<<1, 128>>>(x, y, sums, counts, 100);
  warps<<<1, 128>>>(sums, sums + 1);
  atomics<<<1, 128>>>(counts, sums, flags);
  small_types<<<1, 1>>>(sums);
}
