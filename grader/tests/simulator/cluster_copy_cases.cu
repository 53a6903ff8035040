// Bulk copies and barriers in shared memory, in blocks that see each other's.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/ptx>

#include <cassert>

#include "tests/simulator/case_kernels.h"
#include "tests/simulator/cluster_config.h"

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

namespace {

using Barrier = cuda::barrier<cuda::thread_scope_block>;

__device__ constexpr unsigned kBytes = 32 * sizeof(float);  // which CUDA takes by reference

// ---- Bulk copies

enum class Use { read, read_early, write_early };
/// Each block loads its half of x, and uses what the other one has loaded.
__global__ void loads(const float* x, float* y, Use use) {
  const cg::cluster_group cluster = cg::this_cluster();
  __shared__ alignas(16) float tile[32];
  __shared__ Barrier bar;
  if (threadIdx.x == 0) {
    init(&bar, 1);
    uint64_t* const handle = cuda::device::barrier_native_handle(bar);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, handle,
                                   kBytes);
    const float* const half = x + 32 * cluster.block_rank();
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, half, kBytes,  // copies
                       handle);
  }
  __syncthreads();
  if (use == Use::read) bar.wait_parity(false);
  cluster.sync();
  float* const other = cluster.map_shared_rank(tile, cluster.block_rank() ^ 1);
  if (use == Use::write_early) {
    other[threadIdx.x] = 7;  // writes
  } else {
    y[32 * cluster.block_rank() + threadIdx.x] = other[threadIdx.x];  // reads
  }
  cluster.sync();
  bar.wait_parity(false);
}
void run_loads(float* y, Use use) {
  const auto config = config_of(2, 32, 2);
  cudaLaunchKernelEx(&config, loads, counting(), y, use);
}
CASE(bulk_load_that_a_neighbour_reads, "") {
  float* y = zeros<float>();
  run_loads(y, Use::read);
  assert(at(y, 0) == 32 && at(y, 63) == 31);
}
CASE(bulk_load_that_a_neighbour_reads_too_early, "copy-not-awaited",
     {"tile[30]", "to it is sure to have landed", "nobody has waited for that"},
     {{"copies", 0, 0}, {"reads", 30, 1}}) {
  run_loads(zeros<float>(), Use::read_early);
}
CASE(bulk_load_that_a_neighbour_overwrites, "copy-overwritten", {"tile[30]", "to it is sure"},
     {{"copies", 0, 0}, {"writes", 30, 1}}) {
  run_loads(zeros<float>(), Use::write_early);
}

struct Out {
  bool fence = true, wait = true;
};
/// Rank 1 writes what rank 0 copies out; and then writes there again.
__global__ void stores(float* y, Out how) {
  const cg::cluster_group cluster = cg::this_cluster();
  __shared__ alignas(16) float tile[32];
  cluster.sync();
  float* const first = cluster.map_shared_rank(tile, 0);
  if (cluster.block_rank() == 1) first[threadIdx.x] = 3;
  if (how.fence) ptx::fence_proxy_async();
  cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, y, tile, kBytes);  // copies
    ptx::cp_async_bulk_commit_group();
    if (how.wait) ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
  cluster.sync();
  if (cluster.block_rank() == 1) first[threadIdx.x] = 4;  // writes
  cluster.sync();
  ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}
CASE(bulk_store_of_what_a_neighbour_wrote, "") {
  float* y = zeros<float>();
  const auto config = config_of(2, 32, 2);
  cudaLaunchKernelEx(&config, stores, y, Out());
  assert(at(y, 0) == 3 && at(y, 31) == 3);
}
CASE(bulk_store_whose_source_a_neighbour_writes, "copy-overwritten",
     {"tile[31]", "from it is sure"}, {{"copies", 0, 0}, {"writes", 31, 1}}) {
  Out how;
  how.wait = false;
  const auto config = config_of(2, 32, 2);
  cudaLaunchKernelEx(&config, stores, zeros<float>(), how);
}

