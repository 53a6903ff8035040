// Rings of bulk copies: slots in shared memory that are filled and freed again and again.
#include <cuda/barrier>
#include <cuda/ptx>

#include "tests/simulator/case_kernels.h"

namespace {

namespace ptx = cuda::ptx;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int kTile = 64;
__device__ constexpr unsigned kBytes = kTile * sizeof(float);  // which CUDA takes by reference

struct Faults {
  bool no_sync = false, one_early = false, wrong_parity = false;
};

/// Thread 0 fetches `kSlots` tiles ahead; a __syncthreads() frees a slot.
template <int kSlots>
__global__ void ring(const float* x, float* y, int tiles, Faults faults) {
  __shared__ __align__(128) float slots[kSlots][kTile];
  __shared__ Barrier full[kSlots];
  if (threadIdx.x == 0) {
    for (Barrier& bar : full) init(&bar, 1);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  const auto fetch = [&](int tile) {
    const int slot = tile % kSlots;
    uint64_t* const bar = cuda::device::barrier_native_handle(full[slot]);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, bar,
                                   kBytes);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, slots[slot], x + tile * kTile, kBytes,
                       bar);  // copies
  };
  if (threadIdx.x == 0) {
    for (int tile = 0; tile < kSlots && tile < tiles; ++tile) fetch(tile);
  }
  float sum = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    const int slot = tile % kSlots;
    full[slot].wait_parity(tile / kSlots % 2 != faults.wrong_parity);           // waits
    sum += slots[(slot + faults.one_early) % kSlots][kTile - 1 - threadIdx.x];  // here
    if (!faults.no_sync) __syncthreads();
    if (threadIdx.x == 0 && tile + kSlots < tiles) fetch(tile + kSlots);
  }
  y[threadIdx.x] = sum;
}
CASE(bulk_ring_of_three_slots, "") {
  float* y = zeros<float>();
  ring<3><<<1, kTile>>>(counting(), y, 11, Faults());
  expect(y, kTile, 11 * 63 + 55 * 64, -11);
}
CASE(bulk_ring_whose_slot_is_filled_too_early, "shared-race", {"no __syncthreads() between"}) {
  Faults faults;
  faults.no_sync = true;
  ring<3><<<1, kTile>>>(counting(), zeros<float>(), 11, faults);
}
CASE(bulk_ring_used_one_slot_early, "copy-not-awaited", {"nobody has waited"}) {
  Faults faults;
  faults.one_early = true;
  ring<3><<<1, kTile>>>(counting(), zeros<float>(), 11, faults);
}
CASE(bulk_ring_by_the_wrong_parity, "shared-race") {
  Faults faults;
  faults.wrong_parity = true;
  ring<3><<<1, kTile>>>(counting(), zeros<float>(), 2, faults);
}

struct Handed {
  bool no_release = false, no_acquire = false, fewer_release = false;
};

/// Warp 0 fetches, the others compute: two barriers for each slot.
template <int kSlots>
__global__ void producer_and_consumers(const float* x, float* y, int tiles, Handed faults) {
  __shared__ __align__(128) float slots[kSlots][kTile];
  __shared__ Barrier full[kSlots], empty[kSlots];
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < kSlots; ++slot) {
      init(&full[slot], 1);
      init(&empty[slot], blockDim.x / 32 - 1);  // one lane of each warp
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int tile = 0; tile < tiles; ++tile) {
      const int slot = tile % kSlots;
      if (!faults.no_acquire) empty[slot].wait_parity(tile / kSlots % 2 == 0);  // acquires
      (void)cuda::device::barrier_arrive_tx(full[slot], 1, kBytes);             // arrives
      cuda::device::memcpy_async_tx(slots[slot], x + tile * kTile, cuda::aligned_size_t<16>(kBytes),
                                    full[slot]);  // copies
    }
  } else if (threadIdx.x >= 32) {
    float sum = 0;
    for (int tile = 0; tile < tiles; ++tile) {
      const int slot = tile % kSlots;
      full[slot].wait_parity(tile / kSlots % 2 != 0);  // waits
      sum += slots[slot][kTile + 31 - threadIdx.x];    // here
      __syncwarp();
      const bool releases = !faults.no_release && !(faults.fewer_release && threadIdx.x >= 64);
      if (threadIdx.x % 32 == 0 && releases) (void)empty[slot].arrive();
    }
    y[threadIdx.x - 32] = sum;
  }
}
CASE(bulk_ring_with_a_producer, "") {
  float* y = zeros<float>();
  producer_and_consumers<2><<<1, kTile + 32>>>(counting(), y, 9, Handed());
  expect(y, kTile, 9 * 63 + 36 * 64, -9);
}
CASE(bulk_ring_never_released, "deadlock", {"expects 2 more arrivals"},
     {{"acquires", 0}, {"waits", 32}}) {
  Handed faults;
  faults.no_release = true;
  producer_and_consumers<2><<<1, kTile + 32>>>(counting(), zeros<float>(), 9, faults);
}
CASE(bulk_ring_released_by_some, "deadlock", {"expects one more arrival"},
     {{"acquires", 0}, {"waits", 32}}) {
  Handed faults;
  faults.fewer_release = true;
  producer_and_consumers<2><<<1, kTile + 32>>>(counting(), zeros<float>(), 9, faults);
}
CASE(bulk_ring_never_acquired, "invalid-barrier",
     {"The phase is not over before its copies have landed."}, {{"arrives", 0}}) {
  Handed faults;
  faults.no_acquire = true;
  producer_and_consumers<2><<<1, kTile + 32>>>(counting(), zeros<float>(), 9, faults);
}

}  // namespace
