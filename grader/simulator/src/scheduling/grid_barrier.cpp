#include "scheduling/grid_barrier.h"

#include <utility>

#include "scheduling/stopping.h"
#include "scheduling/waiting.h"

namespace simulator {

bool GridBarrier::arrive(Launch& launch, Block& block) {
  launch.checkers.tell(BarrierMet{});
  waiting_.push_back(&block);
  if (block.threads.front().state != ThreadState::returned) return true;
  unsigned waiting = 0;
  while (block.threads[waiting].state == ThreadState::returned) ++waiting;
  launch.checkers.tell(GridMissed{waiting, 1, block.number, 0, block.threads.front().last_site});
  launch.fail(kErrorLaunchTimeout);
  return false;
}

std::vector<Block*> GridBarrier::release(Launch& launch) {
  if (waiting_.size() < blocks_) return {};
  launch.checkers.tell(GridMet{});
  for (Block* block : waiting_) {
    block->at_grid_barrier = 0;
    for (Thread& thread : block->threads) {
      if (thread.state == ThreadState::at_grid_barrier) thread.state = ThreadState::ready;
    }
  }
  return std::exchange(waiting_, {});
}

void GridBarrier::note_end(const Block& block) {
  ++ended_;
  if (first_ended_) return;
  const Thread* last = &block.threads.front();
  for (const Thread& thread : block.threads) {
    if (last->last_site == 0) last = &thread;
  }
  first_ended_ = {block.number, last->number, last->last_site};
}

void GridBarrier::tell_missed(Launch& launch) const {
  unsigned waiting = 0;
  while (first().threads[waiting].state != ThreadState::at_grid_barrier) ++waiting;
  launch.checkers.tell(GridMissed{waiting, ended_, first_ended_->block, first_ended_->thread,
                                  first_ended_->last_site});
  launch.fail(kErrorLaunchTimeout);
}

bool is_cooperative_launch() {
  const Launch* launch = launch_of_kernel();
  return launch != nullptr && launch->begin.is_cooperative;
}

void grid_barrier(const void* barrier) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  obey_stop(*launch, site);
  Thread& thread = *launch->thread;
  thread.last_site = thread.wait_site = site;
  if (!launch->begin.is_cooperative) {
    const Findings::Writing writing(launch->machine.findings);
    stop_with(*launch, Kind::invalid_launch, site,
              "grid.sync() needs a cooperative launch: cudaLaunchCooperativeKernel(), or "
              "cudaLaunchKernelEx() with cudaLaunchAttributeCooperative. In a launch by <<<...>>> "
              "nothing promises that all blocks are there at one time, and a GPU stops the kernel.",
              "calls grid.sync()", kErrorLaunchFailure);
  }
  thread.spin = {};
  thread.state = ThreadState::at_grid_barrier;
  launch->checkers.tell(
      BarrierWait{thread.number, site, reinterpret_cast<CodeAddress>(barrier), BarrierScope::grid});
  ++launch->block->at_grid_barrier;
  warp_lane_stopped(*launch, thread);
  wait_for_others(*launch);
  begin_path(*launch);
}

}  // namespace simulator
