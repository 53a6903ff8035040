#include "barriers/barriers.h"

#include <string>

#include "access/uninitialised.h"
#include "barriers/warp_operations.h"
#include "findings/findings.h"
#include "races/ordering.h"
#include "scheduling/execution.h"
#include "scheduling/stopping.h"

namespace simulator {
namespace {

const Thread* first_waiting(const Block& block) {
  for (const Thread& thread : block.threads) {
    if (thread.state == ThreadState::at_barrier) return &thread;
  }
  return nullptr;
}

/// A waiting thread whose line differs from that of `first`, or nullptr.
const Thread* waiting_elsewhere(const Block& block, const Thread& first) {
  for (const Thread& thread : block.threads) {
    if (thread.state == ThreadState::at_barrier && thread.wait_site != first.wait_site &&
        !(source_line(thread.wait_site) == source_line(first.wait_site))) {
      return &thread;
    }
  }
  return nullptr;
}

void check_same_line(const Block& block) {
  const Thread* first = first_waiting(block);
  const Thread* other = waiting_elsewhere(block, *first);
  if (other == nullptr ||
      !findings().is_first(Kind::barrier_divergence, first->wait_site, other->wait_site))
    return;
  const ReportInProgress guard;
  findings().add({Kind::barrier_divergence,
                  now.launch->kernel,
                  "Threads of one block wait at different barriers: every thread of the block must "
                  "reach the same __syncthreads().",
                  false,
                  {party(*first, first->wait_site, "waits at __syncthreads()"),
                   party(*other, other->wait_site, "waits at __syncthreads()")}});
}

void check_early_return(Block& block) {
  if (block.told_early_return || block.live == block.threads.size()) return;
  block.told_early_return = true;
  const ReportInProgress guard;
  const Thread* waiting = first_waiting(block);
  if (!findings().is_first(Kind::early_return, waiting->wait_site)) return;
  std::vector<Party> parties = {party(*waiting, waiting->wait_site, "waits at __syncthreads()")};
  for (const Thread& thread : block.threads) {
    if (thread.state == ThreadState::returned) {
      parties.push_back(party(thread, 0, "had returned before"));
      break;
    }
  }
  findings().add({Kind::early_return, now.launch->kernel,
                  "Some threads of the block returned before a __syncthreads() that the others "
                  "reach. Current GPUs do not wait for them, but CUDA does not promise it.",
                  true, std::move(parties)});
}

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

void complete(Block& block) {
  check_same_line(block);
  check_early_return(block);
  report_uninitialised_reads(block);
  block.barrier_answer = answer(block);
  block.at_barrier = block.barrier_true = 0;
  begin_phase(block);
  for (Thread& thread : block.threads) {
    if (thread.state == ThreadState::at_barrier) thread.state = ThreadState::ready;
  }
}

}  // namespace

void barrier_thread_returned(Block& block) {
  if (block.live > 0 && block.at_barrier == block.live) complete(block);
}

int block_barrier(Barrier kind, int predicate) {
  Thread* thread = now.thread;
  if (thread == nullptr) return 0;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  obey_stop(site);
  thread->last_site = thread->wait_site = site;
  thread->spin = {};
  Block& block = *now.block;
  block.barrier_kind = kind;
  block.barrier_true += predicate != 0;
  thread->state = ThreadState::at_barrier;
  Warp& warp = block.warp_of(*thread);
  warp.requests.stop(thread->lane, warp.live, now.launch->traffic);
  if (++block.at_barrier == block.live) {
    complete(block);
  } else {
    warp_lane_stopped(block, *thread);
    wait_for_others();
  }
  return block.barrier_answer;
}

}  // namespace simulator