__global__ void copies_over(float* x, bool in) {
  const cg::cluster_group cluster = cg::this_cluster();
  __shared__ alignas(16) float tile[32];
  __shared__ Barrier bar;
  if (threadIdx.x == 0) init(&bar, 1);
  cluster.sync();
  float* const other = cluster.map_shared_rank(tile, cluster.block_rank() ^ 1);
  uint64_t* const handle = cuda::device::barrier_native_handle(bar);
  if (in)
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, other, x, kBytes, handle);  // in
  if (!in) ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, x, other, kBytes);    // out
  cluster.sync();
}
CASE(bulk_load_to_a_neighbour, "invalid-copy", {"to shared memory of another block, which is not"},
     {{"in", 0, 1}}) {
  const auto config = config_of(2, 1, 2);
  cudaLaunchKernelEx(&config, copies_over, zeros<float>(), true);
}
CASE(bulk_store_from_a_neighbour, "invalid-copy", {"from shared memory of another block."},
     {{"out", 0, 1}}) {
  const auto config = config_of(2, 1, 2);
  cudaLaunchKernelEx(&config, copies_over, zeros<float>(), false);
}

/// CUDA's header copies at once where the destination is not the block's own: nobody need wait.
__global__ void group_copies(const float* x, float* y) {
  const cg::cluster_group cluster = cg::this_cluster();
  const cg::thread_block block = cg::this_thread_block();
  __shared__ alignas(16) float tile[32];
  cluster.sync();
  cg::memcpy_async(block, cluster.map_shared_rank(tile, cluster.block_rank() ^ 1),
                   x + 32 * cluster.block_rank(), kBytes);
  cluster.sync();
  y[32 * cluster.block_rank() + threadIdx.x] = tile[threadIdx.x];
}
CASE(group_copy_to_a_neighbour, "") {
  float* y = zeros<float>();
  const auto config = config_of(2, 32, 2);
  cudaLaunchKernelEx(&config, group_copies, counting(), y);
  assert(at(y, 0) == 32 && at(y, 63) == 31);
}

// ---- Barriers in shared memory

enum class At { own, neighbours, short_of_one };
/// The first warp waits for the second one at a barrier of the block, then both for the cluster.
__global__ void two_barriers(float* y, At where) {
  const cg::cluster_group cluster = cg::this_cluster();
  __shared__ float own[64];
  __shared__ Barrier bar;
  if (threadIdx.x == 0) init(&bar, where == At::short_of_one ? 65 : 64);
  cluster.sync();
  Barrier* const used = where == At::neighbours ? cluster.map_shared_rank(&bar, 1) : &bar;
  own[threadIdx.x] = static_cast<float>(threadIdx.x);
  auto token = used->arrive();  // arrives
  float read = 0;
  if (threadIdx.x < 32) {
    used->wait(static_cast<Barrier::arrival_token&&>(token));  // waits
    read = own[63 - threadIdx.x];
  }
  cluster.sync();  // syncs
  y[64 * cluster.block_rank() + threadIdx.x] = read;
}
CASE(barrier_of_a_block_in_a_cluster, "") {
  float* y = zeros<float>();
  const auto config = config_of(2, 64, 2);
  cudaLaunchKernelEx(&config, two_barriers, y, At::own);
  assert(at(y, 0) == 63 && at(y, 64) == 63);
}
CASE(barrier_of_a_neighbour, "invalid-barrier", {"a barrier in another block's shared memory"},
     {{"arrives", 0, 0}}) {
  const auto config = config_of(2, 64, 2);
  cudaLaunchKernelEx(&config, two_barriers, zeros<float>(), At::neighbours);
}
CASE(barrier_that_a_cluster_waits_behind, "deadlock", {"expects one more arrival, which never"},
     {{"waits", 0, 0}, {"syncs", 32, 0}}) {
  const auto config = config_of(2, 64, 2);
  cudaLaunchKernelEx(&config, two_barriers, zeros<float>(), At::short_of_one);
}

}  // namespace
