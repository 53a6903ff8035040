// The block-wide barrier: __syncthreads() and its kin. It is complete when every thread of the
// block that has not returned waits at it.
#include "scheduling/stopping.h"
#include "scheduling/waiting.h"

namespace simulator {
namespace {

int answer(const Block& block) {
  switch (block.barrier_kind) {
    case Barrier::plain:
      return 0;
    case Barrier::count:
      return static_cast<int>(block.barrier_true);
    case Barrier::all:
      return block.barrier_true == block.at_barrier;
    case Barrier::any:
      return block.barrier_true > 0;
  }
  return 0;
}

void complete(Launch& launch) {
  Block& block = *launch.block;
  launch.checkers.tell(BarrierMet{});
  block.barrier_answer = answer(block);
  block.at_barrier = block.barrier_true = 0;
  for (Thread& thread : block.threads) {
    if (thread.state == ThreadState::at_barrier) thread.state = ThreadState::ready;
  }
}

}  // namespace

void barrier_thread_returned(Launch& launch) {
  const Block& block = *launch.block;
  if (block.live > 0 && block.at_barrier == block.live) complete(launch);
}

int block_barrier(Barrier kind, int predicate, const void* barrier) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return 0;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  obey_stop(*launch, site);
  Thread& thread = *launch->thread;
  Block& block = *launch->block;
  thread.last_site = thread.wait_site = site;
  thread.spin = {};
  block.barrier_kind = kind;
  block.barrier_true += predicate != 0;
  thread.state = ThreadState::at_barrier;
  launch->checkers.tell(BarrierWait{thread.number, site, reinterpret_cast<CodeAddress>(barrier)});
  if (++block.at_barrier == block.live) {
    complete(*launch);
  } else {
    warp_lane_stopped(*launch, thread);
    wait_for_others(*launch);
  }
  begin_path(*launch);
  return block.barrier_answer;
}

}  // namespace simulator
