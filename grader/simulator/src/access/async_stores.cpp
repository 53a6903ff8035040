// Asynchronous stores (st.async): a thread stores into the shared memory of another block of its
// cluster, or of its own, and goes on.
//
//     cuda::ptx::st_async(cluster.map_shared_rank(&shares[i], rank), value,
//                         cluster.map_shared_rank(&arrived, rank));
//
// The bytes count at a barrier in the same block, as those of bulk copies do, and its threads wait
// there for the phase. So a kernel hands values on with no other barrier. They land as late as they
// may (split_barriers.cpp), and nobody may read or write there before (copies/copies.h).
#include <cstring>
#include <string>

#include "access/access.h"
#include "access/async_copies.h"
#include "access/split_barriers.h"
#include "onepass_simulator/device_calls.h"
#include "scheduling/clusters.h"
#include "scheduling/stopping.h"

namespace simulator {
namespace {

[[noreturn]] void refuse_store(Launch& launch, CodeAddress site, const std::string& why) {
  const Findings::Writing writing(launch.machine.findings);
  stop_with(launch, Kind::invalid_copy, site, why, "stores asynchronously",
            kErrorIllegalInstruction);
}

/// Both are in shared memory of one block.
void check_places(Launch& launch, const AsyncCopy& store, const Block& of_barrier) {
  if (!is_shared(store.to_place)) {
    refuse_store(launch, store.to.site, "An asynchronous store to what is no shared memory.");
  }
  const Block* const owner = owner_of_shared(launch, store.to.address);
  if (owner == nullptr || owner == &of_barrier) return;
  refuse_store(launch, store.to.site,
               "An asynchronous store to shared memory of block " + std::to_string(owner->number) +
                   " that is to count at a barrier of block " + std::to_string(of_barrier.number) +
                   ": both must be in the shared memory of the same block.");
}

/// What of the store the block keeps whose memory it is: as that finds it there.
void move_home(const Launch& launch, AsyncCopy& store) {
  if (!is_remote(store.to_place)) return;
  store.to.address = launch.machine.memory.shared.home(store.to.address);
  store.to_place.piece = (store.to_place.piece - kFirstRemote) % 2;
}

}  // namespace

void store_async(void* to, unsigned bytes, AccessedWords value, void* barrier) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  enter(*launch, site);
  const Thread& thread = *launch->thread;
  if (launch->checkers.is_ahead(thread.number)) let_warp_catch_up(*launch);
  launch->checkers.tell(StoreCall{thread.number});
  const UsedBarrier used =
      use_barrier(*launch, barrier, AccessType::atomic, site, BarrierOf::cluster);

  AsyncCopy store = copy_of(*launch, to, nullptr, bytes, bytes, site);
  store.is_store = store.is_at_barrier = store.to.is_late = true;
  store.to.in_first_phase = used.at.phase == 0;
  store.from_place = {};
  std::memcpy(store.value, &value, bytes);
  check_places(*launch, store, used.block);
  const Access reached = store.to;
  const Place place = store.to_place;
  move_home(*launch, store);

  used.at.has_stores = true;
  const AsyncCopy& begun = used.at.bulk.emplace_back(store);
  tell_or_stop(
      *launch,
      StoreBegin{
          &begun, {thread.number, reached, place}, used.block.seat, used.at.number, used.at.phase});
  std::memset(to, kNoUsefulNumber, bytes);
  if (launch->block->cluster == nullptr) wake(*launch, used.address);
}

}  // namespace simulator
