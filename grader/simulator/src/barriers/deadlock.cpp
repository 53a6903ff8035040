#include "barriers/deadlock.h"

#include <algorithm>
#include <string>

#include "barriers/warp_operations.h"
#include "findings/findings.h"
#include "runtime/errors.h"
#include "scheduling/execution.h"
#include "scheduling/stopping.h"

namespace simulator {
namespace {

std::string lane_list(unsigned lanes) {
  std::string text;
  int left = 4;
  for (; lanes != 0; lanes &= lanes - 1) {
    if (left-- == 0) return text + ", ...";
    text += (text.empty() ? "" : ", ") + std::to_string(__builtin_ctz(lanes));
  }
  return text;
}

const Thread* first_in(const Block& block, ThreadState state) {
  const auto found = std::find_if(block.threads.begin(), block.threads.end(),
                                  [state](const Thread& t) { return t.state == state; });
  return found == block.threads.end() ? nullptr : &*found;
}

/// A lane of the same warp that waits in a warp operation with another mask or another operation.
const Thread* lane_that_differs(Block& block, const Thread& thread) {
  Warp& warp = block.warp_of(thread);
  const WarpRequest& mine = warp.request[thread.lane];
  for (unsigned left = warp.waiting & mine.mask; left != 0; left &= left - 1) {
    const int lane = __builtin_ctz(left);
    if (warp.request[lane].mask != mine.mask || warp.request[lane].operation != mine.operation) {
      return &block.lane_of(thread, lane);
    }
  }
  return nullptr;
}

std::string call_text(Block& block, const Thread& thread) {
  const WarpRequest& request = block.warp_of(thread).request[thread.lane];
  return std::string("waits in ") + operation_name(request.operation) + " with mask " +
         mask_text(request.mask);
}

/// Some lanes of a warp went to a barrier, while others wait for them elsewhere.
Finding divergence(Block& block, const Thread& at_barrier, const Thread& in_warp_operation) {
  return {
      Kind::barrier_divergence,
      now.launch->kernel,
      "Some threads wait at a __syncthreads() that others of their warp do not reach: those "
      "wait in a warp operation. Neither can go on.",
      false,
      {party(at_barrier, at_barrier.wait_site, "waits at __syncthreads()"),
       party(in_warp_operation, in_warp_operation.wait_site, call_text(block, in_warp_operation))}};
}

Finding warp_deadlock(Block& block, const Thread& thread) {
  const Warp& warp = block.warp_of(thread);
  const WarpRequest& request = warp.request[thread.lane];
  Finding finding{Kind::deadlock, now.launch->kernel, "", false, {}, "", -1};
  finding.parties.push_back(party(thread, thread.wait_site, call_text(block, thread)));
  if (const Thread* other = lane_that_differs(block, thread)) {
    finding.kind = Kind::bad_warp_mask;
    finding.message =
        "Lanes of one warp wait for each other in warp operations that do not match: all lanes "
        "named in the mask must call the same operation with the same mask.";
    finding.parties.push_back(party(*other, other->wait_site, call_text(block, *other)));
    return finding;
  }
  const unsigned missing = request.mask & warp.live & ~warp.waiting;
  if (missing != 0) {
    const Thread& other = block.lane_of(thread, __builtin_ctz(missing));
    if (other.state == ThreadState::at_barrier) return divergence(block, other, thread);
  }
  finding.message = std::string(operation_name(request.operation)) + " waits for lanes " +
                    lane_list(missing) + ", which its mask " + mask_text(request.mask) +
                    " names but which never call it.";
  if (missing != 0) {
    const Thread& other = block.lane_of(thread, __builtin_ctz(missing));
    finding.parties.push_back(party(other, other.wait_site, "waits elsewhere"));
  }
  return finding;
}

}  // namespace

void report_deadlock(Block& block) {
  const ReportInProgress guard;
  if (const Thread* thread = first_in(block, ThreadState::in_warp_operation)) {
    findings().add(warp_deadlock(block, *thread));
  } else if (const Thread* waiting = first_in(block, ThreadState::at_barrier)) {
    findings().add({Kind::deadlock,
                    now.launch->kernel,
                    "No thread of the block can go on.",
                    false,
                    {party(*waiting, waiting->wait_site, "waits at __syncthreads()")}});
  }
  now.launch->failed = true;
  errors().set_sticky(kErrorLaunchTimeout);
}

void report_blocks_waiting(Block& block, std::uint64_t unstarted) {
  const ReportInProgress guard;
  now.block = &block;
  const Thread* thread = first_in(block, ThreadState::ready);
  std::string message =
      "Every block that has begun waits for a word in memory to change, and none will change it.";
  if (unstarted > 0) {
    message += " " + std::to_string(unstarted) +
               " blocks of the grid have not begun: they start only when others end, so a block "
               "must not wait for them.";
  }
  findings().add({Kind::deadlock,
                  now.launch->kernel,
                  message,
                  false,
                  {party(*thread, thread->last_site, "tries again and again")}});
  now.launch->failed = true;
  errors().set_sticky(kErrorLaunchTimeout);
}

}  // namespace simulator
